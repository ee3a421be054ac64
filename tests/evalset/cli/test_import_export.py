"""`golden-trace import` and `golden-trace export`: what they write, what they refuse, and their exit codes."""

from __future__ import annotations

import errno
import json
import math
import re
import shutil
import zipfile
from pathlib import Path
from typing import Any

import pytest
from google.adk.evaluation.local_eval_sets_manager import load_eval_set_from_file

from evalset import EXPORT_FORMS
from evalset.cli.export_command import FORMS
from evalset.editing.sidecars import CaseReview, has_changed_since, open_reviews, reviews_text
from evalset.files.eval_names import case_digest, reviews_path
from evalset.recorded.recording_files import read_environment, sidecar_of
from simulator.base.documents import LIMITS
from tests.evalset.doctor.examples import a_case, a_set, a_turn
from tests.evalset.ending import Ends
from tests.evalset.importing.test_dataset_cases import a_trace
from tests.harness.processes import REPOSITORY
from tests.simulator.base.drawn_json import put as changed

KEPT = REPOSITORY / "tests" / "conformance" / "files"
DESK = KEPT / "order_desk.evalset.json"


def a_session(name: str) -> dict[str, Any]:
    """A session as ADK's API gives it."""
    parts = {"user": "Hello.", "desk": "Good morning."}
    events = [{"author": who, "content": {"parts": [{"text": words}]}} for who, words in parts.items()]
    return {"id": name, "appName": "desk", "events": events}


def put(path: str, *cases: Any, **sessions: Any) -> None:
    """Write a set of these cases, or sessions."""
    Path(path).parent.mkdir(exist_ok=True)
    Path(path).write_text(json.dumps(a_set(*cases) if cases else [*map(a_session, sessions)]))


def ids_in(path: Path | str) -> list[str]:
    """The ids of a set's cases, as ADK's loader reads them."""
    return [case.eval_id for case in load_eval_set_from_file(str(path), "set").eval_cases]


def test_a_trace_is_exported_with_what_it_records(here: Path, ends: Ends) -> None:
    """A dataset of traces holds its recording itself."""
    Path("runs-dataset.json").write_text(json.dumps({"eval_cases": [a_trace()]}))
    ends(0, "export", "runs-dataset.json", "--form", "evalset", "--out", "out", "--strict")
    (written,) = (here / "out").glob("*.environment.json")
    assert list(read_environment(written).cases) == ["traced"]


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
def test_any_value_that_adk_takes_is_imported(
    here: Path, place: tuple[str | int, ...], value: Any, ends: Ends
) -> None:
    """One odd value of a case does not keep it, or the others, from being imported; ADK reads what is written."""
    case = a_case("one", session_input={"app_name": "desk", "user_id": "u", "state": {}})
    put("odd.evalset.json", changed(case, place, value), a_case("two"))
    ends(0, "import", "odd.evalset.json", "--out", "new.evalset.json")
    assert len(ids_in(here / "new.evalset.json")) == 2


@pytest.mark.long
def test_the_same_problem_of_many_cases_is_one_line(here: Path, ends: Ends) -> None:
    """With how many more there are; what was added and what was renamed is counted, and JSON has each by itself."""
    unanswered = {"tool_uses": [{"name": "find", "args": {"x": 1}}, {"name": "roll", "args": {}}]}
    names = ["a/b", "a:b", *(f"case {number}" for number in range(198))]
    put("many.evalset.json", *(a_case(name, a_turn(intermediate_data=unanswered)) for name in names))
    said = ends(0, "import", "many.evalset.json", "--out", here / "new.evalset.json")
    assert said.out.splitlines()[0].endswith(": 200 cases added, 2 renamed")
    assert "  a_b_2 (was a:b): 1 turn" in said.out
    more = [line.rpartition("(")[2] for line in said.err.splitlines() if "renamed" not in line]
    assert more == ["and 199 more like this)"] * 2
    assert said.err.count("\n") == 3
    told = ends(0, "import", "many.evalset.json", "--out", "other.evalset.json", "--json").out
    assert len(json.loads(told)["problems"]) == 402


def test_a_recording_that_nothing_could_read_is_not_written(
    here: Path, monkeypatch: pytest.MonkeyPatch, ends: Ends
) -> None:
    """Neither are its cases, where they alone are too many; and what to do is named."""
    words, out, most = (
        ("import", "sessions.json", "--out", "big.evalset.json"),
        here / "big.evalset.json",
        LIMITS["recording"],
    )
    put("sessions.json", one=1)
    monkeypatch.setitem(LIMITS, "recording", 100)
    assert "Nothing was added. Import fewer cases at once" in ends(2, *words).err
    assert not out.exists()
    monkeypatch.setitem(LIMITS, "recording", most)
    ends(0, *words)
    monkeypatch.setitem(LIMITS, "recording", (size := sidecar_of(out).stat().st_size) + 100)
    assert "Add fewer cases" in ends(2, *words).err
    assert sidecar_of(out).stat().st_size == size


