"""`golden-trace import` and `golden-trace export`: what they write, what they refuse, and their exit codes."""

from __future__ import annotations

import errno
import json
import math
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from google.adk.evaluation.local_eval_sets_manager import load_eval_set_from_file

from evalset import EXPORT_FORMS, import_cases
from evalset.cli.export_command import FORMS
from evalset.cli.main import main
from evalset.editing.case_reviews import CaseReview, has_changed_since
from evalset.editing.reviews_beside import open_reviews, reviews_text
from evalset.files.eval_names import case_digest, reviews_path
from evalset.recorded.recording_files import read_environment, sidecar_of
from simulator.base.documents import LIMITS
from tests.evalset.doctor.examples import a_case, a_set, a_turn
from tests.evalset.importing.test_dataset_cases import a_trace
from tests.harness.processes import REPOSITORY, quiet_environment

KEPT = REPOSITORY / "tests" / "conformance" / "files"
DESK = KEPT / "order_desk.evalset.json"


def a_session(name: str, said: str = "Hello.") -> dict[str, Any]:
    """A session as ADK's API gives it."""
    parts = {"user": said, "desk": "Good morning."}
    events = [{"author": who, "content": {"parts": [{"text": words}]}} for who, words in parts.items()]
    return {"id": name, "appName": "desk", "events": events}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def ids_in(path: Path | str) -> list[str]:
    """The ids of a set's cases, as ADK's loader reads them."""
    return [case.eval_id for case in load_eval_set_from_file(str(path), "set").eval_cases]


