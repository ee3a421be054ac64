"""Files in each of the shapes that people bring are opened by all that reads eval data, or refused with the exact reason.

The shapes are those of the eval data that ADK's own repositories and samples have held since its first releases.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from google.adk.evaluation.agent_evaluator import AgentEvaluator
from google.adk.evaluation.eval_config import EvalConfig
from google.adk.evaluation.eval_set import EvalSet

from evalset import EvalSetError, EvalSetWriter, ScenarioError, read_cases
from evalset.doctor import examine, mend
from evalset.files.case_text import loaded
from evalset.files.set_outline import KnownFiles
from simulator.environment.recordings import read_recording
from tests.evalset.doctor.examples import Json
from tests.evalset.files.examples import a_case

_EMPTY_PART = dict.fromkeys(
    ["video_metadata", "thought", "code_execution_result", "executable_code", "file_data", "function_call",
     "function_response", "inline_data"]
)  # fmt: skip


def part(text: str | None) -> Json:
    """Make a part with each field spelled out, as ADK's first writers did."""
    return {**_EMPTY_PART, "text": text}


def said(text: str | None, role: str | None = "user") -> Json:
    """Make a message of such a part."""
    return {"parts": [part(text)], "role": role}


def use(name: str, **given: Any) -> Json:
    """Make a tool use in the old form."""
    return {"tool_name": name, "tool_input": given}


def query(*uses: Json, **more: Any) -> Json:
    """Make a turn in the old form."""
    return {"query": "Turn the lamp off.", "expected_tool_use": list(uses), "reference": "It is off.", **more}


def a_set(*cases: Json, **more: Any) -> Json:
    """Make an eval set as ADK 1.0 wrote them."""
    return {
        "eval_set_id": "b305bd06-38c5-4796-b9c7-d9c7454338b9", "name": "home", "description": None,
        "eval_cases": list(cases), "creation_timestamp": 1747337309.2360144, **more,
    }  # fmt: skip


def a_turn(**more: Any) -> Json:
    """Make a turn as ADK 1.0 wrote them."""
    return {
        "invocation_id": "a2d1d9a3", "user_content": said("Turn the lamp off."), "final_response": said("It is off.", "model"),
        "intermediate_data": {"tool_uses": [{"id": None, "args": {"device": "lamp"}, "name": "switch"}], "intermediate_responses": []},
        "creation_timestamp": 1747337309.2360387, **more,
    }  # fmt: skip


def a_short_turn(**more: Any) -> Json:
    """Make a turn as people write them by hand: no role, nothing that is not needed."""
    return {"user_content": {"parts": [{"text": "Set up sign-in for my app."}]}, **more}


def a_case_of(*turns: Json, **more: Any) -> Json:
    """Make a case of turns."""
    return {"eval_id": "case_0", "conversation": list(turns), **more}


_SESSION = {"app_name": "Home_Agent", "user_id": "eval_user", "state": {}}
_RUBRIC = {"rubric_id": "asks", "rubric_content": {"text_property": "The response asks first."}}
_TRANSFER: list[Any] = [["planner", [part("Let me see.")]], ["lamp_agent", [part("Off.")]]]
_SCENARIO = {"starting_prompt": "Hi!", "conversation_plan": "Ask for the lamp.", "user_persona": "NOVICE"}

OLD: dict[str, Any] = {
    "queries": [query(), query(use("switch", device="lamp", count=2, all=True, rooms=["a", None]))],
    "queries without tools": [{"query": "x", "expected_tool_use": [], "reference": ""}],
    "queries with what agents said": [query(expected_intermediate_agent_responses=[{"author": "planner", "text": "Off?"}])],
    "queries with answers of tools": [query({**use("switch"), "mock_tool_output": "ok"})],
    "named cases": [{"name": "lamp", "data": [query()], "initial_session": {"state": {"a": 1}, "app_name": "home", "user_id": "u"}}],
    "named cases without a session": [{"name": "lamp", "data": [query(use("switch"))]}, {"name": "door", "data": [query()]}],
    "named cases with an unknown state": [{"name": "lamp", "data": [query()], "initial_state": {"session": {}}}],
    "a named case with an empty session": [{"name": "lamp", "data": [query()], "initial_session": {}}],
}  # fmt: skip
"""ADK's old form. The first entries are lists of queries, which only AgentEvaluator reads."""

TODAY: dict[str, Any] = {
    "with all fields": a_set(a_case_of(a_turn(), session_input=None, creation_timestamp=1747337309.2)),
    "with what sub-agents said": a_set(a_case_of(a_turn(intermediate_data={"tool_uses": [], "intermediate_responses": _TRANSFER}))),
    "with an id that is a path": a_set(a_case_of(a_turn(), session_input=_SESSION) | {"eval_id": "fixture/agent/flow.test.json"}),
    "with a text that is null": a_set(a_case_of(a_turn(final_response=said(None, "model")))),
    "queries alone": a_set(*(a_case_of(a_short_turn(), session_input=_SESSION) | {"eval_id": f"fred_{number}"} for number in range(30))),
    "with rubrics of turns": a_set(a_case_of(a_short_turn(rubrics=[_RUBRIC], intermediate_data={"tool_uses": [{"name": "clarify", "args": {}}]}), session_input=_SESSION)),
    "with rubrics of cases": a_set(a_case_of(a_short_turn(), rubrics=[_RUBRIC])),
    "with a part of the arguments": a_set(a_case_of(a_short_turn(intermediate_data={"tool_uses": [{"name": "pay", "args": {"decimals": 6}}]}))),
    "with scenarios": a_set({"eval_id": "played", "conversation_scenario": _SCENARIO, "session_input": _SESSION}, a_case_of(a_short_turn())),
    "without cases": {"eval_set_id": "evalset49e1df", "name": "x", "description": None, "eval_cases": [], "creation_timestamp": 1754018129.0},
    "in events": a_set(a_case_of(a_turn(intermediate_data={"invocation_events": [{"author": "home", "content": {"parts": [{"function_call": {"name": "switch", "args": {}, "id": "1"}}], "role": None}}, {"author": "home", "content": said("x", "model")}]}))),
    "in camel case below the top": a_set({"evalId": "a", "conversation": [{"userContent": said("x"), "finalResponse": said("y", "model"), "intermediateData": {"toolUses": []}}], "sessionInput": {"appName": "home", "userId": "u"}}),
}  # fmt: skip
"""Today's form, by programs and by hand."""

