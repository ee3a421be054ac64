"""Leaves the questions whether a tool may run out of an eval case, so that it holds what a hermetic replay shows.

`HermeticEnvironment` says to each question what a person had said, before ADK asks it: a replay calls the tool, and its answer is
there. A case that holds the question too would never be exactly like it, as the question names the id of its call, which ADK
draws anew each time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from google.adk.evaluation.eval_case import (
    EvalCase,
    IntermediateData,
    Invocation,
    InvocationEvent,
    InvocationEvents,
)
from google.genai import types

from simulator.session.model import CONFIRMATION


def without_confirmations(case: EvalCase) -> EvalCase:
    """Return a case without the questions, what was said to them, and what stood for the answers until then.

    A case that holds none is given back as it is. What a person had said belongs into the case's recorded environment.
    """
    if not any(_questions(turn) for turn in case.conversation or ()):
        return case
    return case.model_copy(update={"conversation": [_without(turn) for turn in case.conversation or ()]})


def _without(turn: Invocation) -> Invocation:
    questions = _questions(turn)
    if not questions:
        return turn
    waiting = {asked_about(question) for question in questions} - {""}
    match turn.intermediate_data:
        case InvocationEvents(invocation_events=events):
            parts = [part for event in events for part in _parts(event)]
            left_out = _left_out(
                [part.function_response for part in parts if part.function_response], waiting
            )
            made = [_kept(event, left_out) for event in events]
            kept = InvocationEvents(invocation_events=[event for event in made if event is not None])
            return turn.model_copy(update={"intermediate_data": kept})
        case IntermediateData() as data:
            left_out = _left_out(data.tool_responses, waiting)
            listed = {
                "tool_uses": [call for call in data.tool_uses if call.name != CONFIRMATION],
                "tool_responses": [each for each in data.tool_responses if id(each) not in left_out],
            }
            return turn.model_copy(update={"intermediate_data": data.model_copy(update=listed)})
        case _:
            return turn


def _questions(turn: Invocation) -> list[types.FunctionCall]:
    return [call for call in _calls(turn) if call.name == CONFIRMATION]


def _calls(turn: Invocation) -> Iterable[types.FunctionCall]:
    match turn.intermediate_data:
        case InvocationEvents(invocation_events=events):
            return [part.function_call for event in events for part in _parts(event) if part.function_call]
        case IntermediateData(tool_uses=calls):
            return calls
        case _:
            return ()


def _parts(event: InvocationEvent) -> Sequence[types.Part]:
    return (event.content.parts if event.content else None) or ()


def asked_about(question: types.FunctionCall) -> str:
    """Return the id of the call that a question for a confirmation is about; empty where it names none."""
    original = (question.args or {}).get("originalFunctionCall")
    return str(original.get("id") or "") if isinstance(original, dict) else ""


def _left_out(answers: Sequence[types.FunctionResponse], waiting: set[str]) -> set[int]:
    """Return the answers to the questions, and of each call that waited all answers but the last, by their `id()`."""
    last = {answer.id: answer for answer in answers if answer.id in waiting}
    return {id(answer) for answer in answers if answer.name == CONFIRMATION} | {
        id(answer) for answer in answers if answer.id in waiting and last[answer.id] is not answer
    }


def _kept(event: InvocationEvent, left_out: set[int]) -> InvocationEvent | None:
    """Return an event without the parts that are left out; None where nothing else is in it."""
    parts = list(_remaining(_parts(event), left_out))
    if len(parts) == len(_parts(event)):
        return event
    if not parts or event.content is None:
        return None
    return event.model_copy(update={"content": event.content.model_copy(update={"parts": parts})})


def _remaining(parts: Sequence[types.Part], left_out: set[int]) -> Iterator[types.Part]:
    for part in parts:
        asks = part.function_call is not None and part.function_call.name == CONFIRMATION
        if not asks and id(part.function_response) not in left_out:
            yield part
