"""Writes cases as an evaluation dataset of Agent Platform, which `agents-cli eval generate` runs: a case for each turn of a golden.

The agents' instructions and tool declarations come along where they are loaded. What `agents-cli eval grade` holds a trace against stands in the dataset
too, and the metrics that read it are written beside it.
"""

from __future__ import annotations

import inspect
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from google.adk.agents import LlmAgent
from google.adk.evaluation.eval_case import (
    EvalCase,
    Invocation,
    InvocationEvents,
    get_all_tool_calls,
    get_all_tool_responses,
)
from google.adk.evaluation.eval_rubrics import Rubric
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.function_tool import FunctionTool
from google.genai import types

from evalset.exporting import golden_metrics
from evalset.files.case_text import case_object
from evalset.files.datasets import OWN, OWN_VERSION, digests, group_and_id, turn_id
from evalset.files.set_outline import Style
from evalset.golden_trace.golden_steps import without_confirmations
from evalset.golden_trace.steps import paired
from evalset.recorded.recorded_turns import answers_given, data_text, ended_data, final_parts, said_steps
from evalset.recorded.recording import CaseNote, RecordedCase, RecordedTurn, end_state
from evalset.recorded.recording_files import NO_NOTES
from evalset.recorded.tolerances import Tolerance
from simulator.base import json_paths
from simulator.base.json_values import JsonObject, copied, same
from simulator.runtime.adk.adk_private import all_below, is_steering
from simulator.runtime.adk.codec import jsonable
from simulator.runtime.turns.waiting_request import describe_tool
from simulator.session.adk_event_fields import USER_AUTHOR


class AgentCards(NamedTuple):
    """The agents of a tree by their names, and in sentences what is not said of them."""

    agents: dict[str, dict[str, Any]]
    losses: tuple[str, ...] = ()


def agent_cards(root: Any) -> AgentCards:
    """Describe an agent that is loaded, and all that it reaches.

    Args:
        root: The root agent or workflow.
    """
    found: dict[str, dict[str, Any]] = {}
    losses: list[str] = []
    for node in all_below(root):
        name = str(getattr(node, "name", ""))
        if isinstance(node, LlmAgent) and name not in found:
            found[name] = _card(node, losses)
    return AgentCards(found, tuple(losses))


def _card(agent: LlmAgent, losses: list[str]) -> dict[str, Any]:
    card: dict[str, Any] = {"agent_id": agent.name, "agent_type": "LlmAgent"}
    if agent.description:
        card["description"] = agent.description
    instruction = getattr(agent, "instruction", "")
    if isinstance(instruction, str):
        card |= {"instruction": instruction} if instruction else {}
    else:
        losses.append(f"the instruction of the agent {agent.name!r} is made by code and is left out")
    tools = [declared for tool in agent.tools if (declared := _declared(tool, agent, losses))]
    if tools:
        card["tools"] = [{"function_declarations": tools}]
    below = [str(child.name) for child in agent.sub_agents]
    return card | ({"sub_agents": below} if below else {})


def _declared(tool: Any, agent: LlmAgent, losses: list[str]) -> dict[str, Any] | None:
    as_tool = tool if isinstance(tool, BaseTool) else FunctionTool(tool) if callable(tool) else None
    if as_tool is None:
        losses.append(
            f"the tools of {type(tool).__name__} of the agent {agent.name!r} are only known when it runs"
        )
        return None
    if is_steering(as_tool):
        return None
    try:
        declared = describe_tool(as_tool)
    except Exception as error:  # noqa: BLE001 - a declaration is made by somebody's code
        losses.append(f"the tool {as_tool.name!r} of the agent {agent.name!r} cannot be described: {error}")
        return None
    return {
        "name": declared.name,
        "description": declared.description,
        "parameters_json_schema": jsonable(declared.parameters),
    }


METRICS = ("golden_trajectory", "golden_tool_responses", "golden_final_state")
"""The metrics, as `agents-cli eval grade` names them; each is a function of `golden_metrics`, without `golden_`."""

CONFIG = "eval_config.yaml"
_CONFIG_HEAD = """\
# Compares traces with the goldens of the datasets in this folder. Needs no model and no key.
# Run: agents-cli eval grade --config <this file>
"""


