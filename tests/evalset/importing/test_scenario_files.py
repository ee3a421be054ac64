"""A file of ADK's scenarios becomes the cases that ADK's own command makes of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from google.adk.evaluation.local_eval_sets_manager import load_eval_set_from_file

from evalset.cli.main import main
from evalset.golden_trace.scenarios import scenario_case
from simulator.base.json_values import JsonObject

SCENARIOS: list[JsonObject] = [
    {"starting_prompt": "Hi", "conversation_plan": "Ask for a die roll."},
    {"starting_prompt": "Hello", "conversation_plan": "Ask whether 7 is prime.", "user_persona": "NOVICE"},
]
INPUT = {"app_name": "hello_world", "user_id": "user", "state": {"lang": "en"}}


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path, Path]:
    """A scenario file, a session input, and where the set is written."""
    scenarios, given = tmp_path / "conversation_scenarios.json", tmp_path / "session_input.json"
    scenarios.write_text(json.dumps({"scenarios": SCENARIOS}))
    given.write_text(json.dumps(INPUT))
    return scenarios, given, tmp_path / "set.evalset.json"


def test_scenarios_become_cases_with_adks_ids(
    files: tuple[Path, Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """The set is created, and each case has the session input.

    Verify and the doctor find nothing wrong with it, and name what they cannot check.
    """
    scenarios, given, out = files
    assert main(["import", str(scenarios), "--session-input", str(given), "--out", str(out)]) == 0
    cases = load_eval_set_from_file(str(out), "set").eval_cases
    expected = [
        scenario_case(each, app_name="hello_world", user_id="user", at=0.0).eval_id for each in SCENARIOS
    ]
    assert [case.eval_id for case in cases] == expected
    assert all(case.session_input and case.session_input.state == {"lang": "en"} for case in cases)
    held = [case.conversation_scenario for case in cases]
    assert [each and each.starting_prompt for each in held] == ["Hi", "Hello"]
    capsys.readouterr()
    assert main(["verify", str(out), "--junit", str(out.with_name("results.xml"))]) == 0
    told = capsys.readouterr()
    assert "0 passed, 2 skipped" in told.out
    assert "golden-trace eval" in told.out
    assert "FAIL" not in told.out + told.err
    assert 'skipped="2"' in out.with_name("results.xml").read_text()
    assert main(["doctor", str(out)]) == 0
    assert "scenario" in capsys.readouterr().out


def test_scenarios_that_a_set_has_are_skipped_and_others_are_added(
    files: tuple[Path, Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """As ADK's command does: again and twice in one file change nothing, and the exit code is that of success."""
    scenarios, given, out = files
    words = ["import", str(scenarios), "--session-input", str(given), "--out", str(out)]
    assert main(words) == 0
    before = out.read_bytes()
    capsys.readouterr()
    assert main([*words, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["eval_ids"], len(told["skipped"]), told["written"]) == ([], 2, False)
    assert out.read_bytes() == before
    other = {"starting_prompt": "Bye", "conversation_plan": "Leave."}
    scenarios.write_text(json.dumps({"scenarios": [*SCENARIOS, other, other]}))
    assert main([*words, "--strict"]) == 0
    assert ": 1 case added, 3 skipped" in capsys.readouterr().out
    assert len(load_eval_set_from_file(str(out), "set").eval_cases) == 3


def test_without_a_session_input_that_is_said(
    files: tuple[Path, Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """The app is not made up."""
    scenarios, _, out = files
    assert main(["import", str(scenarios), "--out", str(out)]) == 0
    assert "--session-input" in capsys.readouterr().err
    assert all(case.session_input is None for case in load_eval_set_from_file(str(out), "set").eval_cases)


@pytest.mark.parametrize("broken", ["scenarios", "input"])
def test_what_cannot_be_read_is_named(
    files: tuple[Path, Path, Path], broken: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the scenario, or the field; nothing is written."""
    scenarios, given, out = files
    if broken == "scenarios":
        scenarios.write_text(json.dumps({"scenarios": [*SCENARIOS, {"starting_prompt": 5}]}))
    else:
        given.write_text('{"app_name": 5}')
    code = main(["import", str(scenarios), "--session-input", str(given), "--out", str(out), "--strict"])
    assert code in {1, 2}
    told = capsys.readouterr().err
    assert ("scenario 3" if broken == "scenarios" else "app_name") in told
    assert not out.exists()
