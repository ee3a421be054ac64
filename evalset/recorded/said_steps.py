"""Lays a turn of a golden out as what its agents said at once, as their recorded models did where these made its calls."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from google.adk.evaluation.eval_case import Invocation, get_all_tool_calls, get_all_tool_responses
from google.adk.models.llm_response import LlmResponse
from google.genai import types

from evalset.recorded.recording import RecordedTurn
from simulator.base.json_values import JsonObject, copied, same

_ENDS_WITH_DATA = "set_model_response"
_NOT_COMPARED = {
    "content", "model_version", "finish_reason", "usage_metadata", "avg_logprobs", "cache_metadata", "logprobs_result",
    "citation_metadata", "interaction_id", "turn_complete",
}  # fmt: skip
"""What `adk test` leaves out of a model's response, and the content, which is written by itself."""


class SaidAtOnce(NamedTuple):
    """What an agent said at once; `path` is where, if that is known, and `response` what else its model said of it."""

    agent: str
    parts: Sequence[types.Part]
    path: str = ""
    response: JsonObject | None = None


def said_steps(turn: Invocation, recorded: RecordedTurn | None, root: str) -> Iterator[SaidAtOnce]:
    """Yield what was said: as the models of the agents are recorded, where these made the calls of the case; else as the case lists it."""
    said = [each._replace(agent=each.agent or root) for each in _recorded_steps(recorded)] if recorded else []
    wanted = [(call.name, call.args or {}) for call in get_all_tool_calls(turn.intermediate_data)]
    made = [part.function_call for each in said for part in each.parts if part.function_call]
    if len(made) == len(wanted) and all(
        call.name == name and same(call.args or {}, args)
        for call, (name, args) in zip(made, wanted, strict=True)
    ):
        yield from said or [SaidAtOnce(root, final_parts(turn))]
        return
    listed = get_all_tool_calls(turn.intermediate_data)
    for call in listed:
        yield SaidAtOnce(root, [types.Part(function_call=call)])
    answers = {each.id: each for each in get_all_tool_responses(turn.intermediate_data) if each.id}
    if ended_data(listed[-1:], answers) is None:
        yield SaidAtOnce(root, final_parts(turn))


def answers_given(
    calls: Sequence[types.FunctionCall],
    answers: Mapping[str, types.FunctionResponse],
    numbers: Mapping[str, str],
) -> Iterator[types.Part]:
    """Yield what was answered to calls, under their numbers."""
    for call in calls:
        if (answer := answers.get(call.id or "")) is not None:
            said = types.FunctionResponse(id=numbers[call.id or ""], name=call.name, response=answer.response)
            yield types.Part(function_response=said)


def ended_data(calls: Sequence[types.FunctionCall], answers: Mapping[str, types.FunctionResponse]) -> Any:
    """Return the data with which an agent that has an output schema ends; None where it does not end, or has to try again.

    ADK answers such a call with the data, and wraps what is no object. Which names its arguments have tells the two apart.
    """
    for call in calls:
        given = answers[call.id or ""].response if call.id in answers else None
        if call.name != _ENDS_WITH_DATA or given is None:
            continue
        asked = call.args or {}
        if set(given) == {"error"} and "error" not in asked:
            return None
        return given["result"] if set(given) == {"result"} and "result" not in asked else given
    return None


def data_text(data: Any, turn: Invocation) -> str:
    """Write data as ADK says it at last: its fields in the order of the schema, which the final response shows."""
    for part in final_parts(turn):
        with contextlib.suppress(ValueError):
            if part.text and same(json.loads(part.text), data):
                return part.text
    return json.dumps(data, ensure_ascii=False)


def final_parts(turn: Invocation) -> Sequence[types.Part]:
    """Return the parts of a turn's final response."""
    return (turn.final_response.parts if turn.final_response else None) or ()


def _recorded_steps(recorded: RecordedTurn) -> Iterator[SaidAtOnce]:
    for model in recorded.models:
        for response in model.responses if not model.within and not model.put_off else ():
            content = types.Content.model_validate(response.get("content") or {})
            if content.parts and not response.get("partial"):
                yield SaidAtOnce(model.agent, content.parts, model.path, _beside_content(response))


def _beside_content(response: JsonObject) -> JsonObject:
    """Return what a model's response holds beside its content, as an event shows it, without what `adk test` does not compare."""
    written: JsonObject = LlmResponse.model_validate(copied(response)).model_dump(
        mode="json", by_alias=True, exclude_none=True, exclude=_NOT_COMPARED
    )
    return written
