"""Lists a session's tool calls, past and waiting, so that a rule can be tried and previewed on them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pydantic import JsonValue

from app.session.timeline_view import arguments_line
from simulator.base.json_values import JsonObject
from simulator.environment.injection.rule_call import CallContext, Tally
from simulator.environment.injection.rules import EVERY_TOOL, InjectionRule, Miss, nearest_first
from simulator.facts import Provenance
from simulator.seats.requests import ToolRequest
from simulator.session import SimulationSession
from simulator.session.history import ToolCall, ToolError, ToolOutput

_LONGEST = 80


@dataclass(frozen=True, slots=True)
class PastCall:
    """A tool call that was answered, or that waits for an answer.

    Attributes:
        call_id: The call's id.
        place: The key of the request that waits, or the number of the fact that answered it.
        number: Its place among all these calls of the session, from 1.
        tool_name: The tool.
        arguments: What it was called with.
        agent: Who called it.
        turn: The turn in which it was.
        told: What the agent was told; None where the call waits.
        request: The request, where the call waits for an answer.
        provenance: Who answered it.
    """

    call_id: str
    place: str | int
    number: int
    tool_name: str
    arguments: JsonObject
    agent: str
    turn: int
    told: JsonValue
    request: ToolRequest | None = None
    provenance: Provenance | None = None

    @property
    def waits(self) -> bool:
        """Whether it waits for an answer."""
        return self.request is not None

    @property
    def response(self) -> JsonValue:
        """What the agent was told; the draft where the call waits, which is made only now."""
        return self.told if self.request is None else self.request.draft

    @property
    def words(self) -> str:
        """Name the call in a line; it holds text from outside."""
        arguments = arguments_line(self.arguments)[:_LONGEST]
        parts = (f"{self.number}. {self.tool_name}", arguments, "(waiting)" if self.waits else "")
        return " ".join(filter(None, parts))


@dataclass(frozen=True, slots=True)
class Before:
    """What there was before a call: earlier calls of its tool, the last answer of each tool, and the state."""

    earlier: tuple[JsonObject, ...]
    answers: JsonObject
    state: JsonObject
    tally: Tally

    def context(self, call: PastCall) -> CallContext:
        """Return the call as rules are asked about it."""
        return CallContext(
            tool_name=call.tool_name,
            arguments=call.arguments,
            agent=call.agent,
            tally=self.tally,
            state=lambda: self.state,
            calls=lambda: self.earlier,
        )


def past_calls(session: SimulationSession, waiting: Iterable[ToolRequest]) -> tuple[PastCall, ...]:
    """List the calls that tools answered and those that wait, oldest first.

    What ADK answers itself, such as a transfer, is no call for a rule and not among them.
    """
    pending = {request.call_id: request for request in waiting}
    answers = {
        entry.call_id: entry
        for entry in session.history
        if isinstance(entry, (ToolOutput, ToolError)) and entry.provenance is not None
    }
    calls = (
        entry
        for entry in session.history
        if isinstance(entry, ToolCall) and (entry.call_id in answers or entry.call_id in pending)
    )
    return tuple(
        _past(number, entry, answers.get(entry.call_id), pending.get(entry.call_id))
        for number, entry in enumerate(calls, start=1)
    )


def _past(
    number: int, entry: ToolCall, answer: ToolOutput | ToolError | None, request: ToolRequest | None
) -> PastCall:
    return PastCall(
        call_id=entry.call_id,
        place=request.key if request else (answer.fact if answer else ""),
        number=number,
        tool_name=entry.tool_name,
        arguments=entry.arguments,
        agent=entry.agent,
        turn=entry.turn,
        told=response_of(answer) if answer else None,
        request=None if answer else request,
        provenance=answer.provenance if answer else None,
    )


def before(session: SimulationSession, calls: Iterable[PastCall], call: PastCall) -> Before:
    """Gather what there was before one of the calls."""
    earlier = [each for each in calls if each.number < call.number and not each.waits]
    counts: dict[str, Counter[str]] = {name: Counter() for name in ("drawn", "counted", "fired")}
    for each in earlier:
        if each.provenance is not None:
            counts["drawn"].update(each.provenance.drawn)
            counts["counted"].update(each.provenance.counted)
            counts["fired"].update(each.provenance.fired)
    same = [each for each in earlier if each.tool_name == call.tool_name]
    turns = session.turns
    state = turns[call.turn - 1].state if 0 < call.turn <= len(turns) else session.initial_state
    return Before(
        earlier=tuple({"arguments": dict(each.arguments), "response": each.response} for each in same),
        answers={each.tool_name: each.response for each in earlier},
        state=dict(state),
        tally=Tally(
            drawn=counts["drawn"],
            counted=counts["counted"],
            fired=counts["fired"],
            tool_calls=len(same),
            session_calls=len(earlier),
        ),
    )


def response_of(answer: ToolOutput | ToolError) -> JsonValue:
    """Return what the agent was told; an exception is told as ADK's error dict."""
    if isinstance(answer, ToolOutput):
        value: JsonValue = answer.result
        return value
    code = int(answer.error_type) if answer.error_type.isdigit() else answer.error_type
    return {"error_code": code, "error_message": answer.error_message}


def times_fired(session: SimulationSession) -> Mapping[str, int]:
    """Count how often each rule fired in the session, by its id."""
    found: Counter[str] = Counter()
    for entry in session.history:
        if isinstance(entry, (ToolOutput, ToolError)) and entry.provenance is not None:
            found.update(entry.provenance.fired)
    return found


def unanswered(request: ToolRequest, rules: Iterable[InjectionRule]) -> tuple[Miss, ...]:
    """Return why each rule did not answer a call that waits, nearest first; last those that were not asked about it."""
    judged = {miss.rule_id for miss in request.misses}
    others = []
    for rule in rules:
        if rule.tool_name not in {request.tool_name, EVERY_TOOL}:
            reason = f"it applies to {rule.tool_name}, and this call is to {request.tool_name}"
        elif (rule.label or rule.rule_id) in request.modifiers or (
            rule.effect.kind == "ask" and request.note
        ):
            continue
        else:
            reason = "it was added while this call was waiting, and applies from the next call on"
        if rule.rule_id not in judged:
            others.append(Miss(rule_id=rule.rule_id, reason=reason))
    return (*nearest_first(request.misses), *others)


def last_misses(session: SimulationSession, waiting: Iterable[ToolRequest]) -> Mapping[str, str]:
    """Return why each rule did not answer the last call that it was asked about, by its id; nothing where it fired since."""
    found: dict[str, str] = {}
    for entry in session.history:
        if isinstance(entry, (ToolOutput, ToolError)) and entry.provenance is not None:
            found.update({miss.rule_id: miss.reason for miss in entry.provenance.misses})
            for rule_id in entry.provenance.fired:
                found.pop(rule_id, None)
    for request in waiting:
        found.update({miss.rule_id: miss.reason for miss in request.misses})
    return found
