"""The writer creates and appends, and a write that cannot be made says why and changes nothing."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import stat
import subprocess
import sys
import threading
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from google.adk.evaluation.local_eval_sets_manager import LocalEvalSetsManager, load_eval_set_from_file

from evalset import EvalSetError, EvalSetWriter, preview, read_back
from evalset.files import set_writer
from evalset.files.set_outline import KnownFiles
from simulator.base.user_files import Lock, database_lock, flock_lock, folder_lock, lock_path, system_lock
from tests.evalset.files.examples import AGENT, a_case, held_ids
from tests.harness.processes import REPOSITORY, wait_until

NOBODY = 65_534


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where a set is written."""
    return tmp_path / "set.evalset.json"


def contents(folder: Path) -> dict[str, bytes | None]:
    """Take stock of all that is in a folder."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in sorted(folder.rglob("*"))
    }


def test_the_first_case_founds_the_set_and_its_folders(tmp_path: Path) -> None:
    """A missing file is made, with its folders and nothing beside it."""
    path = tmp_path / "agents" / "order desk" / "order_desk_evals.evalset.json"
    written = EvalSetWriter(path, AGENT, clock=lambda: 7.5).write_eval_case(a_case("one"))
    assert (written.path, written.created, written.converted_copy) == (path, True, None)
    assert json.loads(path.read_text())["creation_timestamp"] == 7.5
    assert contents(path.parent).keys() == {path.name}


def test_the_next_case_is_appended_and_the_first_stays_as_it_is(path: Path, tmp_path: Path) -> None:
    """Everything before and behind the new case is there byte for byte, and ADK reads all cases back equal.

    `preview` gives the file's text to come and writes nothing.
    """
    writer = EvalSetWriter(path, AGENT)
    writer.write_eval_case(a_case("one"))
    before, stock = path.read_text(), contents(tmp_path)
    shown = preview(path, AGENT, a_case("two"))
    assert contents(tmp_path) == stock
    read_back(shown, a_case("two"))
    written = writer.write_eval_case(a_case("two"))
    after = path.read_text()
    assert after == shown
    assert not written.created
    seam = before.index("\n  ],\n", before.index('"eval_cases"'))
    assert after.startswith(before[:seam])
    assert after.endswith(before[seam:])
    read_back(path, a_case("one"))
    assert load_eval_set_from_file(str(path), "set").eval_cases == [a_case("one"), a_case("two")]


def test_mode_and_link_are_kept(tmp_path: Path) -> None:
    """A symbolic link stays a link, and the file behind it keeps its mode."""
    real = tmp_path / "elsewhere" / "real.json"
    EvalSetWriter(real, AGENT).write_eval_case(a_case("one"))
    real.chmod(0o640)
    link = tmp_path / "set.evalset.json"
    link.symlink_to(real)
    EvalSetWriter(link, AGENT).write_eval_case(a_case("two"))
    assert link.is_symlink()
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert held_ids(real) == ["one", "two"]


def test_attributes_are_kept(path: Path) -> None:
    """What somebody noted on the file outlives a write."""
    EvalSetWriter(path, AGENT).write_eval_case(a_case("one"))
    try:
        os.setxattr(path, "user.reviewed", b"yes")
    except OSError:
        pytest.skip("this file system keeps no attributes")
    EvalSetWriter(path, AGENT).write_eval_case(a_case("two"))
    assert os.getxattr(path, "user.reviewed") == b"yes"


def test_a_taken_id_is_refused_however_it_is_spelt(path: Path, tmp_path: Path) -> None:
    """A duplicate id is found also where the file writes it with escapes, and also when another program wrote it."""
    path.write_text('{"eval_set_id":"s","eval_cases":[{"eval_id":"o\\u006ee"},{"evalId":"two"}]}')
    writer = EvalSetWriter(path, AGENT)
    assert writer.eval_ids() == {"one", "two"}
    for taken in ("one", "two"):
        stock = contents(tmp_path)
        with pytest.raises(EvalSetError, match=rf"set\.evalset\.json: .*'{taken}'"):
            writer.write_eval_case(a_case(taken))
        assert contents(tmp_path) == stock
    path.write_text(path.read_text().replace("two", "six"))
    writer.write_eval_case(a_case("two"))
    with pytest.raises(EvalSetError, match="already has"):
        writer.write_eval_case(a_case("six"))


@pytest.mark.parametrize("eval_id", ["", " ", " a", "a:b", "a,b", "a/b", "a\\b", "a\nb"])
def test_an_id_that_adk_cannot_take_is_refused(tmp_path: Path, eval_id: str) -> None:
    """Ids that `adk eval FILE:ID,ID` would split, or that are no word at all, are refused."""
    with pytest.raises(EvalSetError, match="eval id"):
        EvalSetWriter(tmp_path / "new" / "set.json", AGENT).write_eval_case(a_case(eval_id))
    assert contents(tmp_path) == {}


def test_a_case_that_json_cannot_hold_is_refused(path: Path, tmp_path: Path) -> None:
    """A number with no JSON form is an error, and the file stays."""
    EvalSetWriter(path, AGENT).write_eval_case(a_case("one"))
    stock = contents(tmp_path)
    broken = a_case("two").model_copy(update={"final_session_state": {"x": float("nan")}})
    with pytest.raises(EvalSetError, match="cannot be written"):
        EvalSetWriter(path, AGENT).write_eval_case(broken)
    assert contents(tmp_path) == stock


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (b'{"eval_set_id": "s", "eval_cases": []}}', "not valid JSON"),
        (b"[1, 2]", "legacy"),
        (b"\xff\xfe{\x00}\x00", "not valid JSON"),
        (None, "folder"),
    ],
)
def test_a_broken_file_is_refused_and_stays(
    path: Path, tmp_path: Path, text: bytes | None, says: str
) -> None:
    """The error names the file, or the folder of its name, and what is wrong; nothing changes or lies beside it."""
    path.mkdir() if text is None else path.write_bytes(text)
    stock = contents(tmp_path)
    with pytest.raises(EvalSetError, match=rf"set\.evalset\.json: .*{says}"):
        EvalSetWriter(path, AGENT).write_eval_case(a_case("one"))
    assert contents(tmp_path) == stock


def test_a_file_in_the_way_of_the_folders_is_named(tmp_path: Path) -> None:
    """Where a parent of the path is a file, the error names both."""
    (tmp_path / "agents").write_text("no folder")
    with pytest.raises(EvalSetError, match=r"set\.json: .*\(.*agents\)"):
        EvalSetWriter(tmp_path / "agents" / "set.json", AGENT).write_eval_case(a_case("one"))
    assert contents(tmp_path) == {"agents": b"no folder"}


def test_a_full_disk_leaves_the_old_file(path: Path, tmp_path: Path) -> None:
    """When the last step fails the file is the old one, nothing lies beside it, and the next try works."""

    def refuse(source: Path, target: Path) -> None:
        raise OSError(28, "full disk", str(source))

    EvalSetWriter(path, AGENT).write_eval_case(a_case("one"))
    stock = contents(tmp_path)
    with pytest.raises(EvalSetError, match="full disk"):
        EvalSetWriter(path, AGENT, replace=refuse).write_eval_case(a_case("two"))
    assert contents(tmp_path) == stock
    EvalSetWriter(path, AGENT).write_eval_case(a_case("two"))
    assert held_ids(path) == ["one", "two"]


def test_a_writer_without_a_lock_is_not_overwritten(path: Path, tmp_path: Path) -> None:
    """What another program writes while we work is kept: we start again from its text."""
    EvalSetWriter(path, AGENT).write_eval_case(a_case("one"))

    class Disturbed(KnownFiles):
        """Lets ADK's manager write the file once, behind our back, after we have read it."""

        disturbances = 0

        def remember(self, *found: Any) -> None:
            if not self.disturbances:
                self.disturbances = 1
                LocalEvalSetsManager(str(tmp_path.parent)).add_eval_case(
                    tmp_path.name, "set", a_case("adk's")
                )
            super().remember(*found)

    EvalSetWriter(path, AGENT, known=Disturbed()).write_eval_case(a_case("two"))
    assert held_ids(path) == ["one", "adk's", "two"]


