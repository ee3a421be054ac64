"""Answers join a recorded case: what is there stays, several writers lose nothing, and what is damaged is left alone."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from evalset.recorded.added_answers import add_played, new_answers
from evalset.recorded.recording import (
    Author,
    RecordedCall,
    RecordedCase,
    RecordedEnvironment,
    RecordedTurn,
    RejectedCall,
)
from evalset.recorded.recording_files import (
    RecordedEnvironmentError,
    change_environment,
    put_cases,
    read_environment,
)
from simulator.facts import Returned
from tests.harness.processes import REPOSITORY

WRITTEN = Author(source="written")


def call(tool: str, argument: Any, answer: Any = None, **more: Any) -> RecordedCall:
    """Make a call with its answer."""
    return RecordedCall(
        tool=tool, arguments={"x": argument}, outcome=Returned(value=answer), author=WRITTEN, **more
    )


def add_calls(path: Path | str, eval_id: str, *calls: RecordedCall) -> RecordedCase:
    """Add calls behind those of a case's first turn."""

    def change(before: RecordedEnvironment) -> RecordedEnvironment:
        case = before.cases[eval_id]
        first = case.turns[0].model_copy(update={"calls": (*case.turns[0].calls, *calls)})
        longer = case.model_copy(update={"turns": (first, *case.turns[1:])})
        return before.model_copy(update={"cases": {**before.cases, eval_id: longer}})

    return change_environment(path, change).cases[eval_id]


def case_of(*turns: tuple[RecordedCall, ...], **more: Any) -> RecordedCase:
    """Make a case of its calls, turn by turn."""
    made = tuple(RecordedTurn(query={"role": "user"}, calls=calls, **more) for calls in turns)
    return RecordedCase(agent="desk", app_name="desk", turns=made)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file with two cases."""
    found = tmp_path / "desk.environment.json"
    put_cases(found, {"one": case_of((call("find", 1, "a"),), (call("find", 1, "b"),)), "two": case_of(())})
    return found


def test_what_a_session_answered_for_the_first_time_joins_its_turn(path: Path) -> None:
    """The same call once more, another tool, a call inside of an agent tool, a rejected one; twice adds nothing, and a link stays one."""
    inner = call("find", 1, "inside", within=("expert",))
    refused = RejectedCall(tool="pay", arguments={"x": 1}, confirmed={"confirmed": False})
    played = case_of((call("find", 1, "other"), call("find", 1, "again"), inner), (call("note", 2, "n"),), ())
    played = played.model_copy(
        update={"turns": (played.turns[0].model_copy(update={"rejected": (refused,)}), *played.turns[1:])}
    )
    found = new_answers(read_environment(path).cases["one"], played)
    assert found.total == 4
    link = path.with_name("link.environment.json")
    link.symlink_to(path)
    assert add_played(link, "one", played) == found
    assert link.is_symlink()
    first, second = read_environment(path).cases["one"].turns
    assert [each.outcome for each in first.calls] == [
        Returned(value="a"),
        Returned(value="again"),
        Returned(value="inside"),
    ]
    assert first.rejected == (refused,)
    assert [each.tool for each in second.calls] == ["find", "note"]
    before = path.read_bytes()
    assert add_played(path, "one", played).total == 0
    assert path.read_bytes() == before


def test_a_change_that_raises_leaves_the_file_as_it_is(path: Path) -> None:
    """A case that is not there is named; nothing is left beside the file."""
    before = path.read_bytes()

    def fail(_: Any) -> Any:
        raise LookupError

    with pytest.raises(LookupError):
        change_environment(path, fail)
    with pytest.raises(RecordedEnvironmentError, match="no case 'three'"):
        add_played(path, "three", case_of((call("find", 9, "new"),)))
    assert path.read_bytes() == before
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def test_a_program_that_takes_no_lock_is_not_written_over(path: Path) -> None:
    """What it wrote meanwhile is read, and changed in its turn; one that never stops is named."""
    written = 0

    def change(before: Any) -> Any:
        nonlocal written
        if written < 2:
            written += 1
            text = path.read_text()
            path.write_text(text.replace('"app_name": "desk"', f'"app_name": "desk_{written}"'))
        return before

    assert change_environment(path, change).cases["one"].app_name != "desk"
    written = -100
    with pytest.raises(RecordedEnvironmentError, match=r"desk\.environment\.json: .*chang"):
        change_environment(path, change)


_ADD = """
import sys
from tests.evalset.recorded.test_adding import add_calls, call
print("ready", flush=True)
sys.stdin.readline()
for number in range(8):
    add_calls(sys.argv[1], "two", call("find", f"{sys.argv[2]} {number}"))
"""


@pytest.mark.long
def test_two_processes_and_two_threads_lose_nothing(path: Path) -> None:
    """A process and two threads of this one add 8 calls each to one turn: all are there, each writer's in their order."""
    command = [sys.executable, "-W", "ignore", "-c", _ADD, str(path), "other"]
    process = subprocess.Popen(
        command, cwd=REPOSITORY, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout
    assert process.stdout.readline() == "ready\n"

    def add(name: str) -> None:
        for number in range(8):
            add_calls(path, "two", call("find", f"{name} {number}"))

    threads = [threading.Thread(target=add, args=(name,)) for name in ("upper", "lower")]
    for thread in threads:
        thread.start()
    process.communicate("go\n", timeout=120)
    assert process.returncode == 0
    for thread in threads:
        thread.join()
    found = [str(each.arguments["x"]) for each in read_environment(path).cases["two"].turns[0].calls]
    assert len(found) == 24
    for name in ("other", "upper", "lower"):
        assert [each for each in found if each.startswith(name)] == [
            f"{name} {number}" for number in range(8)
        ]
