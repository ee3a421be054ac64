"""Several processes write into one file at once, or are killed while they do: nothing is lost, nothing is torn."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from evalset import EvalSetError, EvalSetWriter
from simulator.base.atomic_files import Lock, database_lock, flock_lock, folder_lock, lock_path, system_lock
from tests.evalset.files.examples import AGENT, a_case, held_ids
from tests.harness.processes import REPOSITORY, wait_until


def test_threads_lose_none(tmp_path: Path) -> None:
    """Threads of one process that share what is known of the file lose nothing either."""
    path = tmp_path / "set.evalset.json"

    def append(name: str) -> None:
        for number in range(20):
            EvalSetWriter(path, AGENT).write_eval_case(a_case(f"{name} {number}"))

    threads = [threading.Thread(target=append, args=(name,)) for name in ("a", "b", "c")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(held_ids(path))) == 60


_KILLED_AT = """
import os, signal, sys
from evalset import EvalSetWriter
from tests.evalset.files.examples import a_case
calls = int(sys.argv[2])
def trace(frame, event, argument):
    global calls
    if event == "line" and "/evalset/" in frame.f_code.co_filename:
        calls -= 1
        if calls == 0:
            os.kill(os.getpid(), signal.SIGKILL)
    return trace
writer, case = EvalSetWriter(sys.argv[1], "Order Desk"), a_case("new", turns=4)
for life in range(int(sys.argv[3])):
    child = os.fork()
    if child == 0:
        sys.settrace(trace)
        writer.write_eval_case(case)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    print(os.WIFSIGNALED(status), open(sys.argv[1], "rb").read().count(b'"eval_id"'), flush=True)
    calls += int(sys.argv[4])
    if not os.WIFSIGNALED(status):
        break
"""


@pytest.mark.long
@pytest.mark.skipif(not hasattr(os, "fork"), reason="the writer is killed in a fork")
def test_a_writer_killed_at_any_line_leaves_the_old_or_the_new_file(tmp_path: Path) -> None:
    """Killed at one line after another of its way, a writer leaves the old text, and at last the new one."""
    path = tmp_path / "set.evalset.json"
    EvalSetWriter(path, AGENT).write_eval_case(a_case("one"))
    old = path.read_bytes()
    command = [sys.executable, "-W", "ignore", "-c", _KILLED_AT, str(path), "1", "1000", "5"]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    lives = [line.split() for line in done.stdout.splitlines()]
    assert len(lives) > 20
    held = [int(count) for _, count in lives]
    assert held == sorted(held)
    assert set(held) == {1, 2}
    assert held_ids(path) == ["one", "new"]
    assert EvalSetWriter(path, AGENT).write_eval_case(a_case("after")).eval_id == "after"
    assert path.read_bytes()[: old.index(b"\n  ],\n")] == old[: old.index(b"\n  ],\n")]


@pytest.mark.parametrize("chosen", [folder_lock, flock_lock, database_lock])
def test_a_held_lock_is_waited_for_and_then_told(tmp_path: Path, chosen: Lock) -> None:
    """A writer that finds the file locked waits, and after its time says so and has written nothing."""
    path = tmp_path / "set.evalset.json"
    assert system_lock in {folder_lock, database_lock}
    EvalSetWriter(path, AGENT, lock=chosen).write_eval_case(a_case("one"))
    with (
        chosen(lock_path(path), 1.0),
        pytest.raises(EvalSetError, match=r"set\.evalset\.json: .*0\.05 s"),
    ):
        EvalSetWriter(path, AGENT, lock=chosen, lock_timeout=0.05).write_eval_case(a_case("two"))
    assert held_ids(path) == ["one"]
    waiting = threading.Thread(
        target=lambda: EvalSetWriter(path, AGENT, lock=chosen).write_eval_case(a_case("three"))
    )
    with chosen(lock_path(path), 1.0):
        waiting.start()
        wait_until(waiting.is_alive, what="the other writer")
        assert held_ids(path) == ["one"]
    waiting.join()
    assert held_ids(path) == ["one", "three"]


def test_what_a_killed_writer_left_is_cleared_away(tmp_path: Path) -> None:
    """Half a file and a lock of a dead process do not stand in the way, and are gone after the next write."""
    path = tmp_path / "set.evalset.json"
    EvalSetWriter(path, AGENT).write_eval_case(a_case("one"))
    (tmp_path / ".set.evalset.json.tmp").write_text('{"eval_set_id": "se')
    lock_path(path).write_text("")
    EvalSetWriter(path, AGENT, lock=flock_lock).write_eval_case(a_case("two"))
    assert [each.name for each in tmp_path.iterdir()] == [path.name]
    assert json.loads(path.read_text())["eval_set_id"] == "set"


def test_where_folders_have_no_locks_a_file_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a file system that locks no folders, as network ones do, writers still keep each other out, by a file.

    The system's call is replaced, as no such file system is at hand.
    """
    real = fcntl.flock

    def flock(descriptor: int, operation: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        real(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", flock)
    path = tmp_path / "set.evalset.json"
    with folder_lock(lock_path(path), 1.0):
        assert lock_path(path).exists()
        with pytest.raises(EvalSetError, match=r"set\.evalset\.json: .*0\.05 s"):
            EvalSetWriter(path, AGENT, lock_timeout=0.05).write_eval_case(a_case("one"))
    EvalSetWriter(path, AGENT).write_eval_case(a_case("two"))
    assert [each.name for each in tmp_path.iterdir()] == [path.name]
    assert held_ids(path) == ["two"]
