"""`python -m simulator run` plays a golden trace from its eval set, with what is recorded beside it."""

from __future__ import annotations

import json
import re
import zipfile
from pathlib import Path
from typing import Any

import pytest
from google.adk.evaluation.eval_set import EvalSet
from google.adk.evaluation.local_eval_sets_manager import load_eval_set_from_file

from evalset import export_cases, import_cases
from evalset.cli.main import simulator_main as main
from evalset.doctor import examine
from evalset.files.case_text import set_json
from evalset.recorded.recording import RecordedCase, RecordedEnvironment, RecordedTurn
from evalset.recorded.recording_files import joined, parted, read_environment, sidecar_of
from evalset.verify import verify
from simulator.scripts import script_of, write_script
from tests.evalset.files.examples import a_case as an_eval_case
from tests.evalset.replay.desk_agent import config, played, write_desk
from tests.simulator.scripts.recording import record_demo


def run(*words: str | Path) -> int:
    """Run the command in this process."""
    return main(["run", "--verbose", *map(str, words)])


def told(path: Path) -> list[Any]:
    """Return what the cases of an eval set tell."""
    return [said_and_done(case) for case in json.loads(path.read_text())["eval_cases"]]


def said_and_done(value: Any) -> Any:
    """Return what a case tells, without the ids and times that each session has of its own."""
    if isinstance(value, list):
        return [said_and_done(each) for each in value]
    if not isinstance(value, dict):
        return value
    own = {"id", "invocation_id", "creation_timestamp"}
    return {name: said_and_done(each) for name, each in value.items() if name not in own}


