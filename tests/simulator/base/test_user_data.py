"""What the studio keeps of a user is for that user alone, whatever the umask and an earlier version were."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.live.destinations import remember_set
from app.server.owners import LOCAL
from evalset import EvalSetWriter
from evalset.kept_runs import KeptRun, keep_run
from simulator.agents import demo_sets_folder
from simulator.agents.agent_settings import choose_python
from simulator.base.user_files import made_folder
from simulator.store.database import Database
from simulator.store.errors import default_path
from tests.evalset.files.examples import a_case


@pytest.fixture(autouse=True)
def loose() -> Iterator[None]:
    """A umask that takes nothing away."""
    before = os.umask(0)
    yield
    os.umask(before)


def modes(folder: Path) -> dict[str, int]:
    """Return the modes of a folder and of all in it, by their paths from there."""
    found = {".": folder, **{str(each.relative_to(folder)): each for each in folder.rglob("*")}}
    return {name: stat.S_IMODE(each.stat().st_mode) for name, each in found.items()}


def open_to_others(folder: Path) -> dict[str, int]:
    """Return what others than the user may do something with."""
    return {name: mode for name, mode in modes(folder).items() if mode & 0o077}


@pytest.mark.parametrize("there", [None, 0o777])
def test_all_that_is_kept_is_for_this_user_alone(
    there: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The database with what SQLite writes next to it, sets of demos, what is remembered: also in a folder of an earlier version."""
    data = tmp_path / "share" / "data"
    monkeypatch.setenv("GOLDEN_TRACE_DATA_DIR", str(data))
    if there is not None:
        data.mkdir(parents=True)
        data.chmod(there)
        (data / "eval_sets").mkdir()
        (data / "sessions.db").touch(0o666)
    eval_set = demo_sets_folder() / "order_desk" / "a.evalset.json"
    EvalSetWriter(eval_set, "order_desk").write_eval_case(a_case("one"))
    remember_set(LOCAL, eval_set)
    choose_python(tmp_path, Path("/usr/bin/python3"))
    store = Database(default_path(os.environ), patience=60)
    try:
        assert {"sessions.db", "sessions.db-wal", "sessions.db-shm", "interpreters.json"} <= set(modes(data))
        assert open_to_others(data) == {}
    finally:
        store.close()


def test_a_kept_run_next_to_a_set_is_private_and_the_set_is_as_it_was(tmp_path: Path) -> None:
    """It has what tools answered; the folder of the project is nobody else's matter."""
    project = tmp_path / "project"
    project.mkdir(mode=0o755)
    eval_set = project / "a.evalset.json"
    EvalSetWriter(eval_set, "desk").write_eval_case(a_case("one"))
    path = keep_run(eval_set, KeptRun(engine="verify", eval_set="a", at="2026-01-01T00:00:00Z", cases=()))
    assert open_to_others(path.parent) == {}
    assert {name: mode for name, mode in modes(project).items() if name in {".", "a.evalset.json"}} == {
        ".": 0o755,
        "a.evalset.json": 0o666,
    }


def test_a_folder_that_is_everybodys_stays_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a temporary one is that somebody has named for the data, and one that holds a database of their own choice."""
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    monkeypatch.setenv("GOLDEN_TRACE_DATA_DIR", str(shared))
    made_folder(shared / "inner")
    assert modes(shared) == {".": 0o1777, "inner": 0o700}
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    elsewhere.chmod(0o775)
    Database(elsewhere / "mine.db", patience=60).close()
    assert modes(elsewhere)["."] == 0o775
    assert modes(elsewhere)["mine.db"] == 0o600
