"""A set that holds its recording inside, as a download does, is used as one with the file beside it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from evalset.cli.main import main as golden_trace
from evalset.doctor import examine, mend, preview
from evalset.editing.case_edits import RenameCase
from evalset.editing.set_saving import save
from evalset.editing.sidecars import open_beside
from evalset.recorded import recording_files
from evalset.recorded.recording import RecordedEnvironment
from evalset.recorded.recording_files import (
    RecordedEnvironmentError,
    joined,
    put_cases,
    read_environment,
    recording_of,
    sidecar_of,
)
from evalset.recorded.tolerances import Ignore
from evalset.verify import VerifyError, add_tolerances, verify
from evalset.verify.metric import eval_config
from simulator.base import documents
from tests.evalset.editing.editing_sets import work_on
from tests.evalset.verify.desks import agents, the_case


@pytest.fixture
def inside(kept: Path, tmp_path: Path) -> Path:
    """The same set as one file."""
    path = tmp_path / "set" / "desk.evalset.json"
    path.parent.mkdir()
    path.write_text(joined(kept.read_text(), read_environment(sidecar_of(kept))))
    return path


def test_the_file_beside_wins_and_a_named_one_wins_over_both(
    inside: Path, kept: Path, tmp_path: Path
) -> None:
    """One that holds nothing of the case leaves it without a recording."""
    folder = agents(tmp_path)
    assert recording_of(inside) == inside
    other = tmp_path / "other.environment.json"
    for path in (sidecar_of(inside), other):
        put_cases(path, {"two": None})
    assert recording_of(inside) == sidecar_of(inside)
    assert read_environment(inside) == RecordedEnvironment()
    assert the_case(verify(inside, agents_dir=folder, models="recorded")).status == "error"
    named = verify(inside, agents_dir=folder, models="recorded", environment=sidecar_of(kept))
    assert named.status == "passed"
    sidecar_of(inside).unlink()
    named = verify(inside, agents_dir=folder, models="recorded", environment=other)
    assert the_case(named).status == "error"


@pytest.mark.long
def test_the_first_change_makes_the_file_beside_of_it(
    inside: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A verification names the recording inside and writes nothing.

    What else was recorded is in the file beside too, the set is as it was, and a result from before is out of date.
    """
    folder, before, recorded = agents(tmp_path), inside.read_bytes(), read_environment(inside)
    assert golden_trace(["verify", str(inside), "--agents-dir", str(folder), "--models", "recorded"]) == 0
    assert "recording: inside desk.evalset.json" in capsys.readouterr().out
    found = verify(inside, agents_dir=folder, models="recorded")
    assert (found.status, found.environment) == ("passed", inside)
    assert [path.name for path in inside.parent.iterdir()] == [inside.name]
    assert found.measured is not None
    assert found.measured.changes() == ()
    tolerance = Ignore(tool="check", path="/order")
    assert add_tolerances(inside, "two", [tolerance], found.environment) == (tolerance,)
    assert found.measured.changes() == ("the recording",)
    now = read_environment(sidecar_of(inside))
    assert now.cases["two"] == recorded.cases["two"].model_copy(update={"tolerances": (tolerance,)})
    assert inside.read_bytes() == before
    assert verify(inside, agents_dir=folder, models="recorded").environment == sidecar_of(inside)
    assert read_environment(inside) == now


def test_a_set_is_looked_through_once_until_it_changes(inside: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page asks on each click, and a set may be large."""
    reads: list[Path] = []
    opened = documents.open_file

    def read(path: Path, *arguments: Any) -> Any:
        reads.append(path)
        return opened(path, *arguments)

    monkeypatch.setattr(recording_files, "open_file", read)
    assert [recording_of(inside) for _ in range(5)] == [inside] * 5
    assert reads == [inside]
    document = json.loads(inside.read_text())
    del document["recorded_environment"]
    inside.write_text(json.dumps(document))
    assert recording_of(inside) == sidecar_of(inside)
    assert reads == [inside, inside]


def test_what_stands_there_and_is_no_recording_is_named(inside: Path, tmp_path: Path) -> None:
    """With the set and the place."""
    document = json.loads(inside.read_text())
    document["recorded_environment"]["version"] = 99
    inside.write_text(json.dumps(document))
    with pytest.raises(RecordedEnvironmentError, match=r"desk\.evalset\.json: recorded_environment: .*99"):
        read_environment(inside)
    with pytest.raises(VerifyError, match=r"recorded_environment: .*99"):
        verify(inside, agents_dir=agents(tmp_path))
    assert "version is 99" in open_beside(inside).trouble
    document["recorded_environment"] = "none"
    inside.write_text(json.dumps(document))
    with pytest.raises(RecordedEnvironmentError, match=r"desk\.evalset\.json: recorded_environment: "):
        read_environment(inside)


def test_the_editor_the_criteria_and_the_doctor_read_it(inside: Path, kept: Path, tmp_path: Path) -> None:
    """As they read the file beside."""
    beside = open_beside(inside)
    assert beside.case("two") == read_environment(sidecar_of(kept)).cases["two"]
    assert (beside.path, beside.is_inside) == (sidecar_of(inside), True)
    assert f'"environment": {json.dumps(str(inside))}' in json.dumps(eval_config(inside))
    found = examine([inside], agents_dir=agents(tmp_path))
    alone = tmp_path / "beside"
    alone.mkdir()
    for path in (kept, sidecar_of(kept)):
        shutil.copy(path, alone)
    expected = examine([alone / kept.name], agents_dir=agents(tmp_path))
    assert [each.code for file in found.files for each in file.findings] == [
        each.code for file in expected.files for each in file.findings
    ]


def test_the_doctor_changes_the_recording_beside_the_set(inside: Path, tmp_path: Path) -> None:
    """A new id of the case, or a new name of a tool, holds in both files; a look at what would change writes nothing."""
    inside.write_text(
        inside.read_text().replace('"eval_id": "two"', '"eval_id": "a:b"').replace('"two": {', '"a:b": {')
    )
    assert preview([inside]).files
    assert not sidecar_of(inside).exists()
    assert {change.file for change in mend([inside]).files} == {inside, sidecar_of(inside)}
    assert list(read_environment(sidecar_of(inside)).cases) == ["a_b"]
    assert verify(inside, agents_dir=agents(tmp_path), models="recorded").status == "passed"


def test_an_edit_on_the_page_makes_the_file_beside(inside: Path) -> None:
    """A case that gets another id there keeps its recording."""
    work, recorded = work_on(inside), read_environment(inside).cases["two"]
    (key,) = work.state.order
    assert work.is_recorded(key)
    work.apply(RenameCase(case=key, eval_id="other"))
    saved = save(work)
    assert (saved.beside, saved.trouble) == (sidecar_of(inside), "")
    assert list(read_environment(inside).cases) == ["other"]
    assert read_environment(inside).cases["other"].turns == recorded.turns
