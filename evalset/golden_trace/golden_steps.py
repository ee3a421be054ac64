"""Lays an invocation out as steps, in one order whichever form it is kept in: the query, each call with its answer, the final text."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from typing import Any

from google.adk.evaluation.eval_case import (
    Invocation,
    InvocationEvents,
    get_all_tool_calls,
    get_all_tool_responses,
)
from google.genai import types

from evalset.golden_trace.steps import Step
from simulator.base.json_values import JsonObject
from simulator.runtime.adk.codec import jsonable
from simulator.session.adk_event_fields import content_text


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
    answers = _Answers([*get_all_tool_responses(data), *_last_responses(invocation)])
    for call in get_all_tool_calls(data):
        name, author = call.name or "", authors.get(call.id or "", "")
        yield Step(kind="call", author=author, tool=name, value=arguments_of(call))
        if (response := answers.of(call)) is not None:
            yield Step(kind="response", tool=name, value=response)


def _last_responses(invocation: Invocation) -> Iterator[types.FunctionResponse]:
    """Yield the responses that stand in the final response, where ADK's conversion puts those that end a turn."""
    for part in (invocation.final_response.parts if invocation.final_response else None) or ():
        if part.function_response and part.function_response.id:
            yield part.function_response


def arguments_of(call: types.FunctionCall) -> JsonObject:
    """Return a call's arguments as JSON."""
    arguments: JsonObject = jsonable(call.args or {})
    return arguments


class _Answers:
    """The responses of an invocation: by the call's id, the last of several; by the tool's name where an id is missing."""

    def __init__(self, responses: Sequence[types.FunctionResponse]) -> None:
        self._by_id = {each.id: each for each in responses if each.id}
        self._by_name: defaultdict[str, deque[types.FunctionResponse]] = defaultdict(deque)
        for each in responses:
            if not each.id:
                self._by_name[each.name or ""].append(each)

    def of(self, call: types.FunctionCall) -> JsonObject | None:
        found = self._by_id.get(call.id) if call.id else None
        waiting = self._by_name.get(call.name or "")
        if found is None and waiting:
            found = waiting.popleft()
        return None if found is None else jsonable(found.response or {})


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