REFUSED: dict[str, tuple[Any, str, tuple[str, ...]]] = {
    "the old tool use in a turn of today": (
        a_set(a_case_of(a_short_turn(expected_tool_use=[]))), "old-tool-use", ("'expected_tool_use'",),
    ),
    "a form of its own": (
        {"name": "Assets", "description": "x", "version": "1.0", "test_cases": [{"id": "a", "input": "x", "expected_output": {"contains": ["x"]}}]},
        "not-an-eval-set", ("'name', 'description', 'version', 'test_cases'", "'eval_set_id'", "'eval_cases'"),
    ),
    "a configuration": ({"criteria": {"tool_trajectory_avg_score": 1.0}}, "not-an-eval-set", ("`adk eval`",)),
    "scenarios alone": ({"scenarios": [_SCENARIO]}, "not-an-eval-set", ("scenario",)),
    "a session input": ({"app_name": "home", "user_id": "u"}, "not-an-eval-set", ("'app_name', 'user_id'",)),
}  # fmt: skip
"""What lies among eval data and is refused by ADK itself, with the code and what the reason names."""


def put(folder: Path, value: Any, name: str = "shape.test.json") -> Path:
    """Write a file of a shape."""
    path = folder / name
    path.write_text(json.dumps(value, indent=2))
    return path


@pytest.mark.parametrize("name", [*OLD, *TODAY])
def test_every_shape_opens_everywhere_and_is_sound_once_it_is_mended(tmp_path: Path, name: str) -> None:
    """The doctor finds no error that ADK does not make; the writer, the reader of cases and that of recordings open it.

    ADK's own loader reads the mended file, with as many cases, turns and calls as before.
    """
    value = {**OLD, **TODAY}[name]
    path, beside = put(tmp_path, value), put(tmp_path, value, "mended.test.json")
    examined = examine([path]).files[0]
    assert examined.kind == ("old eval data" if name in OLD else "eval set")
    errors = [each.code for each in examined.findings if each.severity == "error"]
    assert errors == ([] if _is_read_by_adk(path) else ["legacy-format"])
    written = EvalSetWriter(path, "home", known=KnownFiles()).write_eval_case(a_case("new"))
    assert (written.converted_copy is not None) is (name in OLD)
    cases = loaded(path).eval_cases
    assert cases[-1].eval_id == "new"
    assert len(cases) - 1 == examined.cases
    assert set(read_cases(path.read_text())) == {case.eval_id for case in cases}
    recording = read_recording(json.dumps(value))
    assert recording.calls or recording.problems
    mend([beside])
    assert examine([beside]).mendable == ()
    again = EvalSet.model_validate_json(beside.read_text())
    if name in OLD:
        assert sum(len(case.conversation or ()) for case in again.eval_cases) == json.dumps(value).count(
            '"query"'
        )
    assert _calls(json.loads(beside.read_text())) == _calls(value)
    assert (
        AgentEvaluator._load_eval_set_from_file(str(beside), EvalConfig(), {}).eval_cases == again.eval_cases
    )


def _is_read_by_adk(path: Path) -> bool:
    """Return whether the loader of `adk eval` reads a file."""
    try:
        return bool(loaded(path))
    except (KeyError, TypeError):
        return False


def _calls(value: Any) -> int:
    """Count the calls in any form."""
    return sum(json.dumps(value).count(f'"{tool}"') for tool in ("switch", "clarify", "pay"))


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_is_refused_with_the_exact_reason(tmp_path: Path, name: str) -> None:
    """By the doctor with its code, and by the writer and the reader of cases with an error for a person."""
    value, code, named = REFUSED[name]
    path = put(tmp_path, value)
    errors = [each for each in examine([path]).findings if each.severity == "error"]
    assert [each.code for each in errors] == [code]
    assert all(each in errors[0].meaning for each in named)
    with pytest.raises(ScenarioError):
        read_cases(path.read_text())
    if code == "not-an-eval-set":
        with pytest.raises(EvalSetError, match=re.escape(str(path))):
            EvalSetWriter(path, "home", known=KnownFiles()).write_eval_case(a_case("new"))
    assert json.loads(path.read_text()) == value


def test_a_folder_of_all_shapes_is_examined_at_once(tmp_path: Path) -> None:
    """Files with other names count where they hold eval data; configurations beside them are passed over."""
    for number, value in enumerate([*OLD.values(), *TODAY.values()]):
        put(tmp_path, value, f"shape_{number}.test.json" if number % 2 else f"shape_{number}.json")
    put(tmp_path, REFUSED["a configuration"][0], "test_config.json")
    examination = examine([tmp_path])
    assert len(examination.files) == len(OLD) + len(TODAY)
    refused = [path for path in tmp_path.glob("shape_*") if not _is_read_by_adk(path)]
    assert refused
    assert {each.file for each in examination.findings if each.severity == "error"} == set(refused)
    assert examination.unreadable == ()