NAME = "expense_approver"
"""Asks a person to confirm."""
WORDS = ("--eval-id", "case", "--otherwise", "fail", "--no-replay")


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The script of a session in which a person confirmed a call."""
    file = tmp_path_factory.mktemp("script") / "script.yaml"
    with record_demo(NAME) as simulation:
        file.write_text(write_script(script_of(simulation)))
    return file


@pytest.fixture(scope="module")
def first(script: Path) -> Path:
    """The golden trace of that session, with its recording beside it."""
    path = script.with_name("one.evalset.json")
    assert run(NAME, "--script", script, "--out", path, *WORDS) == 0
    return path


def moved(first: Path, folder: Path, form: str) -> Path:
    """Return a golden trace where a person plays it: beside its recording, or elsewhere as one file without what lies beside it."""
    recorded = read_environment(sidecar_of(first))
    if form == "beside its recording":
        return first
    if form == "one file":
        path = folder / "taken.evalset.json"
        path.write_text(joined(first.read_text(), recorded))
        return path
    path = folder / "taken.zip"
    cases = load_eval_set_from_file(str(first), first.name).eval_cases
    path.write_bytes(export_cases(cases, "evalset", environments=recorded).content)
    return path


@pytest.mark.parametrize(
    "form",
    [
        "beside its recording",
        *(pytest.param(form, marks=pytest.mark.long) for form in ("one file", "archive")),
    ],
)
def test_a_golden_trace_is_played_again_with_what_a_person_had_confirmed(
    form: str, first: Path, tmp_path: Path
) -> None:
    """The case holds no question whether a tool may run; what was said to it is recorded. A download is imported with it, too."""
    taken, again = moved(first, tmp_path, form), tmp_path / "again.evalset.json"
    assert run(NAME, "--script", taken, "--out", again, *WORDS) == 0
    assert told(again) == told(first)
    imported = import_cases(taken)
    assert imported.problems == ()
    assert imported.environments == read_environment(sidecar_of(first)).cases
    assert list(imported.cases) == load_eval_set_from_file(str(first), "one").eval_cases


@pytest.mark.long
def test_without_its_recording_nobody_confirms(first: Path, tmp_path: Path) -> None:
    """The set alone has no answer to the question."""
    alone = tmp_path / first.name
    alone.write_bytes(first.read_bytes())
    assert run(NAME, "--script", alone, "--out", tmp_path / "three.evalset.json", *WORDS) == 1


def test_adk_and_the_doctor_read_the_one_file_as_the_eval_set_that_it_is(tmp_path: Path) -> None:
    """ADK's loader gives the same cases as without the recording; the doctor finds nothing."""
    kept = RecordedCase(
        agent="desk", app_name="desk", turns=(RecordedTurn(query={"parts": [{"text": "hi"}]}),)
    )
    path, environment = tmp_path / "desk.evalset.json", RecordedEnvironment(cases={"one": kept})
    plain = set_json(EvalSet(eval_set_id="desk", eval_cases=[an_eval_case("one")], creation_timestamp=1.0))
    path.write_text(joined(plain, environment))
    loaded = load_eval_set_from_file(str(path), "desk")
    assert loaded == EvalSet.model_validate_json(plain)
    assert parted(path, path.read_text()).environment == environment
    assert EvalSet.model_validate_json(parted(path, path.read_text()).text) == loaded
    assert joined(plain, RecordedEnvironment()) == plain
    assert parted(path, plain) == (plain, None)
    assert "unknown-key" not in {each.code for each in examine([path]).findings}


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({}, "no eval sets"),
        ({"a.evalset.json": "{}", "b/b.evalset.json": "{}"}, "2 eval sets"),
        ({"a.evalset.json": "{", "a.environment.json": "{}"}, "a.environment.json: "),
        ({"a.evalset.json": b"\xff\xfe\xff"}, "a.evalset.json "),
    ],
)
def test_an_archive_that_is_no_download_is_refused_with_the_reason(
    tmp_path: Path, files: dict[str, Any], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is played of it, and nothing is written."""
    path = tmp_path / "some.zip"
    with zipfile.ZipFile(path, "w") as made:
        for name, text in files.items():
            made.writestr(name, text)
    assert run("order_desk", "--script", path, "--out", tmp_path / "out.evalset.json") == 2
    assert words in capsys.readouterr().err
    assert not (tmp_path / "out.evalset.json").exists()


def test_a_session_in_the_place_of_a_script_is_offered_to_the_import(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command says what the file is, and the command that takes it, where that finds a case in it."""
    path, kept = tmp_path / "kept.json", Path(__file__).parents[2] / "conformance/files/finished.session.json"
    for content in (kept.read_text(), '{"format": "golden-trace-studio/session", "version": 1}'):
        path.write_text(content)
        assert run("order_desk", "--script", path, "--out", tmp_path / "out.evalset.json") == 2
        said = capsys.readouterr().err
        assert "a session of the studio" in said
        assert (f"golden-trace import {path}" in said) == (content == kept.read_text())


CLOCK = """

import time


def stamp(callback_context):
    callback_context.state["last_seen"] = time.time()


root_agent.before_agent_callback = stamp
"""


@pytest.mark.long
def test_what_was_written_is_replayed_and_a_time_in_the_state_is_tolerated(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A line says which tolerance was kept, and the case passes its own verification; without the replay nothing is kept."""
    source = write_desk(tmp_path / "agents") / "agent.py"
    source.write_text(source.read_text() + CLOCK)
    answers = {"check": {"status": "shipped"}}
    with played(config(tmp_path / "agents"), ["check A"], answers) as simulation:
        file = tmp_path / "script.yaml"
        file.write_text(write_script(script_of(simulation)))
    agent, eval_set, other = (
        tmp_path / "agents" / "desk",
        tmp_path / "a.evalset.json",
        tmp_path / "b.evalset.json",
    )
    assert run(agent, "--script", file, "--out", eval_set, "--eval-id", "case") == 0
    assert re.search('tolerance added: .*"last_seen"', capsys.readouterr().out)
    (kept,) = read_environment(sidecar_of(eval_set)).cases["case"].tolerances
    assert (kept.kind, kept.of, kept.path) == ("ignore", "state", "last_seen")
    assert verify(eval_set, agents_dir=tmp_path / "agents", models="recorded").status == "passed"
    assert run(agent, "--script", file, "--out", other, "--eval-id", "case", "--no-replay", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["verified"], told["tolerances"], told["leftovers"], told["problems"]) == (None, [], [], [])
    assert (told["path"], told["eval_id"], told["turns"]) == (str(other), "case", 1)
    assert read_environment(sidecar_of(other)).cases["case"].tolerances == ()


def test_earlier_events_of_a_case_are_left_out_and_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A case may give its session events before its first turn; it is played without them, and the run says so."""
    events = [
        {"author": "user", "content": {"parts": [{"text": "Hi."}]}},
        {"author": "desk", "content": None},
    ]
    case = an_eval_case("one").model_dump(mode="json", exclude_none=True)
    case["session_input"] = {"app_name": "order_desk", "user_id": "u", "events": events}
    eval_set = tmp_path / "earlier.evalset.json"
    eval_set.write_text(json.dumps({"eval_set_id": "earlier", "eval_cases": [case]}))
    assert run("order_desk", "--script", eval_set, "--out", tmp_path / "new.evalset.json", *WORDS[:-1]) == 0
    (warned,) = (line for line in capsys.readouterr().err.splitlines() if line.startswith("warning: earlier"))
    assert all(word in warned for word in (": 2 in", "`events`", "'one'"))


def test_a_test_in_the_oldest_form_is_played(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A list of queries is one case, as ADK's converter makes it; a list of other things is named as what it is not."""
    given, out = tmp_path / "talk.test.json", tmp_path / "out.evalset.json"
    given.write_text(json.dumps([{"query": "Hi.", "expected_tool_use": [], "reference": "Hello."}]))
    desk = write_desk(tmp_path / "agents")
    assert run(desk, "--script", given, "--out", out, *WORDS) == 0, capsys.readouterr().err
    (case,) = told(out)
    assert [part["text"] for part in case["conversation"][0]["final_response"]["parts"]] == ["Hello."]
    given.write_text(json.dumps([{"question": "Hi."}]))
    assert run(desk, "--script", given, "--out", out, *WORDS) == 2
    assert "neither an eval set nor in ADK's legacy format" in capsys.readouterr().err