def judged_turn(case: EvalCase, recorded: RecordedCase | None, number: int) -> dict[str, Any]:
    """Return what is right in one turn of a golden, for `evalset.exporting.golden_metrics`; of the last turn with the final state.

    Args:
        case: The golden.
        recorded: What is recorded of it.
        number: The turn, from 0.
    """
    turns = without_confirmations(case).conversation or []
    judged: dict[str, Any] = {"calls": _judged_calls(turns[number])}
    ended = end_state(case.final_session_state, recorded)
    if number == len(turns) - 1 and ended:
        judged |= {"final_state": dict(ended), "is_whole": number == 0}
        if number == 0:
            judged["initial_state"] = dict(case.session_input.state) if case.session_input else {}
        else:
            judged["changed"] = _changed(recorded, number)
    if recorded is not None and recorded.tolerances:
        judged["tolerances"] = [_tolerance(each) for each in recorded.tolerances]
    return judged


def _judged_calls(turn: Invocation) -> list[dict[str, Any]]:
    whole = with_ids(turn)
    answers = {each.id: each for each in get_all_tool_responses(whole.intermediate_data) if each.id}
    calls: list[dict[str, Any]] = []
    for call in get_all_tool_calls(whole.intermediate_data):
        written: dict[str, Any] = {"tool": call.name, "arguments": call.args or {}}
        answer = answers.get(call.id or "")
        calls.append(written if answer is None else written | {"response": answer.response or {}})
    return calls


def _changed(recorded: RecordedCase | None, number: int) -> list[str]:
    turns = recorded.turns if recorded else ()
    calls = turns[number].calls if number < len(turns) else ()
    names = {name for call in calls for name in call.effects.state_delta}
    return sorted(name for name in names if not name.startswith("temp:"))


def _tolerance(tolerance: Tolerance) -> JsonObject:
    """Return a tolerance in JSON, with the steps of its path as names, numbers, and `{"any": "item"}` or `{"any": "field"}`."""
    steps: list[Any] = [
        step if isinstance(step, (str, int)) else {"any": "item" if step.kind == "[*]" else "field"}
        for step in json_paths.parse(tolerance.path).steps
    ]
    told = tolerance.model_dump(mode="json", exclude={"path"}, exclude_none=True)
    return {**told, "steps": steps}


def with_ids(turn: Invocation) -> Invocation:
    """Return a turn in which every call has an id, and its response the same one."""
    copy = turn.model_copy(deep=True)
    waiting: list[types.FunctionCall] = []
    for number, call in enumerate(get_all_tool_calls(copy.intermediate_data), start=1):
        if not call.id:
            call.id = f"call_{number}"
            waiting.append(call)
    for response in get_all_tool_responses(copy.intermediate_data):
        asked = next((call for call in waiting if call.name == response.name), None)
        if not response.id and asked is not None:
            response.id = asked.id
            waiting.remove(asked)
    return copy


def metric_files() -> dict[str, str]:
    """Return the texts of the metrics and of the configuration that names them, by the names of their files."""
    source = _alone()
    files = {f"{name}.py": f"{source}\n\nevaluate = {name.removeprefix('golden_')}\n" for name in METRICS}
    lines = [f"  - name: {name}\n    custom_function_file: {name}.py\n" for name in METRICS]
    run = "".join(f"  - {name}\n" for name in METRICS)
    files[CONFIG] = f"{_CONFIG_HEAD}metrics_to_run:\n{run}custom_metrics:\n{''.join(lines)}"
    return files


def _alone() -> str:
    """Return the source of the metrics with what they import from here written into it."""
    lines = inspect.getsource(golden_metrics).splitlines(keepends=True)
    own = "".join(line for line in lines if not line.startswith(("from evalset.", "from simulator.")))
    return "\n\n".join([own, inspect.getsource(paired), inspect.getsource(same)])


_AGENT = "agent"
_NO_AGENT = "the agent is not loaded, so its instructions and tool declarations are left out; `agents-cli eval generate` adds them to the traces"
_REFUSED = "the server of google-adk 2.13 refuses an initial state, so `agents-cli eval generate` cannot run the case there"
_RESTORED = "the initial state is left out, as the server of google-adk 2.13 refuses it. A replay with the recorded environment, and an import, restore it"
_STYLE = Style()
Written: TypeAlias = dict[str, Any]
"""A value of the dataset: JSON, but for bytes, which are written as base64."""


class DatasetFile(NamedTuple):
    """A dataset as text, and in sentences what it has no words for."""

    text: str
    losses: tuple[str, ...]


