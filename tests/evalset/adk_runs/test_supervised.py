"""What a server or a command has started ends with it, also where that is killed outright and can end nothing itself."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from evalset.adk_runs.process_groups import end_group, start_process
from tests.harness.processes import wait_until

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(os.name != "posix", reason="looks at processes as POSIX has them"),
]

_LEAF = "import os, signal, sys, time\n{first}\nopen(sys.argv[1], 'a').write(f'{{os.getpid()}}\\n')\ntime.sleep(600)\n"
_STUBBORN = _LEAF.format(first="signal.signal(signal.SIGTERM, signal.SIG_IGN)")
_PLAIN = _LEAF.format(first="")
# A program that starts another one, as `adk eval` may: both say who they are.
_TREE = f"""
import os, subprocess, sys
child = subprocess.Popen([sys.executable, "-c", {_STUBBORN!r}, sys.argv[1]])
open(sys.argv[1], 'a').write(f"{{os.getpid()}}\\n")
child.wait()
"""
_PARENT = """
import os, sys, time
from pathlib import Path
from evalset.adk_runs.process_groups import start_process
log = Path(sys.argv[1])
process = start_process([sys.executable, "-c", sys.argv[2], log], folder=log.parent, environment=os.environ, log=log.with_suffix(".out"))
log.open("a").write(f"{process.pid}\\n")
time.sleep(600)
"""


def is_there(pid: int) -> bool:
    """Return whether a process runs; one that has ended and was not asked for its exit code does not."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{pid}/stat")
    try:
        return not stat.is_file() or stat.read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Path]:
    """A file in which each process writes its number; what is left of them at the end is ended."""
    path = tmp_path / "pids"
    path.touch()
    yield path
    for pid in numbers(path):
        if is_there(pid):
            os.kill(pid, signal.SIGKILL)


def numbers(log: Path) -> list[int]:
    """The processes that have written their number."""
    return [int(line) for line in log.read_text().split("\n")[:-1]]


@pytest.mark.parametrize(("program", "processes"), [(_PLAIN, 2), (_TREE, 3)])
def test_children_end_with_a_parent_that_is_killed(log: Path, program: str, processes: int) -> None:
    """`adk eval`, and what it started and refuses to end."""
    killed = subprocess.Popen([sys.executable, "-c", _PARENT, str(log), program])
    wait_until(lambda: len(numbers(log)) == processes, what="all have started", seconds=60)
    assert all(map(is_there, numbers(log)))
    killed.kill()
    killed.wait()
    wait_until(lambda: not any(map(is_there, numbers(log))), what="all have ended")


@pytest.mark.parametrize(
    ("code", "wanted"), [("raise SystemExit(3)", 3), ("import os; os.kill(os.getpid(), 9)", -9), ("", 0)]
)
def test_it_ends_as_its_program_does(tmp_path: Path, code: str, wanted: int) -> None:
    """With its exit code or its signal; the program has an empty standard input, and what it prints is in the log."""
    log = tmp_path / "out"
    program = [
        sys.executable,
        "-c",
        f"import sys; print(repr(sys.stdin.read())); {code}".replace("; raise", "\nraise"),
    ]
    process = start_process(program, folder=tmp_path, environment=os.environ, log=log)
    assert process.wait(60) == wanted
    assert log.read_text().startswith("''") or wanted == -9


def test_it_is_asked_to_end_before_it_is_made_to(tmp_path: Path, log: Path) -> None:
    """A program that tidies up when it is asked to has the time for it, as without the supervisor."""
    tidy = "import signal, sys, time\ndef end(*_):\n    open(sys.argv[1] + '.tidy', 'w'); sys.exit(7)\n"
    program = f"{tidy}signal.signal(signal.SIGTERM, end)\nimport os\nopen(sys.argv[1], 'a').write(f'{{os.getpid()}}\\n')\ntime.sleep(600)\n"
    process = start_process(
        [sys.executable, "-c", program, log], folder=tmp_path, environment=os.environ, log=tmp_path / "out"
    )
    wait_until(lambda: len(numbers(log)) == 1, what="it has started")
    end_group(process)
    assert process.wait(60) == 7
    assert Path(f"{log}.tidy").exists()


def test_a_program_that_is_not_there_is_named(tmp_path: Path) -> None:
    """In the log, with the exit code that shells give."""
    log = tmp_path / "out"
    process = start_process([tmp_path / "none"], folder=tmp_path, environment=os.environ, log=log)
    assert process.wait(60) == 127
    assert log.read_text().startswith(f"{tmp_path / 'none'} ")