def test_sessions_become_cases_of_a_new_set(here: Path, ends: Ends) -> None:
    """From several paths at once; what cannot be imported is named; the output names file and cases.

    A dry run says what would be written; a strict one ends with 1 where something is left out.
    """
    words = ("import", "--out", "new/desk.evalset.json", "sessions")
    put("sessions/one.json", one=1)
    assert "\n  one: 1 turn, recorded\n" in ends(0, *words, "--dry-run").out
    Path("sessions/bad.session.json").write_text("{")
    put("two.json", two=2)
    ends(1, *words, "--strict")
    said = ends(2, *words, "--case", "two").err
    assert "--case: " in said
    assert "'two'" in said
    assert "did you mean one?" in ends(2, *words, "--case", "onne").err
    ends(1, *words[:-1], "sessions/bad.session.json")
    assert not Path("new").exists()
    shown = ends(0, *words, "two.json")
    assert ids_in("new/desk.evalset.json") == ["one", "two"]
    assert f"{here / 'new/desk.evalset.json'}: 2 cases added" in shown.out
    assert "bad.session.json: " in shown.err


@pytest.mark.parametrize("damaged", ["{", '{"eval_cases": 3, "eval_set_id": "x"}'])
def test_a_set_that_is_none_stays_as_it_is(here: Path, damaged: str, ends: Ends) -> None:
    """Bad input, named by its file."""
    Path("set.evalset.json").write_text(damaged)
    for source, named in ((DESK, "set.evalset.json"), ("nowhere.json", "nowhere.json")):
        assert named in ends(2, "import", source, "--out", "set.evalset.json").err
        assert Path("set.evalset.json").read_text() == damaged


@pytest.mark.long
def test_many_cases_are_written_in_one_step(here: Path, monkeypatch: pytest.MonkeyPatch, ends: Ends) -> None:
    """The file is put in its place once, however many cases there are."""
    put("many.json", **{f"s{number}": number for number in range(300)})
    synced: list[int] = []
    monkeypatch.setattr("os.fsync", synced.append)  # counts the writes; nothing else tells of them
    for _ in range(2):
        ends(0, "import", "many.json", "--out", "set.evalset.json", "--quiet")
    assert len(ids_in("set.evalset.json")) == 600
    assert len(synced) <= 8


def test_each_form_has_a_line_in_the_help() -> None:
    """A new form must get its words here."""
    assert set(FORMS) == set(EXPORT_FORMS)


@pytest.mark.parametrize("form", [form for form in EXPORT_FORMS if form != "scenarios"])
def test_an_eval_set_is_written_in_a_form(here: Path, form: str, ends: Ends) -> None:
    """Into a folder; the files are printed, and a second time nothing is written over."""
    words = ("export", DESK, "--form", form, "--out", "made", "--name", "shop")
    printed = ends(0, *words).out.splitlines()
    assert printed
    assert all(Path(line).read_bytes() for line in printed)
    ends(0, *words)
    Path(printed[0]).write_text("mine")
    assert "--force" in ends(2, *words).err
    assert Path(printed[0]).read_text() == "mine"
    ends(0, *words, "--force")
    assert Path(printed[0]).read_text() != "mine"


def test_an_archive_and_the_standard_output_are_places_too(here: Path, ends: Ends) -> None:
    """A .zip file holds all files; the standard output takes one."""
    told = ends(0, "export", DESK, "--form", "evalset", "--out", "desk.zip", "--json").out
    assert json.loads(told)["files"] == ["desk.zip"]
    with zipfile.ZipFile("desk.zip") as archive:
        assert archive.namelist() == ["order_desk.evalset.json", "order_desk.environment.json"]
    told = ends(0, "export", DESK, "--form", "simulation_json", "--out", "-").out
    assert "tool_simulation_configs" in json.loads(told)
    assert "name a folder" in ends(2, "export", DESK, "--form", "evalset", "--out", "-").err


def test_reviews_are_written_next_to_the_set(here: Path, ends: Ends) -> None:
    """Those of its cases; a damaged file of them is named, and nothing is written."""
    path = Path(shutil.copy(DESK, here))
    review = CaseReview(status="approved", reviewer="Ann")
    reviews_path(path).write_bytes(reviews_text({ids_in(path)[0]: review, "gone": review}))
    ends(0, "export", path, "--form", "evalset", "--out", "out")
    assert open_reviews(here / "out" / path.name).reviews == {ids_in(path)[0]: review}
    told = ends(0, "export", path, "--form", "evalset", "--out", "-")
    assert ids_in(path)[0] in told.out
    assert re.search("warning: .*reviews.*--out", told.err)
    told = ends(0, "export", path, "--form", "adk_test", "--out", "tests")
    assert re.search("warning: .*reviews", told.err)
    reviews_path(path).write_text("[]")
    told = ends(2, "export", path, "--form", "evalset", "--out", "other")
    assert str(reviews_path(path)) in told.err
    assert not Path("other").exists()


