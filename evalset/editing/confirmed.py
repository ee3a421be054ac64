"""Puts the questions whether a tool may run back into a case, where only its recorded environment keeps what a person had said."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from google.adk.evaluation.eval_case import (
    EvalCase,
    IntermediateData,
    Invocation,
    InvocationEvent,
    InvocationEvents,
)
from google.genai import types

from evalset.recorded.model import RecordedCall, RecordedCase, RecordedTurn, RejectedCall
from evalset.replay.following import only_asked
from simulator.jsonvalue import JsonObject, copied, same
from simulator.session.model import CONFIRMATION

_USER = "user"


class _Asked(NamedTuple):
    """A call of a case that a person had allowed or rejected, and what they had said."""

    call: types.FunctionCall
    said: JsonObject

    @property
    def question(self) -> types.FunctionCall:
        about = {"originalFunctionCall": {"id": self.call.id, "name": self.call.name}}
        return types.FunctionCall(id=f"asked-{self.call.id}", name=CONFIRMATION, args=about)

    @property
    def waits(self) -> types.FunctionResponse:
        """What stands for the call's answer until a person has said whether it may run."""
        return types.FunctionResponse(id=self.call.id, name=self.call.name, response={})

    @property
    def reply(self) -> types.FunctionResponse:
        return types.FunctionResponse(
            id=self.question.id, name=CONFIRMATION, response=dict(copied(self.said))
        )


def with_confirmations(case: EvalCase, recorded: RecordedCase) -> EvalCase:
    """Give a case with the questions that were left out of it, each before its call's answer, or last where that is to come.

    Questions that the case holds stay as they are. A tool that asked for itself gets none: where it does not run, it
    cannot ask. The turns are those that were recorded, or their beginning.
    """
    turns = list(case.conversation or ())
    for place, (turn, kept) in enumerate(zip(turns, recorded.turns, strict=False)):
        turns[place] = _with(turn, kept)
    return case.model_copy(update={"conversation": turns}) if turns else case


def _with(turn: Invocation, recorded: RecordedTurn) -> Invocation:
    match turn.intermediate_data:
        case InvocationEvents(invocation_events=events):
            calls = [part.function_call for event in events for part in _parts(event) if part.function_call]
            made = list(_events(events, _left_out(calls, recorded)))
            return turn.model_copy(update={"intermediate_data": InvocationEvents(invocation_events=made)})
        case IntermediateData() as data:
            listed = _lists(data, _left_out(data.tool_uses, recorded))
            return turn.model_copy(update={"intermediate_data": listed})
        case _:
            return turn


def _left_out(calls: Sequence[types.FunctionCall], recorded: RecordedTurn) -> dict[str, _Asked]:
    """Find the calls whose questions the case does not hold, by their ids."""
    known = {_about(call) for call in calls if call.name == CONFIRMATION}
    asked_itself = {call.id for place, call in enumerate(recorded.calls) if only_asked(recorded.calls, place)}
    both: list[RecordedCall | RejectedCall] = [*recorded.calls, *recorded.rejected]
    left = [
        call
        for call in both
        if call.confirmed is not None and not call.within and call.id not in asked_itself
    ]
    found: dict[str, _Asked] = {}
    for call in calls:
        kept = _kept(call, left)
        if kept is None or kept.confirmed is None:
            continue
        left.remove(kept)
        if call.id and call.id not in known:
            found[call.id] = _Asked(call, kept.confirmed)
    return found


def _about(question: types.FunctionCall) -> str:
    original = (question.args or {}).get("originalFunctionCall")
    return str(original.get("id") or "") if isinstance(original, dict) else ""


def _kept(
    call: types.FunctionCall, left: Iterable[RecordedCall | RejectedCall]
) -> RecordedCall | RejectedCall | None:
    """Find what is recorded of a call: by its id, else the first with its tool and arguments."""
    mine = [each for each in left if each.tool == call.name]
    by_id = next((each for each in mine if each.id and each.id == call.id), None)
    return by_id or next((each for each in mine if same(each.arguments, dict(call.args or {}))), None)


def _lists(data: IntermediateData, asked: dict[str, _Asked]) -> IntermediateData:
    """Put each question behind the calls that were made at once with its call, which were answered before it."""
    answers: list[types.FunctionResponse] = []
    before: dict[str, set[str]] = {}
    for answer in data.tool_responses:
        if (each := asked.get(answer.id or "")) is not None and each.call.id not in before:
            before[answer.id or ""] = {known.id or "" for known in answers}
            answers += [each.waits, each.reply]
        answers.append(answer)
    answered = {answer.id or "" for answer in answers}
    for call_id, each in asked.items():
        if call_id not in before:
            before[call_id] = answered
            answers += [each.waits, each.reply]
    uses = list(data.tool_uses)
    for call_id, each in asked.items():
        with_it = [
            place for place, call in enumerate(uses) if call.id == call_id or call.id in before[call_id]
        ]
        uses.insert(max(with_it) + 1, each.question)
    return data.model_copy(update={"tool_uses": uses, "tool_responses": answers})


def _events(events: Sequence[InvocationEvent], asked: dict[str, _Asked]) -> Iterator[InvocationEvent]:
    left = dict(asked)
    for event in events:
        parts: list[types.Part] = []
        for part in _parts(event):
            answer = part.function_response
            each = left.pop(answer.id or "", None) if answer else None
            if each is not None:
                if parts:
                    yield _of_parts(event.author, parts)
                    parts = []
                yield from _round(event.author, each)
            parts.append(part)
        yield event if len(parts) == len(_parts(event)) else _of_parts(event.author, parts)
    for each in left.values():
        yield from _round("", each)


def _round(author: str, asked: _Asked) -> Iterator[InvocationEvent]:
    yield _of_parts(author, [types.Part(function_response=asked.waits)])
    yield _of_parts(author, [types.Part(function_call=asked.question)])
    yield _of_parts(_USER, [types.Part(function_response=asked.reply)])


def _of_parts(author: str, parts: list[types.Part]) -> InvocationEvent:
    return InvocationEvent(author=author, content=types.Content(parts=parts))


def _parts(event: InvocationEvent) -> Sequence[types.Part]:
    return (event.content.parts if event.content else None) or ()
