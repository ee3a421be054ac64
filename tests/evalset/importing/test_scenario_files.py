"""A file of ADK's scenarios becomes the cases that ADK's own command makes of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from google.adk.evaluation.eval_case import EvalCase
from google.adk.evaluation.local_eval_sets_manager import load_eval_set_from_file

from evalset.golden_trace.scenarios import scenario_case
from simulator.base.json_values import JsonObject
from tests.evalset.ending import Ends

SCENARIOS: list[JsonObject] = [
    {"starting_prompt": "Hi", "conversation_plan": "Ask for a die roll."},
    {"starting_prompt": "Hello", "conversation_plan": "Ask whether 7 is prime.", "user_persona": "NOVICE"},
]
INPUT = {"app_name": "hello_world", "user_id": "user", "state": {"lang": "en"}}


SCENARIO_FILE, GIVEN, OUT = map(Path, ("scenarios.json", "session_input.json", "set.evalset.json"))
WORDS = ("import", SCENARIO_FILE, "--session-input", GIVEN, "--out", OUT)


@pytest.fixture(autouse=True)
def _files(here: Path) -> None:
    """A scenario file and a session input, in the working directory."""
    (here / SCENARIO_FILE).write_text(json.dumps({"scenarios": SCENARIOS}))
    (here / GIVEN).write_text(json.dumps(INPUT))


def cases() -> list[EvalCase]:
    """Return the cases that were written, as ADK reads them."""
    return load_eval_set_from_file(str(OUT), "set").eval_cases


def test_scenarios_become_cases_with_adks_ids(ends: Ends) -> None:
    """The set is created, and each case has the session input.

    Verify and the doctor find nothing wrong with it, and name what they cannot check.
    """
    ends(0, *WORDS)
    expected = [
        scenario_case(each, app_name="hello_world", user_id="user", at=0.0).eval_id for each in SCENARIOS
    ]
    assert [case.eval_id for case in cases()] == expected
    assert all(case.session_input and case.session_input.state == {"lang": "en"} for case in cases())
    held = [case.conversation_scenario for case in cases()]
    assert [each and each.starting_prompt for each in held] == ["Hi", "Hello"]
    told = ends(0, "verify", OUT, "--junit", OUT.with_name("results.xml"))
    assert "0 passed, 2 skipped" in told.out
    assert "golden-trace eval" in told.out
    assert "FAIL" not in told.out + told.err
    assert 'skipped="2"' in OUT.with_name("results.xml").read_text()
    assert "scenario" in ends(0, "doctor", OUT).out


def test_scenarios_that_a_set_has_are_skipped_and_others_are_added(ends: Ends) -> None:
    """As ADK's command does: again and twice in one file change nothing, and the exit code is that of success."""
    ends(0, *WORDS)
    before = OUT.read_bytes()
    told = json.loads(ends(0, *WORDS, "--json").out)
    assert (told["eval_ids"], len(told["skipped"]), told["written"]) == ([], 2, False)
    assert OUT.read_bytes() == before
    other = {"starting_prompt": "Bye", "conversation_plan": "Leave."}
    SCENARIO_FILE.write_text(json.dumps({"scenarios": [*SCENARIOS, other, other]}))
    assert ": 1 case added, 3 skipped" in ends(0, *WORDS, "--strict").out
    assert len(cases()) == 3


def test_without_a_session_input_that_is_said(ends: Ends) -> None:
    """The app is not made up."""
    assert "--session-input" in ends(0, "import", SCENARIO_FILE, "--out", OUT).err
    assert all(case.session_input is None for case in cases())


@pytest.mark.parametrize("broken", ["scenarios", "input"])
def test_what_cannot_be_read_is_named(broken: str, ends: Ends) -> None:
    """With the scenario, or the field; nothing is written."""
    if broken == "scenarios":
        SCENARIO_FILE.write_text(json.dumps({"scenarios": [*SCENARIOS, {"starting_prompt": 5}]}))
    else:
        GIVEN.write_text('{"app_name": 5}')
    told = ends(1 if broken == "scenarios" else 2, *WORDS, "--strict").err
    assert ("scenario 3" if broken == "scenarios" else "app_name") in told
    assert not OUT.exists()
