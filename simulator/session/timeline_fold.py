"""Adds facts up to the timeline that people read, when somebody looks at it.

A fact is only noted when it comes (`unread`): an agent that runs must not wait for what nobody may look at. `entries`
reads those that were noted since it was asked last, and returns the history. `fact_entries` says how one fact reads;
this module says where that goes:

- The entries of turns that have ended are settled. Those of the turn in progress are gathered apart, as its end still
  changes them.
- A change of seats, rules or the environment stands in the turn in which it was made. One between two turns waits,
  and stands before what begins the next.
- A tool's answer by a seat is a fact, and stands where it came. What ADK answers by itself (a transfer, a confirmation
  that is asked for) is in its events alone, so it is set behind the call that it answers.
- When a turn ends, the last text of the agent becomes the final response, unless a call still waits for its answer.
  The message with the same text goes then, so that nothing is read twice.

A branch forks the timeline: the twin knows the same facts and goes on by itself.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from typing import Any, TypeGuard

from simulator.base.json_values import JsonObject
from simulator.environment.environment_facts import EnvironmentFact
from simulator.environment.injection.rules import InjectionRule
from simulator.facts import (
    AgentRan,
    Answered,
    CodeAnswered,
    ConversationEnded,
    Fact,
    ModelAnswered,
    RulesChanged,
    SeatChanged,
    ToolAnswered,
    TurnEnded,
    TurnStarted,
    UserSeated,
)
from simulator.session.adk_event_fields import function_responses, open_calls, seals_a_stop
from simulator.session.environment_state import SessionEnvironment
from simulator.session.fact_entries import (
    answered_by_adk,
    answered_by_model,
    answered_by_tool,
    called_by_graph,
    code_run,
    conversation_note,
    ended,
    environment_note,
    rules_note,
    seat_note,
    started,
    user_note,
)
from simulator.session.history import (
    AgentMessage,
    FinalResponse,
    HistoryEntry,
    ToolCall,
    UserReply,
)
from simulator.session.model import OpenCall


class Timeline:
    """The history of a session, for facts that are legal.

    A fact is only noted when it comes, in `unread`: an agent that runs must not wait for what nobody may look at.
    """

    def __init__(self) -> None:
        self.unread: list[tuple[int, Fact]] = []
        self._entries: list[HistoryEntry] = []
        self._current: list[HistoryEntry] = []
        self._notes: list[Callable[[int], HistoryEntry]] = []
        self._rules: tuple[InjectionRule, ...] = ()
        self._environment = SessionEnvironment()
        self._open: tuple[OpenCall, ...] = ()
        self._turn, self._started_at, self._running = -1, 0.0, False
        self._calls: set[str] = set()
        self._answered: set[str] = set()
        self._last_model_fact = -1

    def forked(self) -> Timeline:
        """Return a timeline of its own that knows the same facts."""
        twin = copy.copy(self)
        for name, held in vars(self).items():
            if isinstance(held, (list, set)):
                setattr(twin, name, held.copy())
        return twin

    def entries(self, live_events: Iterable[JsonObject] = ()) -> tuple[HistoryEntry, ...]:
        """Return the history; `live_events` are those that ADK has appended in the running turn."""
        unread, self.unread = self.unread, []
        for number, fact in unread:
            self._read(number, fact)
        current = self._with_responses(live_events, self._last_model_fact) if self._running else self._current
        return (*self._entries, *current)

    def _read(self, number: int, fact: Fact) -> None:
        match fact:
            case TurnStarted():
                self._start(number, fact)
            case ModelAnswered() | ToolAnswered() | AgentRan() | CodeAnswered():
                self._answer(number, fact)
            case SeatChanged():
                self._note(lambda turn: seat_note(number, turn, fact))
            case UserSeated():
                self._note(lambda turn: user_note(number, turn, fact))
            case ConversationEnded():
                self._note(lambda turn: conversation_note(number, turn, fact))
            case RulesChanged():
                before, self._rules = self._rules, fact.rules
                self._note(lambda turn: rules_note(number, turn, fact.at, before, fact.rules))
            case TurnEnded():
                self._end(number, fact)
            case _ if isinstance(fact, EnvironmentFact):
                was, self._environment = self._environment, self._environment.after(fact)
                self._note(lambda turn: environment_note(number, turn, fact, was))
            case _:
                return

    def _start(self, number: int, fact: TurnStarted) -> None:
        self._turn, self._started_at, self._running = fact.turn, fact.at, True
        self._current = [note(fact.turn) for note in self._notes]
        self._current += started(number, fact)
        self._notes = []
        self._answered = set()
        self._last_model_fact = -1

    def _note(self, note: Callable[[int], HistoryEntry]) -> None:
        """Show a change in the running turn, or before what begins the next one."""
        if self._running:
            self._current.append(note(self._turn))
        else:
            self._notes.append(note)

    def _answer(self, number: int, fact: Answered) -> None:
        match fact:
            case ModelAnswered():
                self._last_model_fact = number
                shown = list(answered_by_model(number, fact))
                self._calls |= {entry.call_id for entry in shown if isinstance(entry, ToolCall)}
                self._current += shown
            case ToolAnswered():
                if fact.call_id not in self._calls:
                    self._calls.add(fact.call_id)
                    self._current.append(called_by_graph(number, fact))
                self._answered.add(fact.call_id)
                if answer := answered_by_tool(number, fact):
                    self._current.append(answer)
            case CodeAnswered():
                self._current.append(code_run(number, fact))
            case AgentRan():
                pass  # what it answers is an event of ADK

    def _end(self, number: int, fact: TurnEnded) -> None:
        self._current = self._with_responses(fact.events, number)
        self._open = open_calls(fact.events, self._open)
        waits = any(not call.answered for call in self._open) and not fact.stopped and not fact.error
        closing = ended(number, fact)
        if closing and isinstance(closing[-1], FinalResponse):
            closing = closing if not waits else []
            self._drop_repeated_text(closing)
        self._entries += self._current + closing
        self._current, self._running = [], False

    def _drop_repeated_text(self, closing: list[HistoryEntry]) -> None:
        """Leave the final text to the final response alone."""
        if not closing or not isinstance(closing[-1], FinalResponse):
            return
        said = [entry for entry in self._current if self._is_said_by(entry, closing[-1].agent)]
        if said:
            closing[-1] = closing[-1].model_copy(update={"provenance": said[-1].provenance})
            self._current = [entry for entry in self._current if entry not in said]

    def _is_said_by(self, entry: HistoryEntry, author: str) -> TypeGuard[AgentMessage]:
        return (
            isinstance(entry, AgentMessage)
            and entry.fact == self._last_model_fact
            and entry.agent == author
            and not entry.thought
            and not entry.scope
        )

    def _end_of(self, call: ToolCall, place: int) -> int:
        """Return the place of the last entry inside of a call; that of the call itself where nothing is."""
        inside = f"{call.scope}>{call.call_id}>"
        scopes = enumerate(f"{getattr(entry, 'scope', '')}>" for entry in self._current)
        return max((at for at, scope in scopes if scope.startswith(inside)), default=place)

    def _with_responses(self, events: Iterable[JsonObject], number: int) -> list[HistoryEntry]:
        """Set what ADK itself answered behind the calls that it answers, and what happened inside of them."""
        answers: dict[str, list[HistoryEntry]] = {}
        for event in events:
            if event.get("author") == "user" or seals_a_stop(event):
                continue
            actions: Any = event.get("actions") or {}
            asked = actions.get("requestedToolConfirmations") or {}
            for response in function_responses(event):
                call_id = response.get("id")
                if call_id in self._calls and call_id not in self._answered:
                    at: Any = event.get("timestamp") or self._started_at
                    answer = answered_by_adk(number, self._turn, at, response, asks=call_id in asked)
                    answers.setdefault(str(call_id), []).append(answer)
        behind: dict[int, list[HistoryEntry]] = {}
        for place, entry in enumerate(self._current):
            if isinstance(entry, ToolCall) and entry.call_id in answers:
                behind.setdefault(self._end_of(entry, place), []).extend(answers.pop(entry.call_id))
        shown = [
            each for place, entry in enumerate(self._current) for each in (entry, *behind.get(place, ()))
        ]
        replied = max((i + 1 for i, each in enumerate(shown) if isinstance(each, UserReply)), default=0)
        left = [entry for late in answers.values() for entry in late]
        return shown[:replied] + left + shown[replied:] if left else shown
