"""The metrics that go with a dataset: run as `agents-cli eval grade` runs them, they find what differs from the golden, as a verification does."""

from __future__ import annotations

import ast
import copy
import json
import re
import sys
from collections.abc import Callable
from fnmatch import fnmatchcase
from typing import Any

import pytest
import yaml
from google.adk.evaluation.eval_case import EvalCase, IntermediateData, Invocation, SessionInput
from google.genai import types
from hypothesis import given
from hypothesis import strategies as st

from evalset import export_cases
from evalset.exporting.dataset_file import METRICS, metric_files
from evalset.recorded.recording import RecordedCase
from evalset.recorded.tolerances import Tolerance, as_recorded, tolerated
from simulator.base.json_values import same
from simulator.base.python_source import parsed
from tests.evalset.recorded.test_files import objects
from tests.evalset.recorded.test_tolerances import drawn, tolerance

Call = tuple[str, Any, Any]
"""A tool, its arguments and its response."""

Metric = Callable[[dict[str, Any]], dict[str, Any]]
CALLS: list[Call] = [
    ("find", {"id": "A-1"}, {"total": 10}),
    ("refund", {"id": "A-1", "amount": 10.0}, {"ok": True}),
]


def golden(
    eval_id: str,
    *turns: list[Call],
    state: dict[str, Any] | None = None,
    ends: dict[str, Any] | None = None,
) -> EvalCase:
    """Make a golden: for each turn its calls, as the tool, the arguments and the response."""
    conversation = []
    for number, calls in enumerate(turns):
        data = IntermediateData(
            tool_uses=[types.FunctionCall(name=name, args=asked) for name, asked, _ in calls],
            tool_responses=[types.FunctionResponse(name=name, response=given) for name, _, given in calls],
        )
        says, answers = (
            types.Content(role=role, parts=[types.Part(text=f"{role} {number}")])
            for role in ("user", "model")
        )
        conversation.append(
            Invocation(
                user_content=says, final_response=answers, intermediate_data=data, creation_timestamp=1.0
            )
        )
    begun = SessionInput(app_name="desk", user_id="u", state=state or {})
    return EvalCase(
        eval_id=eval_id,
        conversation=conversation,
        session_input=begun,
        final_session_state=ends or {},
        creation_timestamp=1.0,
    )


def metric(name: str) -> Metric:
    """Compile a metric as agents-cli does: from the text of its file, in a namespace of its own."""
    namespace: dict[str, Any] = {}
    exec(compile(metric_files()[f"{name}.py"], name, "exec"), namespace)  # noqa: S102 - as agents-cli does
    evaluate: Metric = namespace["evaluate"]
    return evaluate


TRAJECTORY, RESPONSES, STATE = map(metric, METRICS)


def traced(case: EvalCase, recorded: RecordedCase | None = None, *, turn: int = 0) -> dict[str, Any]:
    """Return a case of a golden as `eval grade` shows it, with the trace of a run that does what the golden says."""
    exported = export_cases([case], "dataset", environments={case.eval_id: recorded} if recorded else {})
    instance: dict[str, Any] = json.loads(exported.files[0].text)["eval_cases"][turn]
    turns = instance.setdefault("agent_data", {}).setdefault("turns", [])
    if not turns:
        turns.append({"turn_index": 0, "events": []})
    for call in instance["golden_trace"]["judged"]["calls"]:
        name = call["tool"]
        asked = {"function_call": {"name": name, "args": call["arguments"], "id": f"{name}-1"}}
        answered = {"function_response": {"name": name, "response": call["response"], "id": f"{name}-1"}}
        turns[-1]["events"] += [
            {"author": "desk", "content": {"role": "model", "parts": [asked]}},
            {"author": "desk", "content": {"role": "user", "parts": [answered]}},
        ]
    turns[-1]["events"].append({"author": "desk", "content": {"role": "model", "parts": [{"text": "Done."}]}})
    return copy.deepcopy(instance)


