"""`python -m simulator sessions` and `script` bring a kept session back as a file that can be changed and played again."""

from __future__ import annotations

import json
import re
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from app.live.session_store import STORE_VARIABLE as OF_THE_PAGE
from evalset.cli.main import simulator_main as main
from evalset.cli.sessions_command import STORE_VARIABLE
from simulator import Simulation, demo_agent
from simulator.scripts import read_script
from simulator.store import JournalStore
from tests.evalset.ending import Ends
from tests.evalset.sessions import PATIENCE

LOST = "Where is order A-1002?"


@pytest.fixture
def run(ends: Ends) -> Ends:
    """Runs a command of the program for sessions."""
    return partial(ends, program=main)


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    """A database with a session of each of two people, and one that this session has no user message in."""
    path = tmp_path / "sessions.db"
    store = JournalStore.open(path)
    config = demo_agent("order_desk")
    for number, owner in enumerate(("ada", "bob", "bob")):
        with Simulation.open(
            config,
            session_id=f"session-{number}",
            seed="s",
            keep=partial(store.begin, owner=owner, agent_key="order_desk"),
        ) as simulation:
            if number < 2:
                assert simulation.query(LOST, wait=PATIENCE)
                call = simulation.pending[0]
                assert simulation.answer(call, {"order_id": "A-1002", "status": "lost"}, wait=PATIENCE)
            simulation.journal.keep()
    store.close()
    return path


def test_sessions_of_everybody_are_listed(kept: Path, run: Ends) -> None:
    """A line for each, or an object; words narrow it down; none at all is exit code 1."""
    lines = run(0, "sessions", "--store", kept).out.splitlines()
    assert len(lines) == 3
    assert sum(LOST in line and "order_desk" in line and "1 turn " in line for line in lines) == 2
    out = run(0, "sessions", "--store", kept, "--json", "--search", "a-1002").out
    found: list[Any] = [json.loads(line) for line in out.splitlines()]
    assert {(each["owner"], each["status"], each["turns"]) for each in found} == {
        ("ada", "completed", 1),
        ("bob", "completed", 1),
    }
    assert all("shared_token" not in each for each in found)
    run(1, "sessions", "--store", kept, "--archived")


def test_record_once_change_a_line_run_again(kept: Path, tmp_path: Path, run: Ends) -> None:
    """The whole way without the page: the session as a script, another answer, and the trace of that."""
    file, out = tmp_path / "lost.yaml", tmp_path / "set.evalset.json"
    said = run(0, "script", "session-1", "--store", kept, "--agent", "model", "--out", file).err
    assert said == f"{file}: 1 turn\n"
    file.write_text(file.read_text().replace("status: lost", "status: found"))
    run(0, "run", "order_desk", "--script", file, "--out", out, "--strict")
    assert '"found"' in out.read_text()
    assert '"lost"' not in out.read_text()


def test_a_script_comes_from_an_exported_file_too(kept: Path, tmp_path: Path, run: Ends) -> None:
    """With the same lines; and as JSON, with a name."""
    store = JournalStore.open(kept)
    file = tmp_path / "exported.session.json"
    file.write_text(store.export("session-0"))
    store.close()
    of_file = run(0, "script", file).out
    assert of_file == run(0, "script", "session-0", "--store", kept).out
    assert read_script(of_file).script.turns[0].say == LOST
    as_json = run(0, "script", file, "--form", "json", "--name", "The lost order").out
    assert json.loads(as_json)["name"] == "The lost order"


@pytest.mark.long
@pytest.mark.parametrize(
    ("words", "code", "wanted"),
    [
        (["script", "nobody"], 2, "SESSION: 'nobody'"),
        (["script", "session"], 2, "SESSION: 3 .*'session': .*session-2"),
        (["script", "se"], 2, "SESSION: 'se' "),
        (["script", "session-2"], 3, "user message"),
        (["script", "session-0", "--out", "/nowhere/x"], 2, "--out: /nowhere/x: "),
    ],
)
def test_what_cannot_be_made_a_script_is_said(
    words: list[str], code: int, wanted: str, kept: Path, run: Ends
) -> None:
    """With the exit code of its kind."""
    out, err = run(code, *words, "--store", kept)
    assert out == ""
    assert re.search(wanted, err)


def test_a_store_is_never_made_by_looking(tmp_path: Path, run: Ends) -> None:
    """One that is not there, or is none, is bad input; an emptied one is no store without sessions. Each stays as it is."""
    texts = {"bad.db": "no database " * 100, "empty.db": ""}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    for name in ("none.db", *texts):
        for words in (("sessions",), ("script", "one")):
            assert re.search(f"^--store: .*{tmp_path / name}", run(2, *words, "--store", tmp_path / name).err)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == texts
    broken = tmp_path / "broken.json"
    broken.write_text("{}")
    assert run(2, "script", broken).err.startswith(f"{broken}: ")


def test_the_page_and_the_commands_look_in_the_same_place() -> None:
    """One variable names the database for both."""
    assert STORE_VARIABLE == OF_THE_PAGE
