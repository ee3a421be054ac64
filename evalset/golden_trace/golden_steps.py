"""Reads a golden: its steps, and the case without the questions whether a tool may run, which a person answered.

`HermeticEnvironment` says to each question what a person had said, before ADK asks it: a replay calls the tool, and its answer is
there. A case that holds the question too would never be exactly like it, as the question names the id of its call, which ADK
draws anew each time.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from google.adk.evaluation.eval_case import (
    EvalCase,
    IntermediateData,
    Invocation,
    InvocationEvent,
    InvocationEvents,
    get_all_tool_calls,
    get_all_tool_responses,
)
from google.genai import types

from evalset.golden_trace.steps import Step
from simulator.base.json_values import JsonObject
from simulator.runtime.adk.codec import jsonable
from simulator.session.adk_event_fields import content_text
from simulator.session.model import CONFIRMATION


def steps_of(invocation: Invocation) -> tuple[Step, ...]:
    """Return the steps of an invocation."""
    return (
        Step(kind="query", author="user", text=content_words(invocation.user_content)),
        *_asked_and_answered(invocation),
        Step(kind="text", text=spoken(invocation.final_response)),
    )


def _asked_and_answered(invocation: Invocation) -> Iterator[Step]:
    data = invocation.intermediate_data
    authors = _authors(data)
    answers = GivenResponses([*get_all_tool_responses(data), *_last_responses(invocation)])
    for call in get_all_tool_calls(data):
        name, author = call.name or "", authors.get(call.id or "", "")
        yield Step(kind="call", author=author, tool=name, value=arguments_of(call))
        if (answer := answers.of(call)) is not None:
            yield Step(kind="response", tool=name, value=jsonable(answer.response or {}))


def _last_responses(invocation: Invocation) -> Iterator[types.FunctionResponse]:
    """Yield the responses that stand in the final response, where ADK's conversion puts those that end a turn."""
    for part in (invocation.final_response.parts if invocation.final_response else None) or ():
        if part.function_response and part.function_response.id:
            yield part.function_response


def arguments_of(call: types.FunctionCall) -> JsonObject:
    """Return a call's arguments as JSON."""
    arguments: JsonObject = jsonable(call.args or {})
    return arguments


class GivenResponses:
    """The responses of an invocation: by the call's id, the last of several; by the tool's name where an id is missing."""

    def __init__(self, responses: Sequence[types.FunctionResponse]) -> None:
        self._by_id = {each.id: each for each in responses if each.id}
        self._by_name: defaultdict[str, deque[types.FunctionResponse]] = defaultdict(deque)
        for each in responses:
            if not each.id:
                self._by_name[each.name or ""].append(each)

    def of(self, call: types.FunctionCall) -> types.FunctionResponse | None:
        """Return the response to a call, each of a name once; None where there is none."""
        found = self._by_id.get(call.id) if call.id else None
        waiting = self._by_name.get(call.name or "")
        if found is None and waiting:
            found = waiting.popleft()
        return found


def _authors(data: Any) -> dict[str, str]:
    if isinstance(data, InvocationEvents):
        return {
            part.function_call.id: event.author
            for event in data.invocation_events
            for part in (event.content.parts if event.content else None) or ()
            if part.function_call and part.function_call.id
        }
    return {}


def spoken(content: types.Content | None) -> str:
    """Return the text of a content as ADK's response match reads it; of a turn that a tool's response ends, that as JSON."""
    parts = (content.parts if content else None) or ()
    text = "\n".join(part.text for part in parts if part.text)
    return text or content_words(types.Content(parts=[part for part in parts if part.function_response]))


def with_spoken(invocation: Invocation) -> Invocation:
    """Return an invocation whose final response is text, which ADK's evaluators can compare."""
    final = invocation.final_response
    if final is None or any(part.text for part in final.parts or ()) or not (text := spoken(final)):
        return invocation
    return invocation.model_copy(
        update={"final_response": types.Content(role="model", parts=[types.Part(text=text)])}
    )


def content_words(content: types.Content | None) -> str:
    """Return what a content says, its parts as JSON where it is more than text."""
    return "" if content is None else content_text(content.model_dump(mode="json", exclude_none=True))


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