def judged(judge: Metric, instance: dict[str, Any]) -> tuple[float, str]:
    """Return the score, and the counts at the end of the explanation."""
    found = judge(instance)
    return found["score"], found["explanation"][found["explanation"].index("(") :]


def events(instance: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the events of the last turn."""
    found: list[dict[str, Any]] = instance["agent_data"]["turns"][-1]["events"]
    return found


def test_they_need_the_standard_library_alone() -> None:
    """Each file can be read anywhere, and the configuration names each of them."""
    files = metric_files()
    for name in METRICS:
        tree = parsed(files[f"{name}.py"])
        imported = {
            node.module if isinstance(node, ast.ImportFrom) else node.names[0].name
            for node in ast.walk(tree)
            if isinstance(node, (ast.Import, ast.ImportFrom))
        }
        assert {str(each).partition(".")[0] for each in imported} <= sys.stdlib_module_names
    config = yaml.safe_load(files["eval_config.yaml"])
    assert tuple(config["metrics_to_run"]) == METRICS
    assert {each["custom_function_file"] for each in config["custom_metrics"]} == files.keys() - {
        "eval_config.yaml"
    }


def test_a_run_as_the_golden_says_scores_one() -> None:
    """All three, also for a turn without calls; what ADK itself asks is no call."""
    case = golden("one", CALLS, state={"tier": "gold"}, ends={"tier": "gold", "refunded": 10})
    instance = traced(case)
    events(instance)[3]["state_delta"] = {"refunded": 10, "temp:seen": 1}
    asked = {"function_call": {"name": "adk_request_confirmation", "args": {}, "id": "c"}}
    events(instance).insert(2, {"author": "desk", "content": {"role": "model", "parts": [asked]}})
    assert judged(TRAJECTORY, instance) == (1.0, "(tool calls: 2)")
    assert RESPONSES(instance)["score"] == 1.0
    assert judged(STATE, instance) == (1.0, "(state values: 2)")
    quiet = traced(golden("quiet", []))
    assert judged(TRAJECTORY, quiet) == (1.0, "(tool calls: 0)")
    assert judged(RESPONSES, quiet) == (1.0, "(tool responses: 0)")
    assert STATE(quiet)["score"] is None


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda found: found[0]["content"]["parts"][0]["function_call"].update(args={"id": "B"}), 'call 1 *find({"id": "B"}) *find({"id": "A-1"})'),
        (lambda found: found.__delitem__(slice(2, 4)), 'call 2, refund({"id": "A-1", "amount": 10.0}), *'),
        (lambda found: found.extend(copy.deepcopy(found[:1])), 'call 3, find({"id": "A-1"}), *'),
        (lambda found: found.__setitem__(slice(0, 4), [*found[2:4], *found[:2]]), 'call 1 *refund({"id": "A-1", "amount": 10.0}) *find({"id": "A-1"})'),
    ],
    ids=["argument", "missing", "more", "order"],
)  # fmt: skip
def test_another_call_scores_nothing(change: Callable[[Any], None], words: str) -> None:
    """And the first that differs is named."""
    instance = traced(golden("one", CALLS))
    change(events(instance))
    found = TRAJECTORY(instance)
    assert found["score"] == 0.0
    assert fnmatchcase(found["explanation"], words), found


def test_another_response_scores_nothing() -> None:
    """One that differs, and one that is missing; a call of the same tool without one is no match."""
    instance = traced(golden("one", CALLS))
    events(instance)[1]["content"]["parts"][0]["function_response"]["response"] = {"total": 11}
    found = RESPONSES(instance)
    assert found["score"] == 0.0
    assert re.search('find .*{"total": 11} .*{"total": 10}', found["explanation"])
    assert TRAJECTORY(instance)["score"] == 1.0
    del events(instance)[1]
    assert RESPONSES(instance)["score"] == 0.0


def test_another_state_scores_nothing() -> None:
    """A value that differs, one that is missing, and one that the golden does not have."""
    case = golden("one", CALLS, state={"tier": "gold"}, ends={"tier": "gold", "refunded": 10})
    instance = traced(case)
    for change, words in (
        ({}, "refunded .*10$"),
        ({"refunded": 10, "more": 1}, "more .*1 "),
        ({"refunded": 10, "tier": "tin"}, 'tier .*"tin" .*"gold"$'),
    ):
        events(instance)[3]["state_delta"] = change
        found = STATE(instance)
        assert found["score"] == 0.0
        assert re.match(words, found["explanation"])


def test_of_several_turns_each_is_judged_by_itself() -> None:
    """Calls of the history do not count; the last has the final state, of which it sees what it changed."""
    case = golden("two", CALLS[:1], CALLS[1:], ends={"refunded": 10, "found": "A-1"})
    first, last = traced(case, turn=0), traced(case, turn=1)
    assert judged(TRAJECTORY, first) == judged(TRAJECTORY, last) == (1.0, "(tool calls: 1)")
    assert STATE(first)["score"] is None
    events(last)[-1]["state_delta"] = {"refunded": 10}
    score, counts = judged(STATE, last)
    assert (score, re.findall(r"\d", counts)) == (1.0, ["1", "1"])
    events(last)[-1]["state_delta"] = {"refunded": 11}
    assert STATE(last)["score"] == 0.0


def test_a_case_without_a_golden_is_not_judged() -> None:
    """It is an error that says what is missing, and no score."""
    for judge in (TRAJECTORY, RESPONSES, STATE):
        with pytest.raises(ValueError, match="golden_trace"):
            judge({"prompt": {"role": "user", "parts": [{"text": "Hi"}]}})


@pytest.mark.long
@given(objects, objects, drawn)
def test_tolerances_mean_the_same_here_as_in_a_verification(
    recorded: dict[str, Any], made: dict[str, Any], tolerances: list[Tolerance]
) -> None:
    """Arguments, responses and states, by any tolerances."""
    made = {**recorded, **made}
    of_all = [each.model_copy(update={"of": of}) for each in tolerances for of in ("arguments", "response", "state")]  # fmt: skip
    case = golden("one", [("find", recorded, recorded)], ends=recorded)
    instance = traced(case, RecordedCase(agent="desk", app_name="desk", turns=(), tolerances=tuple(of_all)))
    events(instance)[0]["content"]["parts"][0]["function_call"]["args"] = made
    events(instance)[1]["content"]["parts"][0]["function_response"]["response"] = made
    events(instance)[1]["state_delta"] = made
    assert (TRAJECTORY(instance)["score"] == 1.0) is tolerated("find", recorded, made, of_all)
    masked = as_recorded("response", recorded, made, of_all, "find")
    assert (RESPONSES(instance)["score"] == 1.0) is same(masked, recorded)
    if recorded:
        masked = as_recorded("state", recorded, made, of_all)
        assert (STATE(instance)["score"] == 1.0) is same(masked, recorded)


@given(st.lists(st.integers(0, 3), max_size=4), st.lists(st.integers(0, 3), max_size=4))
def test_items_in_any_order_may_have_tolerances_of_their_own(recorded: list[int], made: list[int]) -> None:
    """They are paired so that all fit, if they can be."""
    near = [tolerance("unordered", "x"), tolerance("range", "x[*]", distance=1)]
    case = golden("one", [("find", {"x": recorded}, {})])
    instance = traced(case, RecordedCase(agent="desk", app_name="desk", turns=(), tolerances=tuple(near)))
    events(instance)[0]["content"]["parts"][0]["function_call"]["args"] = {"x": made}
    wanted = tolerated("find", {"x": [*recorded]}, {"x": [*made]}, near)
    assert (TRAJECTORY(instance)["score"] == 1.0) is wanted
