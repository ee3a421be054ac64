"""Adds facts up to a session: what is legal next, and what everything so far amounts to."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, assert_never

from simulator.facts import (
    AgentSelected,
    Answered,
    CallStarted,
    CodeAnswered,
    Fact,
    ModelAnswered,
    ModelProposed,
    RulesChanged,
    SeatChanged,
    SessionOpened,
    ToolAnswered,
    TurnEnded,
    TurnStarted,
)
from simulator.jsonvalue import JsonObject
from simulator.session import entries
from simulator.session.events import final_event, function_responses, open_calls
from simulator.session.history import (
    AgentMessage,
    FinalResponse,
    HistoryEntry,
    ToolCall,
    UserReply,
)
from simulator.session.model import OpenCall, Seats, SessionState, SimulationSession, Turn

_AGENT_PLAYERS = frozenset({"model", "held", "person"})
_TOOL_PLAYERS = frozenset({"person", "real", "refuse"})


class IllegalFactError(ValueError):
    """A fact that cannot follow the facts before it; nothing was changed."""

    def __init__(self, fact: Fact, state: SessionState, reason: str) -> None:
        super().__init__(f"{fact.kind} cannot follow while the session is {state.value}: {reason}")
        self.fact = fact


class SessionFold:
    """The sum of the facts on one path of a journal.

    `check` raises for a fact that cannot come next and changes nothing; `apply` takes it in; `session` gives the
    frozen view. The fold keeps no reference that a reader could change.
    """

    def __init__(self) -> None:
        self._opened: SessionOpened | None = None
        self._selected: AgentSelected | None = None
        self._seats = Seats()
        self._rules: tuple[Any, ...] = ()
        self._turns: list[Turn] = []
        self._entries: list[HistoryEntry] = []
        self._current: list[HistoryEntry] = []
        self._notes: list[Callable[[int], HistoryEntry]] = []
        self._state = SessionState.SELECTING_AGENT
        self._open: tuple[OpenCall, ...] = ()
        self._keys: set[str] = set()
        self._started: set[str] = set()
        self._proposals: dict[str, ModelProposed] = {}
        self._calls: set[str] = set()
        self._answered: set[str] = set()
        self._last_model_fact = -1

    @property
    def seats(self) -> Seats:
        """Who plays now."""
        return self._seats

    @property
    def rules(self) -> tuple[Any, ...]:
        """The injection rules that are in force now."""
        return self._rules

    @property
    def is_running(self) -> bool:
        """A turn has started and has not ended."""
        return bool(self._turns) and not self._turns[-1].ended

    def check(self, fact: Fact) -> None:
        """Raise where the fact cannot come next.

        Raises:
            IllegalFactError: Naming the fact, the state of the session and the reason.
        """
        match fact:
            case SessionOpened():
                self._require(fact, self._opened is None, "the session has been opened before")
            case AgentSelected():
                self._require(fact, self._opened is not None, "the session has not been opened")
                self._require(fact, self._selected is None, "an agent has been selected before")
            case TurnStarted():
                self._require(fact, self._selected is not None, "no agent has been selected")
                self._require(fact, not self.is_running, f"turn {len(self._turns) - 1} has not ended")
                self._require(fact, fact.turn == len(self._turns), f"the next turn is {len(self._turns)}")
                self._check_message(fact)
            case ModelAnswered() | ToolAnswered() | CodeAnswered():
                self._check_answer(fact)
            case CallStarted() | ModelProposed():
                self._check_turn(fact, fact.turn)
                self._require(fact, fact.key not in self._keys, f"{fact.key} has been answered")
            case TurnEnded():
                self._check_turn(fact, fact.turn)
            case SeatChanged():
                self._require(fact, self._selected is not None, "no agent has been selected")
                players = _AGENT_PLAYERS if fact.seat == "agent" else _TOOL_PLAYERS
                self._require(fact, fact.player in players, f"{fact.player} cannot play the {fact.seat} seat")
            case RulesChanged():
                self._require(fact, self._selected is not None, "no agent has been selected")
                ids = [rule.rule_id for rule in fact.rules]
                twice = sorted({rule_id for rule_id in ids if ids.count(rule_id) > 1})
                self._require(fact, not twice, f"two rules have the id {', '.join(twice)}")
            case never:
                assert_never(never)

    def _require(self, fact: Fact, holds: bool, reason: str) -> None:
        if not holds:
            raise IllegalFactError(fact, self._state, reason)

    def _check_turn(self, fact: Fact, turn: int) -> None:
        self._require(fact, self.is_running, "no turn is running")
        self._require(
            fact, turn == len(self._turns) - 1, f"turn {len(self._turns) - 1} is running, not {turn}"
        )

    def _check_message(self, fact: TurnStarted) -> None:
        parts = fact.message.get("parts")
        self._require(fact, isinstance(parts, list) and bool(parts), "the message has no parts")
        if fact.purpose == "query":
            return
        known = {call.call_id for call in self._open}
        responses = entries.message_responses(fact.message)
        self._require(fact, bool(responses), "a reply holds at least one function response")
        unknown = sorted(str(response.get("id")) for response in responses if response.get("id") not in known)
        self._require(fact, not unknown, f"no open call has the id {', '.join(unknown)}")

    def _check_answer(self, fact: Answered) -> None:
        self._check_turn(fact, fact.turn)
        self._require(fact, fact.key not in self._keys, f"{fact.key} has been answered before")
        if not isinstance(fact, ModelAnswered):
            return
        ids = [call.get("id") for call in entries.model_calls(fact)]
        self._require(fact, all(ids), "a function call has no id")
        doubled = sorted({str(call) for call in ids if call in self._calls or ids.count(call) > 1})
        self._require(fact, not doubled, f"the call id {', '.join(doubled)} is not unique in the session")

    def apply(self, number: int, fact: Fact) -> None:
        """Take in a fact that `check` has let pass; `number` is its number in the journal."""
        match fact:
            case SessionOpened():
                self._opened = fact
            case AgentSelected():
                self._selected = fact
                self._state = SessionState.AWAITING_QUERY
            case TurnStarted():
                self._start(number, fact)
            case ModelAnswered() | ToolAnswered() | CodeAnswered():
                self._answer(number, fact)
            case CallStarted():
                self._started.add(fact.key)
            case ModelProposed():
                self._proposals[fact.key] = fact
            case SeatChanged():
                self._sit(number, fact)
            case RulesChanged():
                before, self._rules = self._rules, fact.rules
                self._note(lambda turn: entries.rules_note(number, turn, fact.at, before, fact.rules))
            case TurnEnded():
                self._end(number, fact)
            case never:
                assert_never(never)

    def _start(self, number: int, fact: TurnStarted) -> None:
        self._turns.append(
            Turn(number=fact.turn, purpose=fact.purpose, message=fact.message, started_at=fact.at)
        )
        self._current = entries.started(number, fact)
        self._current += [note(fact.turn) for note in self._notes]
        self._notes = []
        self._keys, self._started, self._answered = set(), set(), set()
        self._proposals = {}
        self._last_model_fact = -1
        self._state = SessionState.ACTIVE

    def _note(self, note: Callable[[int], HistoryEntry]) -> None:
        """Show a change in the running turn, or at the start of the next one."""
        if self.is_running:
            self._current.append(note(len(self._turns) - 1))
        else:
            self._notes.append(note)

    def _sit(self, number: int, fact: SeatChanged) -> None:
        seat = "agents" if fact.seat == "agent" else "tools"
        players = {**getattr(self._seats, seat), fact.target: fact.player}
        self._seats = self._seats.model_copy(update={seat: players})
        self._note(lambda turn: entries.seat_note(number, turn, fact))

    def _answer(self, number: int, fact: Answered) -> None:
        self._keys.add(fact.key)
        match fact:
            case ModelAnswered():
                self._last_model_fact = number
                shown = list(entries.answered_by_model(number, fact))
                self._calls |= {entry.call_id for entry in shown if isinstance(entry, ToolCall)}
                self._current += shown
            case ToolAnswered():
                if fact.call_id not in self._calls:
                    self._calls.add(fact.call_id)
                    self._current.append(entries.called_by_graph(number, fact))
                self._answered.add(fact.call_id)
                if answer := entries.answered_by_tool(number, fact):
                    self._current.append(answer)
            case CodeAnswered():
                self._current.append(entries.code_run(number, fact))
            case never:
                assert_never(never)

    def _end(self, number: int, fact: TurnEnded) -> None:
        self._current = self._with_responses(fact.events, number)
        closing = entries.ended(number, fact)
        self._open = open_calls([event for turn in self._turns for event in turn.events] + list(fact.events))
        waits = any(not call.answered for call in self._open) and not fact.stopped and not fact.error
        if closing and isinstance(closing[-1], FinalResponse):
            closing = closing if not waits else []
            self._drop_repeated_text(closing)
        self._entries += self._current + closing
        self._current = []
        self._turns[-1] = self._turns[-1].model_copy(
            update={
                "ended": True,
                "events": fact.events,
                "state": fact.state,
                "artifacts": fact.artifacts,
                "error": fact.error,
                "stopped": fact.stopped,
                "final_event": final_event(fact.events) if closing else None,
                "leaves_open": waits,
            }
        )
        final = bool(closing) and isinstance(closing[-1], FinalResponse)
        self._state = (
            SessionState.COMPLETED if final else SessionState.ACTIVE if waits else SessionState.AWAITING_QUERY
        )

    def _drop_repeated_text(self, closing: list[HistoryEntry]) -> None:
        """Leave the final text to the final response alone."""
        if not closing or not isinstance(closing[-1], FinalResponse):
            return
        author = closing[-1].agent
        self._current = [
            entry
            for entry in self._current
            if not (
                isinstance(entry, AgentMessage)
                and entry.fact == self._last_model_fact
                and entry.agent == author
                and not entry.thought
                and not entry.scope
            )
        ]

    def _with_responses(self, events: Iterable[JsonObject], number: int) -> list[HistoryEntry]:
        """Set what ADK itself answered behind the calls that it answers."""
        answers: dict[str, list[HistoryEntry]] = {}
        turn = self._turns[-1]
        for event in events:
            if event.get("author") == "user":
                continue
            for response in function_responses(event):
                call_id = response.get("id")
                if call_id in self._calls and call_id not in self._answered:
                    at: Any = event.get("timestamp") or turn.started_at
                    answer = entries.answered_by_adk(number, turn.number, at, response)
                    answers.setdefault(str(call_id), []).append(answer)
        shown: list[HistoryEntry] = []
        for entry in self._current:
            shown.append(entry)
            if isinstance(entry, ToolCall):
                shown += answers.pop(entry.call_id, [])
        after_reply = next((i + 1 for i, e in enumerate(shown) if not isinstance(e, UserReply)), len(shown))
        left = [entry for late in answers.values() for entry in late]
        return shown[: after_reply - 1] + left + shown[after_reply - 1 :] if left else shown

    def session(self, live_events: Iterable[JsonObject] = ()) -> SimulationSession:
        """Give the session as it stands; `live_events` are those that ADK has appended in the running turn."""
        current = self._current
        if self.is_running:
            current = self._with_responses(live_events, self._last_model_fact)
        initial = self._selected.initial_state if self._selected else {}
        done = [turn for turn in self._turns if turn.ended]
        return SimulationSession(
            session_id=self._opened.session_id if self._opened else "",
            user_id=self._opened.user_id if self._opened else "user",
            agent_name=self._selected.agent_name if self._selected else "",
            app_name=self._selected.app_name if self._selected else "",
            state=self._state,
            history=(*self._entries, *current),
            start_timestamp=self._opened.at if self._opened else 0.0,
            turns=tuple(self._turns),
            initial_state=initial,
            current_state=done[-1].state if done else initial,
            seats=self._seats,
            rules=self._rules,
            open_calls=() if self.is_running else self._open,
        )

    def proposals(self) -> dict[str, ModelProposed]:
        """Give what models proposed in the running turn, by the key of the request."""
        return dict(self._proposals)

    def may_have_run(self) -> frozenset[str]:
        """Give the keys of real calls that were started in the running turn and have no answer."""
        return frozenset(self._started - self._keys)