def dataset_file(
    cases: Iterable[EvalCase],
    environments: Mapping[str, RecordedCase],
    agents: AgentCards | None,
    notes: Mapping[str, CaseNote] = NO_NOTES,
) -> DatasetFile:
    """Write cases as a dataset.

    A golden of several turns becomes a case for each turn, whose history are the turns before it. What the dataset has no words for,
    as the tool calls that are expected, stands in a field of our own, from which an import restores the golden.

    Args:
        cases: The cases.
        environments: What is recorded of them, by their ids: which agent said what.
        agents: The agents, where they are loaded.
        notes: What is noted of the cases, by their ids: each turn of one gets its context.

    Raises:
        ValueError: A case holds a number that JSON cannot represent.
    """
    losses: dict[str, list[str]] = {}
    written: list[Written] = []
    for case in cases:
        recorded = environments.get(case.eval_id)
        context = notes[case.eval_id].context if case.eval_id in notes else None
        more: Written = {} if context is None else {"context": context}
        made = _Writer(case, recorded, agents.agents if agents else {}).cases()
        written += [_finished({**each, **more}) for each in made]
        for loss in _losses(case, recorded):
            losses.setdefault(loss, []).append(case.eval_id)
    ids = [str(each["eval_case_id"]) for each in written]
    for name in sorted(name for name, number in Counter(ids).items() if number > 1):
        losses.setdefault("several cases of the dataset have this id; rename one of the goldens", []).append(
            name
        )
    text = json.dumps({"eval_cases": written}, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    told = [f"{loss} ({_named(ids)})" for loss, ids in losses.items()]
    return DatasetFile(text, (*told, *(agents.losses if agents else (_NO_AGENT,))))


def _named(ids: Sequence[str]) -> str:
    return f"{len(ids)} cases, the first is {ids[0]!r}" if len(ids) > 1 else repr(ids[0])


def _losses(case: EvalCase, recorded: RecordedCase | None) -> Iterator[str]:
    turns = case.conversation or ()
    if case.session_input and case.session_input.state:
        yield _RESTORED if _restores(recorded, case) else _REFUSED
    turns_of = recorded.turns if recorded else ()
    if any(turn.state_delta for turn in turns_of) or any(
        call.effects.state_delta for turn in turns_of[:-1] for call in turn.calls
    ):
        yield "the history has no state changes, as the server of google-adk 2.13 refuses them. A replay with the recorded environment restores those of users and tools"
    if case.conversation_scenario is not None:
        yield "`agents-cli eval generate` sends only the starting prompt of a scenario"
        if case.conversation_scenario.user_persona is not None:
            yield "a dataset has no user persona; it is kept for an import"
    if len(turns) > 1 and (case.rubrics or any(turn.rubrics for turn in turns)):
        yield "Agent Platform grades the rubrics of single-turn cases only"
    if not turns and case.conversation_scenario is None:
        yield "a case without turns is left out"
    if any(turn.final_response is None for turn in turns):
        yield "a turn without a final response has no reference"


def _restores(recorded: RecordedCase | None, case: EvalCase) -> bool:
    """Return whether a recording begins with the state of a case."""
    given: Any = case.session_input.state if case.session_input else {}
    return recorded is not None and same(recorded.state, jsonable(dict(given)))


def _finished(case: Written) -> Written:
    """Return a case in plain JSON, with the digests of its parts."""
    plain: Written = json.loads(_STYLE.write(case))
    own: Any = plain[OWN]
    own["digests"] = digests(plain)
    return plain


class _Writer:
    """Writes the cases of one golden."""

    def __init__(self, case: EvalCase, recorded: RecordedCase | None, agents: Mapping[str, Written]) -> None:
        self._case, self._recorded, self._agents = case, recorded, agents
        self._root = recorded.agent if recorded else next(iter(agents), _AGENT)
        state = dict(case.session_input.state) if case.session_input else {}
        is_told = bool(state) and not _restores(recorded, case)
        self._seeds: list[Written] = [{"author": USER_AUTHOR, "state_delta": state}] if is_told else []

    def cases(self) -> Iterator[Written]:
        if self._case.conversation_scenario is not None:
            yield self._scenario()
            return
        turns = self._case.conversation or []
        shown = without_confirmations(self._case).conversation or []
        history: list[Written] = []
        for number, turn in enumerate(turns):
            asked = _content(turn.user_content, "user")
            yield {
                "eval_case_id": self._case.eval_id
                if len(turns) == 1
                else turn_id(self._case.eval_id, number),
                **self._asked(asked, number, history),
                **self._judged(turn, is_last=number == len(turns) - 1),
                OWN: self._own(turn, number, len(turns)),
            }
            recorded = self._turn(number)
            said = list(_events(with_ids(shown[number]), recorded, self._root))
            history.append(_turn(number, [*self._seeds_of(number), *said]))

    def _scenario(self) -> Written:
        scenario = self._case.conversation_scenario
        assert scenario is not None  # noqa: S101 - the caller has looked
        prompt: Written = {"role": "user", "parts": [{"text": scenario.starting_prompt}]}
        rubrics = _rubric_groups({"case": self._case.rubrics or ()})
        return {
            "eval_case_id": self._case.eval_id,
            **self._asked(prompt, 0, []),
            **rubrics,
            "user_scenario": {
                "starting_prompt": scenario.starting_prompt,
                "conversation_plan": scenario.conversation_plan,
            },
            OWN: {"version": OWN_VERSION, "eval_id": self._case.eval_id, "case": case_object(self._case)},
        }

    def _asked(self, content: Written, number: int, history: Sequence[Written]) -> Written:
        """Return what the user says: a prompt where nothing comes before it, else the last event of the turns."""
        seeds = self._seeds_of(number)
        if not history and not seeds:
            return {"prompt": content}
        agents = {"agents": copied(dict(self._agents))} if self._agents else {}
        last = _turn(number, [*seeds, {"author": USER_AUTHOR, "content": content}])
        return {"agent_data": {**agents, "turns": [*history, last]}}

    def _seeds_of(self, number: int) -> list[Written]:
        return self._seeds if number == 0 else []

    def _judged(self, turn: Invocation, *, is_last: bool) -> Written:
        groups = {"turn": turn.rubrics or (), "case": (self._case.rubrics if is_last else None) or ()}
        final = turn.final_response
        reference = {"reference": {"response": _content(final, "model")}} if final is not None else {}
        return {**reference, **_rubric_groups(groups)}

    def _own(self, turn: Invocation, number: int, count: int) -> Written:
        frame = case_object(self._case)
        frame.pop("conversation", None)
        own: Written = {
            "version": OWN_VERSION,
            "eval_id": self._case.eval_id,
            "turn": number,
            "turns": count,
            "invocation": turn.model_dump(exclude_none=True),
            "judged": judged_turn(self._case, self._recorded, number),
        }
        return own | ({"case": frame} if number == 0 else {})

    def _turn(self, number: int) -> RecordedTurn | None:
        turns = self._recorded.turns if self._recorded else ()
        return turns[number] if number < len(turns) else None


def _turn(number: int, events: Sequence[Written]) -> Written:
    return {"turn_index": number, "turn_id": f"turn_{number}", "events": list(events)}


def _content(content: types.Content, role: str) -> Written:
    written = content.model_dump(exclude_none=True)
    return {**written, "role": role, "parts": written.get("parts") or []}


def _rubric_groups(groups: Mapping[str, Iterable[Rubric]]) -> Written:
    written: dict[str, list[Written]] = {}
    for name, rubrics in groups.items():
        for rubric in rubrics:
            group, rubric_id = group_and_id(rubric.rubric_id)
            written.setdefault(group or name, []).append(_rubric(rubric, rubric_id))
    return {"rubric_groups": {name: {"rubrics": held} for name, held in written.items()}} if written else {}


def _rubric(rubric: Rubric, rubric_id: str) -> Written:
    described = {"description": rubric.rubric_content.text_property or ""}
    kind = {"type": rubric.type} if rubric.type else {}
    return {"rubric_id": rubric_id, "content": {"property": described}, **kind}


def _events(turn: Invocation, recorded: RecordedTurn | None, root: str) -> Iterator[Written]:
    """Yield what was said in a turn, and what tools answered.

    What tools did to the state is left out: google-adk 2.13's server makes no session of events that change it.
    """
    yield {"author": USER_AUTHOR, "content": _content(turn.user_content, "user")}
    data = turn.intermediate_data
    if isinstance(data, InvocationEvents):
        for event in data.invocation_events:
            if event.content is not None and event.content.parts:
                yield _event(event.author, event.content.parts)
        if final_parts(turn):
            speaker = next((event.author for event in reversed(data.invocation_events)), root)
            yield _event(speaker, final_parts(turn))
        return
    answers = {each.id: each for each in get_all_tool_responses(data) if each.id}
    for said in said_steps(turn, recorded, root):
        calls = [part.function_call for part in said.parts if part.function_call]
        if parts := said.parts if calls else final_parts(turn):
            yield _event(said.agent, parts)
        given = list(answers_given(calls, answers, {call.id or "": call.id or "" for call in calls}))
        if given:
            yield _event(said.agent, given)
        if (ended := ended_data(calls, answers)) is not None:
            yield _event(said.agent, [types.Part(text=data_text(ended, turn))])


def _event(author: str, parts: Sequence[types.Part]) -> Written:
    is_answer = any(part.function_response for part in parts)
    return {
        "author": author,
        "content": _content(types.Content(parts=list(parts)), "user" if is_answer else "model"),
    }
