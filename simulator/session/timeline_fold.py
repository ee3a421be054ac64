"""Adds up the timeline that people read: the entries of each fact, in their order.

A fact is only noted when it comes (`unread`): an agent that runs must not wait for what nobody may look at. `entries`
reads those that were noted since it was asked last, and returns the history. How one fact reads is said
first (`started`, `answered_by_tool` and so on); where it goes, `Timeline` knows:

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
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from typing import Any, TypeGuard, assert_never

from simulator.base.json_values import JsonObject
from simulator.environment.injection.rules import InjectionRule
from simulator.facts import (
    EVERY,
    AgentRan,
    Answered,
    CodeAnswered,
    ConversationEnded,
    Deferred,
    EnvironmentFact,
    Fact,
    Failed,
    ModelAnswered,
    Raised,
    Returned,
    RulesChanged,
    SeatChanged,
    ToolAnswered,
    TurnEnded,
    TurnStarted,
    UserSeated,
)
from simulator.session.adk_event_fields import (
    content_text,
    final_event,
    final_output,
    function_responses,
    message_responses,
    message_text,
    open_calls,
    output_text,
    parts_of,
    seals_a_stop,
)
from simulator.session.history import (
    AgentMessage,
    CodeRun,
    FinalResponse,
    HistoryEntry,
    ModelError,
    SessionNote,
    ToolCall,
    ToolError,
    ToolOutput,
    TurnFailed,
    UserQuery,
    UserReply,
    files_in,
)
from simulator.session.model import OpenCall, SessionEnvironment, words_of_change

_STOPPED = "stopped"
_ADK_ERROR = "error"
_NO_RESPONSE = "NoResponse"


def when(at: float) -> datetime:
    """Return a fact's time as a datetime in UTC."""
    return datetime.fromtimestamp(at, UTC)


def started(number: int, fact: TurnStarted) -> list[HistoryEntry]:
    """Show what the user said: a query, or the replies to what was left open."""
    common: dict[str, Any] = {"fact": number, "turn": fact.turn, "timestamp": when(fact.at)}
    if fact.purpose == "query":
        files = tuple(files_in(fact.message))
        text = message_text(fact.message)
        return [UserQuery(content=text, files=files, provenance=fact.provenance, **common)]
    return [
        UserReply(
            call_id=response.get("id") or "",
            tool_name=response.get("name") or "",
            response=response.get("response"),
            provenance=fact.provenance,
            **common,
        )
        for response in message_responses(fact.message)
    ]


def scope_of(key: str) -> str:
    """Return the calls of agent tools that a request with this key happened inside of."""
    parts = key.split("/", 2)
    return parts[1] if len(parts) == 3 else ""  # noqa: PLR2004 - a key is turn/scope/rest


def answered_by_model(number: int, fact: ModelAnswered) -> Iterator[HistoryEntry]:
    """Show the texts and calls of the agent's turn, and its error."""
    common: dict[str, Any] = {"fact": number, "turn": fact.turn, "timestamp": when(fact.at)}
    scope = scope_of(fact.key)
    for response in fact.responses:
        if response.get("partial"):
            continue
        for part in parts_of(response.get("content")):
            if part.get("text"):
                yield AgentMessage(
                    agent=fact.agent,
                    content=part["text"],
                    thought=bool(part.get("thought")),
                    scope=scope,
                    provenance=fact.provenance,
                    **common,
                )
            if call := part.get("function_call"):
                yield ToolCall(
                    agent=fact.agent,
                    tool_name=call.get("name") or "",
                    arguments=call.get("args") or {},
                    call_id=call["id"],
                    scope=scope,
                    provenance=fact.provenance,
                    **common,
                )
        if code := response.get("error_code"):
            yield ModelError(
                agent=fact.agent,
                error_type=str(code),
                error_message=str(response.get("error_message") or ""),
                **common,
            )
    if trouble := _trouble(fact):
        kind, message = trouble
        yield ModelError(agent=fact.agent, error_type=kind, error_message=message, **common)


def _trouble(fact: ModelAnswered) -> tuple[str, str] | None:
    """Return what a model raised, or that it gave nothing: the kind of error and its message."""
    if fact.error:
        return fact.error.short_type, fact.error.message
    return (_NO_RESPONSE, _why_nothing(fact.responses)) if _says_nothing(fact.responses) else None


def _says_nothing(responses: Iterable[Any]) -> bool:
    """Return whether a model has given nothing that ADK could go on with: not a word, not a call, and no error."""
    whole = [response for response in responses if not response.get("partial")]
    return not any(
        response.get("error_code") or any(any(part.values()) for part in parts_of(response.get("content")))
        for response in whole
    )


def _why_nothing(responses: tuple[JsonObject, ...]) -> str:
    if not responses:
        return "The model ended without yielding a response."
    if all(response.get("partial") for response in responses):
        return "The model's stream ended before its response was complete."
    reasons = dict.fromkeys(str(each["finish_reason"]) for each in responses if each.get("finish_reason"))
    because = f" Finish reason: {', '.join(reasons)}." if reasons else ""
    return f"The model's response is empty: no text and no tool call.{because}"


