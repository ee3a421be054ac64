"""Reads what a recorded turn holds. Pure.

Which of its calls a model made and which a graph, what the user was asked for, what no source told, its steps; and what its agents said at once,
which a case that lists calls does not tell.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, NamedTuple

from google.adk.evaluation.eval_case import Invocation, get_all_tool_calls, get_all_tool_responses
from google.adk.models.llm_response import LlmResponse
from google.genai import types

from evalset.golden_trace.steps import Step
from evalset.recorded.golden_digests import value_digest
from evalset.recorded.recording import (
    Author,
    RecordedCall,
    RecordedCase,
    RecordedInput,
    RecordedTurn,
    observed,
)
from simulator.base.json_values import JsonObject, canonical, copied, same
from simulator.environment.recordings import ObservedCall
from simulator.environment.world.tool_settings import steers
from simulator.runtime.turns.outcomes import as_response, as_tools_give
from simulator.session.adk_event_fields import calls_in, content_text, message_responses, parts_of
from simulator.session.model import INTERRUPT_ID, REQUEST_INPUT

_UNKNOWN = "unknown"
"""Whom ADK names as the agent of a call that a graph makes."""

_BESIDE_AGENTS = "model"
"""Who asked a model that no agent asked: the one that sums events up."""


def real_calls(eval_id: str, case: RecordedCase) -> Iterator[tuple[Author, ObservedCall]]:
    """Yield the calls of a case that were answered, each with who authored the answer: that of the tool, where a rule told the agent something else."""
    for number, turn in enumerate(case.turns, start=1):
        for place, call in enumerate(turn.calls, start=1):
            if call.outcome.kind in {"returned", "failed"}:
                where = f"case {eval_id!r}, turn {number}, call {place}"
                response = as_response(call.beneath or call.outcome)
                yield call.author, observed(call, response, where, is_partial=case.is_partial)


def is_of_graph(call: RecordedCall, turn: RecordedTurn) -> bool:
    """Return whether a tool that stands in a graph was called: by no model, and under an id of its own."""
    if not call.id or call.within or call.agent != _UNKNOWN:
        return False
    return all(call.id != made.get("id") for model in turn.models for made in calls_in(model.responses))


def agents_that_ran(recorded: RecordedCase, tools: AbstractSet[str] | None = None) -> frozenset[str]:
    """Return the agents whose models took turns; where `tools` is given, of those inside of agents that are tools only those inside of these."""
    models = (model for turn in recorded.turns for model in turn.models)
    ran = {model.agent for model in models if tools is None or tools >= {*model.within}}
    return frozenset(ran - {"", _BESIDE_AGENTS})


def signed_agents(recorded: RecordedCase) -> frozenset[str]:
    """Return the agents in whose recorded turns is the signature of a model's thought."""
    models = (model for turn in recorded.turns for model in turn.models)
    return frozenset(
        model.agent
        for model in models
        for response in model.responses
        for part in parts_of(response.get("content"))
        if {"thought_signature", "thoughtSignature"} & part.keys()
    ) - {"", _BESIDE_AGENTS}


def agents_as_tools(recorded: RecordedCase) -> frozenset[str]:
    """Return the tools that are agents, and ran."""
    runs = (run.tool for turn in recorded.turns for run in turn.agents)
    places = (
        each.within
        for turn in recorded.turns
        for asked in (turn.calls, turn.rejected, turn.models, turn.code)
        for each in asked
    )
    return frozenset((*runs, *(name for within in places for name in within)))


def asking_tool(recorded: RecordedCase) -> frozenset[str]:
    """Return the name of ADK's tool by which a model asked the user; nothing where none did."""
    calls = calls_in(each for turn in recorded.turns for model in turn.models for each in model.responses)
    return frozenset(call["name"] for call in calls if call.get("name") == REQUEST_INPUT)


def written_turns(recorded: RecordedCase) -> frozenset[int]:
    """Return the numbers of the turns, from 0, in which a person or a script wrote or edited what a model would say."""
    return frozenset(
        number
        for number, turn in enumerate(recorded.turns)
        if any(model.author.source in {"written", "edited"} for model in turn.models)
    )


def needs_no_model(recorded: RecordedCase) -> bool:
    """Return whether a case replays without its models: their turns are recorded, or it was played and only nodes of a graph made calls."""
    if any(turn.models for turn in recorded.turns):
        return True
    return bool(recorded.seed) and all(
        is_of_graph(call, turn) for turn in recorded.turns for call in turn.calls
    )