@pytest.mark.long
def test_files_of_the_system_and_of_others_are_refused(tmp_path: Path) -> None:
    """Without permission for the folder, or for the file, the error says so and nothing changes."""
    closed = tmp_path / "closed"
    closed.mkdir()
    EvalSetWriter(closed / "old.json", AGENT).write_eval_case(a_case("one"))
    readonly = tmp_path / "open" / "readonly.json"
    EvalSetWriter(readonly, AGENT).write_eval_case(a_case("one"))
    readonly.chmod(0o444)
    readonly.parent.chmod(0o777)
    closed.chmod(0o555)
    for folder in (tmp_path, *list(tmp_path.parents)[:2]):
        folder.chmod(folder.stat().st_mode | 0o055)
    stock = contents(tmp_path)
    targets = [closed / "new.json", closed / "old.json", closed / "deeper" / "new.json", readonly]
    said = _as_an_ordinary_user(targets)
    assert ["Permission denied" in line or "read-only" in line for line in said] == [True] * 4, said
    assert [str(target) in line for target, line in zip(targets, said, strict=True)] == [True] * 4
    closed.chmod(0o755)
    assert contents(tmp_path) == stock


_TRY_ALL = """
import os, sys
from evalset import EvalSetError, EvalSetWriter
from tests.evalset.files.examples import a_case
case, user = a_case("two"), int(sys.argv[1])
writers = [EvalSetWriter(path, "Order Desk") for path in sys.argv[2:]]
if user >= 0:
    os.setuid(user)
for writer in writers:
    try:
        writer.write_eval_case(case)
        print("written", writer.path)
    except EvalSetError as error:
        print(error)
"""