def test_sessions_become_cases_of_a_new_set(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """From several paths at once; what cannot be imported is named; the output names file and cases."""
    Path("sessions").mkdir()
    Path("sessions/one.json").write_text(json.dumps(a_session("one")))
    Path("sessions/bad.session.json").write_text("{")
    Path("two.json").write_text(json.dumps(a_session("two")))
    assert main(["import", "sessions", "two.json", "--out", "new/desk.evalset.json"]) == 0
    said = capsys.readouterr()
    assert ids_in("new/desk.evalset.json") == ["one", "two"]
    assert f"{here / 'new/desk.evalset.json'}: 2 cases added" in said.out
    assert "bad.session.json: " in said.err


def test_a_trace_is_exported_with_what_it_records(here: Path) -> None:
    """A dataset of traces holds its recording itself."""
    Path("runs-dataset.json").write_text(json.dumps({"eval_cases": [a_trace()]}))
    assert main(["export", "runs-dataset.json", "--form", "evalset", "--out", "out", "--strict"]) == 0
    (written,) = Path("out").glob("*.environment.json")
    assert list(read_environment(written).cases) == ["traced"]
    assert here.is_dir()


@pytest.mark.long
def test_a_case_is_added_with_what_is_recorded_and_a_free_id(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The cases that are there stay byte for byte; the id that is taken becomes another, in both files."""
    eval_set = Path(shutil.copy(DESK, here / "desk.evalset.json"))
    shutil.copy(KEPT / "order_desk.environment.json", here / "desk.environment.json")
    before = eval_set.read_text()
    (eval_id,) = ids_in(eval_set)
    assert main(["import", str(DESK), "--out", "desk.evalset.json", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["eval_ids"] == [f"{eval_id}_2"]
    assert told["environment"] == str(here / "desk.environment.json")
    assert ids_in(eval_set) == [eval_id, f"{eval_id}_2"]
    assert eval_set.read_text().startswith(before[: before.rindex("\n  ]")])
    assert set(read_environment("desk.environment.json").cases) == {eval_id, f"{eval_id}_2"}
    assert main(["verify", "desk.evalset.json", "--models", "recorded"]) == 0


@pytest.mark.parametrize(
    ("place", "value"),
    [
        *((("eval_id",), value) for value in ("", " ", "x" * 5_000, "\x00", "🎲")),
        *((("creation_timestamp",), value) for value in (math.nan, math.inf, -1.0, 1e308)),
        *((("conversation", 0, "creation_timestamp"), value) for value in (math.nan, math.inf, -1e308, 1e15)),
        *((("conversation", 0, "invocation_id"), value) for value in ("", "x" * 5_000)),
        *((("conversation", 0, name), None) for name in ("final_response", "intermediate_data", "rubrics")),
        *(
            (("session_input", name), value)
            for name in ("app_name", "user_id")
            for value in ("", "x" * 5_000)
        ),
        (("session_input", "state"), {"": None}),
        (("session_input",), None),
    ],
)
def test_any_value_that_adk_takes_is_imported(here: Path, place: tuple[str | int, ...], value: Any) -> None:
    """One odd value of a case does not keep it, or the others, from being imported; ADK reads what is written."""
    case = a_case("one", session_input={"app_name": "desk", "user_id": "u", "state": {}})
    at: Any = case
    for step in place[:-1]:
        at = at[step]
    at[place[-1]] = value
    Path("odd.evalset.json").write_text(json.dumps(a_set(case, a_case("two"))))
    assert main(["import", "odd.evalset.json", "--out", "new.evalset.json"]) == 0
    assert len(ids_in(here / "new.evalset.json")) == 2


def test_the_same_problem_of_many_cases_is_one_line(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With how many more there are; what was added and what was renamed is counted, and JSON has each by itself."""
    unanswered = {"tool_uses": [{"name": "find", "args": {"x": 1}}, {"name": "roll", "args": {}}]}
    names = ["a/b", "a:b", *(f"case {number}" for number in range(198))]
    cases = [a_case(name, a_turn(intermediate_data=unanswered)) for name in names]
    Path("many.evalset.json").write_text(json.dumps(a_set(*cases)))
    assert main(["import", "many.evalset.json", "--out", str(here / "new.evalset.json")]) == 0
    said = capsys.readouterr()
    assert said.out.splitlines()[0].endswith(": 200 cases added, 2 renamed")
    assert "  a_b_2 (was a:b): 1 turn" in said.out
    lines = said.err.splitlines()
    assert len(lines) == 3
    assert [line.rpartition("(")[2] for line in lines if "renamed" not in line] == [
        "and 199 more like this)"
    ] * 2
    assert main(["import", "many.evalset.json", "--out", "other.evalset.json", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["problems"]) == 402


def test_a_recording_that_nothing_could_read_is_not_written(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Neither are its cases, where they alone are too many; and what to do is named."""
    trace, out = here / "sessions.json", here / "big.evalset.json"
    trace.write_text(json.dumps(a_session("one")))
    monkeypatch.setitem(LIMITS, "recording", 100)
    assert main(["import", str(trace), "--out", "big.evalset.json"]) == 2
    assert "Nothing was added. Import fewer cases at once" in capsys.readouterr().err
    assert not out.exists()
    monkeypatch.undo()
    monkeypatch.chdir(here)
    assert main(["import", str(trace), "--out", "big.evalset.json"]) == 0
    monkeypatch.setitem(LIMITS, "recording", (size := sidecar_of(out).stat().st_size) + 100)
    assert main(["import", str(trace), "--out", "big.evalset.json"]) == 2
    assert "Add fewer cases" in capsys.readouterr().err
    assert sidecar_of(out).stat().st_size == size


def test_a_dry_run_and_a_strict_one_write_nothing(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The first says what would be written; the second ends with 1 where something is left out."""
    Path("sessions").mkdir()
    Path("sessions/one.json").write_text(json.dumps(a_session("one")))
    assert main(["import", "sessions", "--out", "desk.evalset.json", "--dry-run"]) == 0
    assert "\n  one: 1 turn, recorded\n" in capsys.readouterr().out
    Path("sessions/bad.session.json").write_text("{")
    assert main(["import", "sessions", "--out", "desk.evalset.json", "--strict"]) == 1
    assert main(["import", "sessions", "--case", "two", "--out", "desk.evalset.json"]) == 2
    assert "--case: " in (said := capsys.readouterr().err)
    assert "'two'" in said
    assert main(["import", str(Path("sessions/bad.session.json")), "--out", "desk.evalset.json"]) == 1
    assert not Path("desk.evalset.json").exists()


@pytest.mark.parametrize("damaged", ["{", '{"eval_cases": 3, "eval_set_id": "x"}'])
def test_a_set_that_is_none_stays_as_it_is(
    here: Path, damaged: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Bad input, named by its file."""
    Path("set.evalset.json").write_text(damaged)
    assert main(["import", str(DESK), "--out", "set.evalset.json"]) == 2
    assert "set.evalset.json" in capsys.readouterr().err
    assert Path("set.evalset.json").read_text() == damaged
    assert main(["import", "nowhere.json", "--out", "set.evalset.json"]) == 2
    assert "nowhere.json" in capsys.readouterr().err


def test_many_cases_are_written_in_one_step(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file is put in its place once, however many cases there are."""
    Path("many.json").write_text(json.dumps([a_session(f"s{number}") for number in range(300)]))
    synced: list[int] = []
    monkeypatch.setattr("os.fsync", synced.append)  # counts the writes; nothing else tells of them
    assert main(["import", "many.json", "--out", "set.evalset.json", "--quiet"]) == 0
    assert main(["import", "many.json", "--out", "set.evalset.json", "--quiet"]) == 0
    assert len(ids_in("set.evalset.json")) == 600
    assert len(synced) <= 8


def test_each_form_has_a_line_in_the_help() -> None:
    """A new form must get its words here."""
    assert set(FORMS) == set(EXPORT_FORMS)


@pytest.mark.parametrize("form", [form for form in EXPORT_FORMS if form != "scenarios"])
def test_an_eval_set_is_written_in_a_form(here: Path, form: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Into a folder; the files are printed, and a second time nothing is written over."""
    assert main(["export", str(DESK), "--form", form, "--out", "made", "--name", "shop"]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed
    assert all(Path(line).read_bytes() for line in printed)
    assert main(["export", str(DESK), "--form", form, "--out", "made", "--name", "shop"]) == 0
    Path(printed[0]).write_text("mine")
    assert main(["export", str(DESK), "--form", form, "--out", "made", "--name", "shop"]) == 2
    assert Path(printed[0]).read_text() == "mine"
    assert "--force" in capsys.readouterr().err
    assert main(["export", str(DESK), "--form", form, "--out", "made", "--name", "shop", "--force"]) == 0
    assert Path(printed[0]).read_text() != "mine"


def test_an_archive_and_the_standard_output_are_places_too(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A .zip file holds all files; the standard output takes one."""
    assert main(["export", str(DESK), "--form", "evalset", "--out", "desk.zip", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["files"] == ["desk.zip"]
    with zipfile.ZipFile("desk.zip") as archive:
        assert archive.namelist() == ["order_desk.evalset.json", "order_desk.environment.json"]
    assert main(["export", str(DESK), "--form", "simulation_json", "--out", "-"]) == 0
    assert "tool_simulation_configs" in json.loads(capsys.readouterr().out)
    assert main(["export", str(DESK), "--form", "evalset", "--out", "-"]) == 2
    assert "name a folder" in capsys.readouterr().err


def test_reviews_are_written_next_to_the_set(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Those of its cases; a damaged file of them is named, and nothing is written."""
    path = Path(shutil.copy(DESK, here))
    review = CaseReview(status="approved", reviewer="Ann")
    reviews_path(path).write_bytes(reviews_text({ids_in(path)[0]: review, "gone": review}))
    assert main(["export", str(path), "--form", "evalset", "--out", "out"]) == 0
    assert open_reviews(here / "out" / path.name).reviews == {ids_in(path)[0]: review}
    capsys.readouterr()
    assert main(["export", str(path), "--form", "evalset", "--out", "-"]) == 0
    told = capsys.readouterr()
    assert ids_in(path)[0] in told.out
    assert re.search("warning: .*reviews.*--out", told.err)
    assert main(["export", str(path), "--form", "adk_test", "--out", "tests"]) == 0
    assert re.search("warning: .*reviews", capsys.readouterr().err)
    reviews_path(path).write_text("[]")
    assert main(["export", str(path), "--form", "evalset", "--out", "other"]) == 2
    assert str(reviews_path(path)) in capsys.readouterr().err
    assert not Path("other").exists()


@pytest.mark.parametrize("changed", [False, True])
def test_a_decision_holds_for_a_case_that_an_import_writes_another_way(here: Path, *, changed: bool) -> None:
    """In camel case, as another program wrote it: what was decided about what it holds is still decided."""
    case = json.loads(DESK.read_text())["eval_cases"][0]
    held = {"evalId": "theirs", "conversation": [{"userContent": case["conversation"][0]["user_content"]}]}
    Path("theirs.evalset.json").write_text(json.dumps({"eval_set_id": "theirs", "eval_cases": [held]}))
    about = {**held, "conversation": []} if changed else held
    review = CaseReview(status="approved", reviewer="Ann", digest=case_digest(about))
    reviews_path(here / "theirs.evalset.json").write_bytes(reviews_text({"theirs": review}))
    assert main(["import", "theirs.evalset.json", "--out", "out.evalset.json"]) == 0
    (written,) = json.loads(Path("out.evalset.json").read_text())["eval_cases"]
    assert "user_content" in written["conversation"][0]
    assert has_changed_since(open_reviews("out.evalset.json").reviews["theirs"], written) == changed


def test_reviews_come_along_with_each_set_of_an_archive(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Under the ids that their cases get; what is there stays, and a damaged file is named."""
    first, second = (CaseReview(status="approved", reviewer=who) for who in ("Ann", "Bea"))
    case = ids_in(DESK)[0]
    with zipfile.ZipFile("sets.zip", "w") as packed:
        for folder, review in (("a", first), ("b", second)):
            packed.write(DESK, f"{folder}/desk.evalset.json")
            packed.writestr(f"{folder}/desk.review.json", reviews_text({case: review}))
        packed.writestr("c/desk.review.json", "[]")
    out = here / "out.evalset.json"
    reviews_path(out).write_bytes(reviews_text({"other": first}))
    assert (
        main(["import", "sets.zip", "--out", str(out), "--case", case, "--case", f"{case}_2", "--json"]) == 0
    )
    told = capsys.readouterr()
    assert json.loads(told.out)["reviews"] == str(reviews_path(out))
    assert open_reviews(out).reviews == {"other": first, case: first, f"{case}_2": second}
    assert "sets.zip/c/desk.review.json: " in told.err
    assert told.err.count("warning") == 2  # and one for the id
    reviews_path(out).write_text("[]")
    assert main(["import", "sets.zip", "--out", str(out), "--case", case]) == 2
    assert str(reviews_path(out)) in capsys.readouterr().err
    assert ids_in(out)[-1] == f"{case}_3"
    assert reviews_path(out).read_text() == "[]"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--form", "evalset", "--case", "none"], "--case: .*'none'"),
        (["--form", "scenarios"], "scenario"),
        (["--form", "pytest", "--environment", "none.json"], "--environment: .*none.json"),
        (["--form", "pytest", "--agents-dir", "none"], "--agents-dir: .*none"),
    ],
)
def test_what_cannot_be_exported_says_why(
    here: Path, arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Bad input; nothing is written."""
    assert main(["export", str(DESK), *arguments]) == 2
    assert re.search(says, capsys.readouterr().err)
    assert list(here.iterdir()) == []


CONFIGS = """
import dataclasses
from simulator import demo_agent
AGENTS = [
    dataclasses.replace(demo_agent("order_desk"), name="First"),
    dataclasses.replace(demo_agent("travel_planner"), name="Second"),
]
"""


@pytest.mark.long
@pytest.mark.process
def test_a_pytest_file_of_an_agent_in_a_file_of_configs_passes_as_it_stands(here: Path) -> None:
    """From another folder, with the agent's file under a path with a space, a quote and the sign that parts the name."""
    odd = here / "it's #1"
    odd.mkdir()
    (odd / "configs.py").write_text(CONFIGS)
    agent = str(Path("it's #1/configs.py#First"))
    assert main(["export", str(DESK), "--form", "pytest", "--out", "tests", "--agent", agent]) == 0
    elsewhere = here / "elsewhere"
    elsewhere.mkdir()
    test = here / "tests" / "test_order_desk.py"
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", test],
        cwd=elsewhere,
        env=quiet_environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:]
    assert "1 passed" in done.stdout
    assert import_cases(here / "tests").cases


@pytest.mark.parametrize(
    ("options", "code", "says"),
    [
        (["--strict"], 1, "--strict"),
        (["--case", "none"], 2, "'none'"),
        (["--dry-run"], 0, ""),
        (["--case", "half"], 2, "cannot be written"),
        (["--case", "endless"], 2, "cannot be written"),
        (["--case", "half", "--dry-run"], 0, ""),
    ],
)
def test_what_is_refused_leaves_both_files_as_they_are(
    here: Path, options: list[str], code: int, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is decided before either is replaced; nothing is left beside them."""
    found: dict[str, Any] = {
        "set.evalset.json": DESK,
        "set.environment.json": KEPT / "order_desk.environment.json",
    }
    for name, source in found.items():
        shutil.copy(source, name)
    said = {"parts": [{"text": "Hi"}]}
    endless = {"user_content": said, "final_response": said, "intermediate_data": {"tool_uses": [
        {"name": "find", "args": {"far": math.inf}}]}}  # fmt: skip
    plain = {"user_content": said, "final_response": said}
    half = {"app_name": "desk", "user_id": "u", "state": {"name": "\ud800"}}
    cases = [
        {"eval_id": "plain", "conversation": [plain]},
        {"eval_id": "half", "conversation": [plain], "session_input": half},
        {"eval_id": "endless", "conversation": [endless]},
    ]
    Path("many.json").write_text(json.dumps({"eval_set_id": "s", "eval_cases": cases}))
    before = {name: Path(name).read_bytes() for name in found}
    assert main(["import", "many.json", "--out", "set.evalset.json", "--quiet", *options]) == code
    assert says in capsys.readouterr().err
    assert {name: Path(name).read_bytes() for name in found} == before
    assert sorted(path.name for path in here.iterdir()) == sorted([*found, "many.json"])


def test_a_chosen_case_is_taken_with_its_renamed_agent(here: Path) -> None:
    """Alone, with its recording under the new name; the ids of several files are given in their order."""
    for name in ("one", "two"):
        Path(f"{name}.json").write_text(json.dumps([a_session("s"), a_session("t")]))
    arguments = ["import", "one.json", "two.json", "--out", "set.evalset.json", "--quiet"]
    assert main([*arguments, "--case", "s_2", "--case", "t", "--rename-agent", "desk=office"]) == 0
    assert ids_in("set.evalset.json") == ["t", "s_2"]
    recorded = read_environment("set.environment.json").cases
    assert {case.agent for case in recorded.values()} == {"office"}
    assert set(recorded) == {"t", "s_2"}


def test_a_dataset_is_written_whole_and_behind_its_recording(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A disk that refuses the second file leaves the recording alone there; one that refuses the first leaves what was there."""
    refused_at, written = 2, 0

    def fsync(_: int) -> None:
        nonlocal written
        written += 1
        if written == refused_at:
            raise OSError(errno.ENOSPC, "disk full")

    monkeypatch.setattr("os.fsync", fsync)
    words = ["export", str(DESK), "--form", "dataset", "--out", "made", "--name", "desk", "--force"]
    assert main(words) == 2
    assert "disk full" in capsys.readouterr().err
    (recording,) = (here / "made").iterdir()
    assert recording.name.endswith(".environment.json")
    dataset = here / "made" / "desk-dataset.json"
    for path in (recording, dataset):
        path.write_text("before")
    refused_at, written = 1, 0
    assert main(words) == 2
    assert {path.name: path.read_text() for path in (here / "made").iterdir()} == {
        recording.name: "before",
        dataset.name: "before",
    }
