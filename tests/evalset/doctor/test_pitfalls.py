"""Each pitfall of eval sets, recordings and datasets is found in a file that shows it, told with its place, and mended where that is possible."""

from __future__ import annotations

import json
import os
from functools import cache
from pathlib import Path

import pytest
from google.adk.evaluation.local_eval_sets_manager import load_eval_set_from_file

from evalset import export_cases, read_cases
from evalset.cli.main import main
from evalset.doctor import CODES, Examination, examine, known_agent, mend
from evalset.recorded.known_agents import KnownAgent
from evalset.recorded.recording_files import read_environment
from tests.evalset.doctor.examples import a_case, a_set, an_environment, in_bytes, put, the_agent
from tests.evalset.doctor.pitfalls import ALL, DATASET, ENVIRONMENT, HELLO, HI, SET, Pitfall, turns

KEPT = Path(__file__).parents[2] / "conformance" / "files"


@cache
def agents() -> dict[str, KnownAgent]:
    """Return the agent that the cases are of."""
    return {"desk": known_agent(the_agent())}


def examined(folder: Path, pitfall: Pitfall) -> Examination:
    """Examine the files of a pitfall."""
    return examine([folder], agents=agents() if pitfall.with_agent else None, portable=pitfall.portable)


@pytest.mark.parametrize(
    "pitfall",
    [
        pytest.param(
            each, id=each.code, marks=pytest.mark.long if each.code in {"oversized", "too-heavy"} else ()
        )
        for each in ALL
    ],
)
def test_each_pitfall_is_found_and_mended(tmp_path: Path, pitfall: Pitfall) -> None:
    """It has its code, its severity and its place; what is mendable is gone after a mend, which keeps the old text."""
    put(tmp_path, pitfall.files())
    guilty = tmp_path / pitfall.file
    found = [each for each in examined(tmp_path, pitfall).findings if each.code == pitfall.code]
    assert found, [each.code for each in examined(tmp_path, pitfall).findings]
    finding = found[0]
    assert finding.file == guilty
    assert finding.meaning.endswith((".", "…"))
    assert finding.remedy
    assert finding.mendable is pitfall.mendable
    assert pitfall.place in (None, finding.place)
    assert finding.line is not None or not finding.place
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    done = mend([tmp_path], agents=agents() if pitfall.with_agent else None, portable=pitfall.portable)
    assert [change for change in done.files if change.problem] == []
    assert (
        pitfall.code in {each.code for change in done.files for each in change.mended}
    ) is pitfall.mendable
    if pitfall.mendable:
        copies = {change.file: change.copy_kept for change in done.files}
        assert all(copy and copy.read_bytes() == before[file] for file, copy in copies.items())
        _is_readable(guilty)
        assert pitfall.code not in {each.code for each in examined(tmp_path, pitfall).mendable}
    again = {path: path.read_bytes() for path in tmp_path.iterdir()}
    assert (
        mend([tmp_path], agents=agents() if pitfall.with_agent else None, portable=pitfall.portable).files
        == ()
    )
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == again
    assert not examined(tmp_path, pitfall).mendable


def _is_readable(file: Path) -> None:
    """Check that whoever owns the form of a file reads it."""
    if file.name == ENVIRONMENT:
        assert read_environment(file).cases
    elif file.name == DATASET:
        assert json.loads(file.read_bytes())["eval_cases"]
    else:
        assert load_eval_set_from_file(str(file), "orders").eval_set_id


def test_every_code_is_shown_by_a_file() -> None:
    """No kind of finding is without a file that shows it; those of migrations have their own tests."""
    ours = {code for code in CODES if not code.startswith("migrat")}
    assert {pitfall.code for pitfall in ALL} == ours


def test_a_sound_set_with_its_environment_has_no_findings(tmp_path: Path) -> None:
    """Nothing is made up where nothing is wrong; the only thing that is told is which checks were left out."""
    put(tmp_path, {SET: in_bytes(a_set()), ENVIRONMENT: in_bytes(an_environment())})
    without_agent = examine([tmp_path])
    assert without_agent.findings == ()
    assert [file.kind for file in without_agent.files] == ["eval set", "recorded environment"]
    assert "--agents-dir" in without_agent.skipped[0]
    with_agent = examine([tmp_path], agents=agents())
    assert with_agent.findings == ()
    assert with_agent.skipped == ()


def test_what_is_no_file_is_named_and_not_waited_for(tmp_path: Path) -> None:
    """A pipe never gives its end; what is not there, and a folder without eval data, are named too."""
    os.mkfifo(tmp_path / "pipe.json")
    (tmp_path / "empty").mkdir()
    examination = examine([tmp_path / "pipe.json", tmp_path / "none.json", tmp_path / "empty"])
    assert examination.files == ()
    told = [words.split(": ", 1) for words in examination.unreadable]
    assert [Path(path).name for path, _ in told] == ["pipe.json", "none.json", "empty"]
    assert len({why for _, why in told}) == 3


def test_a_sentence_quotes_no_page(tmp_path: Path) -> None:
    """A name of a megabyte is cut where a finding quotes it."""
    put(tmp_path, {SET: in_bytes(a_set(a_case("a:" * 500_000)))})
    assert max(len(each.meaning) + len(each.remedy) for each in examine([tmp_path]).findings) < 2_000


def test_an_export_of_ours_and_a_trace_have_no_mistakes(tmp_path: Path) -> None:
    """With the recorded environment beside it, whose cases are those of the goldens; the command says so."""
    cases = read_cases((KEPT / "order_desk.evalset.json").read_text()).values()
    known = read_environment(KEPT / "order_desk.environment.json")
    for file in export_cases(cases, "dataset", environments=known, name="orders").files:
        (tmp_path / file.path).write_text(file.text)
    trace = {"eval_case_id": "t", "prompt": HI, **turns(("desk", HELLO)), "responses": [{"response": HELLO}]}
    graded = {**trace, "eval_case_id": "u", **turns(("user", HI), ("desk", HELLO))}
    reply = {"role": "user", "parts": [{"function_response": {"name": "ask", "response": {"result": "yes"}}}]}
    broken_off = {"eval_case_id": "v", "prompt": HI, **turns(("user", HI), ("desk", HELLO), ("user", reply))}
    (tmp_path / "traces.json").write_text(json.dumps({"eval_cases": [trace, graded, broken_off]}))
    assert [each for each in examine([tmp_path]).findings if each.severity != "note"] == []
    assert main(["doctor", str(tmp_path), "--strict"]) == 0