def only_asked(calls: Sequence[RecordedCall], place: int) -> bool:
    """Recognise a call whose tool itself asked for a confirmation, and ran again when that was given: the answer of then counts."""
    call = calls[place]
    return call.confirmed is not None and any(each.id == call.id != "" for each in calls[place + 1 :])


def question_of(arguments: Mapping[str, Any]) -> JsonObject:
    """Return what a question asks: its arguments without its id, and without those that are not given."""
    return {
        name: copied(value) for name, value in arguments.items() if name != INTERRUPT_ID and value is not None
    }


def inputs_of(turn: RecordedTurn) -> Sequence[RecordedInput]:
    """Return a turn's inputs; those of a file of versions 1 to 3 from the user's replies, without the questions."""
    if turn.inputs:
        return turn.inputs
    return [
        RecordedInput(id=str(said.get("id") or ""), response=copied(said.get("response") or {}))
        for message in turn.replies
        for said in message_responses(message)
        if said.get("name") == REQUEST_INPUT
    ]


def inputs_text(recorded: RecordedCase) -> str:
    """Return all that was answered in a case, as one text: what the user, the models and the tools said, and the first state."""
    return "\n".join(_inputs(recorded))


def _inputs(recorded: RecordedCase) -> Iterator[str]:
    yield canonical(recorded.state)
    for turn in recorded.turns:
        yield canonical([turn.query, *turn.replies])
        for call in turn.calls:
            yield call.outcome.model_dump_json()
            yield canonical([call.later, call.confirmed])
            yield call.effects.model_dump_json()
        for model in turn.models:
            yield canonical(list(model.responses))


def untold_calls(turn: RecordedTurn) -> tuple[Step, ...]:
    """Return the calls of a turn's models whose response its source does not tell: no tool has one there, and the golden had none."""
    answered = {each.id for each in turn.calls} | {each.id for each in turn.rejected}
    answered |= {each.id for each in turn.agents} | {each.id for each in inputs_of(turn)}
    calls = calls_in(response for model in turn.models if not model.within for response in model.responses)
    left = [
        Step(kind="call", tool=call["name"], value=call.get("args") or {})
        for call in calls
        if call.get("id") not in answered and not steers(call.get("name"))
    ]
    if turn.golden is None:
        return tuple(left) if turn.is_cut else ()
    without = {(call.tool, call.arguments) for call in turn.golden.calls if not call.response}
    return tuple(call for call in left if (call.tool, value_digest(call.value)) in without)


def untold_words(recorded: RecordedCase) -> tuple[str, ...]:
    """Name the responses that the source of a case does not tell, each once: `the response of check in turn 1`."""
    found = (
        f"the response of {call.tool} in turn {number}"
        for number, turn in enumerate(recorded.turns, start=1)
        for call in untold_calls(turn)
    )
    return tuple(dict.fromkeys(found))


def recorded_steps(turn: RecordedTurn) -> tuple[Step, ...]:
    """Return what was recorded of a turn as steps, as far as a golden says it too: the text is missing where no model was recorded."""
    made: list[Step] = []
    for place, call in enumerate(turn.calls):
        if call.within or is_of_graph(call, turn) or only_asked(turn.calls, place):
            continue
        made.append(Step(kind="call", tool=call.tool, value=call.arguments))
        if (response := seen_response(call)) is not None:
            made.append(Step(kind="response", tool=call.tool, value=response))
    rejected = (
        Step(kind="call", tool=call.tool, value=call.arguments) for call in turn.rejected if not call.within
    )
    text = _last_text(turn)
    said = [] if text is None else [Step(kind="text", text=text)]
    return (Step(kind="query", text=content_text(turn.query)), *made, *rejected, *said)


def recorded_questions(turn: RecordedTurn) -> tuple[JsonObject, ...]:
    """Return what the user was asked for in a turn, as `question_of` gives it."""
    return tuple(each.arguments for each in inputs_of(turn) if each.arguments is not None)


def seen_response(call: RecordedCall) -> JsonObject | None:
    """Return a tool's answer as ADK writes it into a response; None for an exception, which callbacks may have answered."""
    if call.later is None and call.outcome.kind in {"raised", "deferred"}:
        return None
    given = as_tools_give(call.outcome) if call.later is None else call.later
    return copied(given) if isinstance(given, dict) else {"result": copied(given)}


def _last_text(turn: RecordedTurn) -> str | None:
    """Return what the last model of a turn said, where that was text."""
    said = [model for model in turn.models if not model.within and model.responses]
    if not said:
        return None
    content = said[-1].responses[-1].get("content")
    parts = parts_of(content)
    if not parts or not all(isinstance(part.get("text"), str) for part in parts):
        return None
    return "\n".join(part["text"] for part in parts if not part.get("thought"))


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