def answered_by_tool(number: int, fact: ToolAnswered) -> HistoryEntry | None:
    """Show a tool's answer; nothing where it comes later."""
    common: dict[str, Any] = {
        "fact": number,
        "turn": fact.turn,
        "timestamp": when(fact.at),
        "call_id": fact.call_id,
        "duration_ms": fact.elapsed_ms,
        "provenance": fact.provenance,
        "beneath": fact.beneath,
    }
    match fact.outcome:
        case Returned(value=value):
            return ToolOutput(result=value, state_delta=fact.effects.state_delta, **common)
        case Failed(error_code=code, error_message=message):
            return ToolError(error_type=str(code), error_message=message, **common)
        case Raised(error=error):
            return ToolError(
                error_type=error.short_type, error_message=error.message, traceback=fact.traceback, **common
            )
        case Deferred():
            return None
        case never:
            assert_never(never)


def called_by_graph(number: int, fact: ToolAnswered) -> ToolCall:
    """Show the call of a tool that stands in a workflow's graph, where no model asked for it."""
    return ToolCall(
        fact=number,
        turn=fact.turn,
        timestamp=when(fact.at),
        agent=fact.agent,
        tool_name=fact.tool_name,
        arguments=fact.arguments,
        call_id=fact.call_id,
        scope=fact.scope,
    )


def answered_by_adk(
    number: int, turn: int, at: float, response: dict[str, Any], *, asks: bool = False
) -> ToolOutput | ToolError:
    """Show what ADK itself answered to a call: a transfer, an agent tool, a callback; an unknown tool is an error.

    `asks` says that ADK only asks the user to confirm the call, which it words as an error too.
    """
    common: dict[str, Any] = {
        "fact": number,
        "turn": turn,
        "timestamp": when(at),
        "call_id": response["id"],
    }
    result = response.get("response")
    if isinstance(result, dict) and result.keys() == {"error"} and not asks:
        return ToolError(error_type=_ADK_ERROR, error_message=str(result["error"]), **common)
    return ToolOutput(result=result, **common)


def code_run(number: int, fact: CodeAnswered) -> CodeRun:
    """Show code and what it printed."""
    result = fact.result or {}
    output = "\n".join(str(result[stream]) for stream in ("stdout", "stderr") if result.get(stream))
    return CodeRun(
        fact=number,
        turn=fact.turn,
        timestamp=when(fact.at),
        agent=fact.agent,
        code=fact.code,
        output=output,
        error=fact.error.message if fact.error else None,
        provenance=fact.provenance,
    )


def ended(number: int, fact: TurnEnded) -> list[HistoryEntry]:
    """Show how the turn ended: with a final response, an error, by a stop, or with nothing to show."""
    common: dict[str, Any] = {"fact": number, "turn": fact.turn, "timestamp": when(fact.at)}
    if fact.stopped:
        return [TurnFailed(error_type=_STOPPED, error_message="stopped by a person", stopped=True, **common)]
    if fact.error:
        return [TurnFailed(error_type=fact.error.short_type, error_message=fact.error.message, **common)]
    place = final_event(fact.events)
    if place is not None:
        event = fact.events[place]
        author = str(event.get("author") or "")
        return [FinalResponse(agent=author, content=content_text(event.get("content")), **common)]
    output = final_output(fact.events)
    if output is None:
        return []
    author = str(fact.events[-1].get("author") or "")
    return [FinalResponse(agent=author, content=output_text(output), **common)]


def seat_note(number: int, turn: int, fact: SeatChanged) -> SessionNote:
    """Say who sat down where."""
    whose = "all others" if fact.target == EVERY else fact.target
    text = f"{fact.seat} seat of {whose}: {fact.player}"
    return SessionNote(fact=number, turn=turn, timestamp=when(fact.at), content=text)


def user_note(number: int, turn: int, fact: UserSeated) -> SessionNote:
    """Say who speaks for the user from now on."""
    held = ", each message held for approval" if fact.hold and fact.player != "person" else ""
    return SessionNote(
        fact=number, turn=turn, timestamp=when(fact.at), content=f"user seat: {fact.player}{held}"
    )


def conversation_note(number: int, turn: int, fact: ConversationEnded) -> SessionNote:
    """Say that the conversation was over, or goes on."""
    words = "ended the conversation" if fact.over else "reopened the conversation"
    return SessionNote(fact=number, turn=turn, timestamp=when(fact.at), content=f"user seat: {words}")


def rules_note(
    number: int, turn: int, at: float, before: tuple[InjectionRule, ...], after: tuple[InjectionRule, ...]
) -> SessionNote:
    """Say which injections were added, removed, switched or edited."""
    old = {rule.rule_id: rule for rule in before}
    new = {rule.rule_id: rule for rule in after}
    words = [f"added {rule_id}" for rule_id in new if rule_id not in old]
    words += [f"removed {rule_id}" for rule_id in old if rule_id not in new]
    for rule_id, rule in new.items():
        known = old.get(rule_id)
        if known is None or known == rule:
            continue
        if known.model_copy(update={"enabled": rule.enabled}) == rule:
            words.append(f"switched {rule_id} {'on' if rule.enabled else 'off'}")
        else:
            words.append(f"edited {rule_id}")
    text = "injections: " + (", ".join(words) or "new order")
    return SessionNote(fact=number, turn=turn, timestamp=when(at), content=text)


def environment_note(
    number: int, turn: int, fact: EnvironmentFact, before: SessionEnvironment
) -> SessionNote:
    """Say how the environment was changed."""
    text = f"environment: {words_of_change(fact, before)}"
    return SessionNote(fact=number, turn=turn, timestamp=when(fact.at), content=text)


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