@pytest.mark.parametrize("changed", [False, True])
def test_a_decision_holds_for_a_case_that_an_import_writes_another_way(
    here: Path, ends: Ends, *, changed: bool
) -> None:
    """In camel case, as another program wrote it: what was decided about what it holds is still decided."""
    case = json.loads(DESK.read_text())["eval_cases"][0]
    held = {"evalId": "theirs", "conversation": [{"userContent": case["conversation"][0]["user_content"]}]}
    Path("theirs.evalset.json").write_text(json.dumps({"eval_set_id": "theirs", "eval_cases": [held]}))
    about = {**held, "conversation": []} if changed else held
    review = CaseReview(status="approved", reviewer="Ann", digest=case_digest(about))
    reviews_path(here / "theirs.evalset.json").write_bytes(reviews_text({"theirs": review}))
    ends(0, "import", "theirs.evalset.json", "--out", "out.evalset.json")
    (written,) = json.loads(Path("out.evalset.json").read_text())["eval_cases"]
    assert "user_content" in written["conversation"][0]
    assert has_changed_since(open_reviews("out.evalset.json").reviews["theirs"], written) == changed


def test_reviews_come_along_with_each_set_of_an_archive(here: Path, ends: Ends) -> None:
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
    words = ("import", "sets.zip", "--out", out, "--case", case)
    told = ends(0, *words, "--case", f"{case}_2", "--json")
    assert json.loads(told.out)["reviews"] == str(reviews_path(out))
    assert open_reviews(out).reviews == {"other": first, case: first, f"{case}_2": second}
    assert "sets.zip/c/desk.review.json: " in told.err
    assert told.err.count("warning") == 2  # and one for the id
    reviews_path(out).write_text("[]")
    assert str(reviews_path(out)) in ends(2, *words).err
    assert ids_in(out)[-1] == f"{case}_3"
    assert reviews_path(out).read_text() == "[]"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--form", "evalset", "--case", "none"], "--case: .*'none'"),
        (["--form", "scenarios"], "scenario"),
        (["--form", "pytest", "--environment", "none.json"], "--environment: .*none.json"),
        (["--form", "pytest", "--agents-dir", "none"], "--agents-dir: .*none"),
        (
            ["--form", "pytest", "--agent", "order_dsk"],
            "--agent: agent 'order_dsk' not found: .*did you mean order_desk",
        ),
    ],
)
def test_what_cannot_be_exported_says_why(here: Path, arguments: list[str], says: str, ends: Ends) -> None:
    """Bad input; nothing is written."""
    assert re.search(says, ends(2, "export", DESK, *arguments).err)
    assert list(here.iterdir()) == []


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
    here: Path, options: list[str], code: int, says: str, ends: Ends
) -> None:
    """It is decided before either is replaced; nothing is left beside them."""
    for end in ("evalset", "environment"):
        shutil.copy(KEPT / f"order_desk.{end}.json", f"set.{end}.json")
    said = {"parts": [{"text": "Hi"}]}
    plain = {"user_content": said, "final_response": said}
    far = {"intermediate_data": {"tool_uses": [{"name": "find", "args": {"far": math.inf}}]}}
    half = {"app_name": "desk", "user_id": "u", "state": {"name": "\ud800"}}
    put(
        "many.json",
        {"eval_id": "plain", "conversation": [plain]},
        {"eval_id": "half", "conversation": [plain], "session_input": half},
        {"eval_id": "endless", "conversation": [{**plain, **far}]},
    )
    before = {path: path.read_bytes() for path in here.iterdir()}
    assert says in ends(code, "import", "many.json", "--out", "set.evalset.json", "--quiet", *options).err
    assert {path: path.read_bytes() for path in here.iterdir()} == before


def test_a_chosen_case_is_taken_with_its_renamed_agent(here: Path, ends: Ends) -> None:
    """Alone, with its recording under the new name; the ids of several files are given in their order."""
    for name in ("one", "two"):
        put(f"{name}.json", s=1, t=2)
    words = ["import", "one.json", "two.json", "--out", "set.evalset.json", "--quiet"]
    ends(0, *words, "--case", "s_2", "--case", "t", "--rename-agent", "desk=office")
    assert ids_in("set.evalset.json") == ["t", "s_2"]
    recorded = read_environment("set.environment.json").cases
    assert {name: case.agent for name, case in recorded.items()} == {"t": "office", "s_2": "office"}


def test_a_dataset_is_written_whole_and_behind_its_recording(
    here: Path, monkeypatch: pytest.MonkeyPatch, ends: Ends
) -> None:
    """A disk that refuses the second file leaves the recording alone there; one that refuses the first leaves what was there."""
    left = iter((False, True, True))

    def fsync(_: int) -> None:
        if next(left):
            raise OSError(errno.ENOSPC, "disk full")

    monkeypatch.setattr("os.fsync", fsync)
    words = ["export", DESK, "--form", "dataset", "--out", "made", "--name", "desk", "--force"]
    assert "disk full" in ends(2, *words).err
    (recording,) = (here / "made").iterdir()
    assert recording.name.endswith(".environment.json")
    before = dict.fromkeys((recording, here / "made" / "desk-dataset.json"), "before")
    for path in before:
        path.write_text("before")
    ends(2, *words)
    assert {path: path.read_text() for path in (here / "made").iterdir()} == before
