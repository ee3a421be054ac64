"""Writes what the metrics of a dataset hold a trace against: the calls of one turn of a golden, its final state, and what may differ."""

from __future__ import annotations

import inspect
from typing import Any

from google.adk.evaluation.eval_case import EvalCase, Invocation, get_all_tool_calls, get_all_tool_responses
from google.genai import types

from evalset.exporting import golden_metrics
from evalset.golden_trace.confirmations import without_confirmations
from evalset.recorded.pairing import paired
from evalset.recorded.recording import RecordedCase, end_state
from evalset.recorded.tolerances import Tolerance
from simulator.base.json_values import JsonObject, same
from simulator.environment.expressions import json_paths

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
    judged: dict[str, Any] = {"calls": _calls(turns[number])}
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


def _calls(turn: Invocation) -> list[dict[str, Any]]:
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