def _as_an_ordinary_user(paths: list[Path]) -> list[str]:
    """Try to write a case to each path with no special rights; return what each said."""
    user = NOBODY if os.geteuid() == 0 else -1
    command = [sys.executable, "-W", "ignore", "-c", _TRY_ALL, str(user), *map(str, paths)]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_an_append_to_a_large_file_holds_a_part_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of one that the writer has not read before, too; what is written is the same."""
    path = tmp_path / "large.evalset.json"
    EvalSetWriter(path, AGENT).write_eval_cases([a_case(f"case {number}") for number in range(3_000)])
    before, size = path.read_bytes(), path.stat().st_size
    EvalSetWriter(path, AGENT, known=KnownFiles()).write_eval_case(a_case("new"))
    expected = path.read_bytes()
    path.write_bytes(before)
    monkeypatch.setattr(set_writer, "LARGE", size // 4)
    del before
    tracemalloc.start()
    try:
        EvalSetWriter(path, AGENT, known=KnownFiles()).write_eval_case(a_case("new"))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < size / 2
    assert path.read_bytes() == expected


@pytest.mark.parametrize("pieces", [1, 3])
def test_a_file_that_is_empty_while_another_program_writes_it_is_waited_for(
    path: Path, monkeypatch: pytest.MonkeyPatch, pieces: int
) -> None:
    """ADK's manager empties a file before it writes it."""
    EvalSetWriter(path, AGENT).write_eval_case(a_case("one"))
    whole = path.read_bytes()
    path.write_bytes(b"")
    written = [whole[: len(whole) * each // pieces] for each in range(1, pieces + 1)]

    def pause(_: float) -> None:
        if written:
            path.write_bytes(written.pop(0))

    monkeypatch.setattr("evalset.files.set_writer.time.sleep", pause)
    EvalSetWriter(path, AGENT).write_eval_case(a_case("two"))
    assert held_ids(path) == ["one", "two"]


@pytest.mark.parametrize("content", [b"", b" \n"])
def test_a_file_that_stays_empty_is_an_error_that_leaves_it(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    """After a while; nobody is told to delete it."""
    path.write_bytes(content)
    pauses: list[float] = []
    monkeypatch.setattr("evalset.files.set_writer.time.sleep", pauses.append)
    with pytest.raises(EvalSetError, match=r"set\.evalset\.json.*empty") as told:
        EvalSetWriter(path, AGENT).write_eval_case(a_case("one"))
    assert "delete" not in str(told.value)
    assert 0 < sum(pauses) <= 5.0
    assert contents(tmp_path)["set.evalset.json"] == content


TURN: dict[str, Any] = {
    "query": "Where is A-1?",
    "expected_tool_use": [{"tool_name": "find_order", "tool_input": {"order_id": "A-1"}}],
    "reference": "On its way.",
}
NAMED: dict[str, Any] = {
    "name": "asks",
    "data": [TURN, TURN],
    "initial_session": {"state": {"tier": "gold"}, "app_name": "order_desk", "user_id": "u"},
}


@pytest.mark.parametrize(
    ("old", "ids"), [([NAMED], ["asks"]), (NAMED, ["asks"]), ([TURN], ["set"]), ([], [])]
)
def test_an_old_file_is_converted_and_its_text_kept(
    path: Path, tmp_path: Path, old: Any, ids: list[str]
) -> None:
    """Every shape of the old form becomes today's with the new case behind; the copy holds the old text."""
    text = json.dumps(old, indent=3)
    path.write_text(text)
    written = EvalSetWriter(path, AGENT).write_eval_case(a_case("new"))
    assert written.converted_copy == tmp_path / "set.legacy-1.json"
    assert written.converted_copy.read_text() == text
    assert held_ids(path) == [*ids, "new"]
    assert sorted(each.name for each in tmp_path.iterdir()) == ["set.evalset.json", "set.legacy-1.json"]


def test_the_conversion_is_adks_own(path: Path, tmp_path: Path) -> None:
    """What ADK's loader reads of the converted file is what it read of the old one; a copy from before stays."""
    path.write_text(json.dumps([NAMED]))
    (tmp_path / "set.legacy-1.json").write_text("mine")
    before = load_eval_set_from_file(str(path), "set").eval_cases[0]
    written = EvalSetWriter(path, AGENT).write_eval_case(a_case("new"))
    assert written.converted_copy == tmp_path / "set.legacy-2.json"
    assert (tmp_path / "set.legacy-1.json").read_text() == "mine"
    after = load_eval_set_from_file(str(path), "set").eval_cases[0]
    assert before.conversation
    assert after.conversation
    assert after.session_input == before.session_input
    one, other = (
        [turn.model_dump(exclude={"invocation_id", "creation_timestamp"}) for turn in case.conversation or ()]
        for case in (before, after)
    )
    assert one == other


def test_a_failed_conversion_leaves_no_copy(path: Path, tmp_path: Path) -> None:
    """When the case cannot be written the old file stays alone and as it was; so with a duplicate id."""

    def refuse(source: Path, target: Path) -> None:
        raise PermissionError(13, "Permission denied", str(target))

    text = json.dumps([NAMED])
    path.write_text(text)
    with pytest.raises(EvalSetError, match="Permission denied"):
        EvalSetWriter(path, AGENT, replace=refuse).write_eval_case(a_case("new"))
    with pytest.raises(EvalSetError, match="already has"):
        EvalSetWriter(path, AGENT).write_eval_case(a_case("asks"))
    assert [each.name for each in tmp_path.iterdir()] == [path.name]
    assert path.read_text() == text


def test_threads_lose_none(path: Path) -> None:
    """Threads of one process that share what is known of the file lose nothing either."""

    def append(name: str) -> None:
        for number in range(20):
            EvalSetWriter(path, AGENT).write_eval_case(a_case(f"{name} {number}"))

    with ThreadPoolExecutor() as pool:
        assert [*pool.map(append, "abc")] == [None] * 3
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
def test_a_writer_killed_at_any_line_leaves_the_old_or_the_new_file(path: Path) -> None:
    """Killed at one line after another of its way, a writer leaves the old text, and at last the new one."""
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
def test_a_held_lock_is_waited_for_and_then_told(path: Path, chosen: Lock) -> None:
    """A writer that finds the file locked waits, and after its time says so and has written nothing."""
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


def test_what_a_killed_writer_left_is_cleared_away(path: Path, tmp_path: Path) -> None:
    """Half a file and a lock of a dead process do not stand in the way, and are gone after the next write."""
    EvalSetWriter(path, AGENT).write_eval_case(a_case("one"))
    (tmp_path / ".set.evalset.json.tmp").write_text('{"eval_set_id": "se')
    lock_path(path).write_text("")
    EvalSetWriter(path, AGENT, lock=flock_lock).write_eval_case(a_case("two"))
    assert [each.name for each in tmp_path.iterdir()] == [path.name]
    assert json.loads(path.read_text())["eval_set_id"] == "set"


def test_where_folders_have_no_locks_a_file_has(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a file system that locks no folders, as network ones do, writers still keep each other out, by a file.

    The system's call is replaced, as no such file system is at hand.
    """
    real = fcntl.flock

    def flock(descriptor: int, operation: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        real(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", flock)
    with folder_lock(lock_path(path), 1.0):
        assert lock_path(path).exists()
        with pytest.raises(EvalSetError, match=r"set\.evalset\.json: .*0\.05 s"):
            EvalSetWriter(path, AGENT, lock_timeout=0.05).write_eval_case(a_case("one"))
    EvalSetWriter(path, AGENT).write_eval_case(a_case("two"))
    assert [each.name for each in tmp_path.iterdir()] == [path.name]
    assert held_ids(path) == ["two"]
