"""Processes that nobody uses end, and their sessions go on in fresh ones without a word of trouble."""

from __future__ import annotations

import contextlib
import io
import os
import tracemalloc
from pathlib import Path

import psutil
import pytest

from simulator.kernel import kernel_processes, remote_simulation
from simulator.kernel.kernel import LONGEST_LINE, printed_lines
from simulator.kernel.kernel_agent import KernelAgentConfig
from simulator.kernel.kernel_processes import agent_processes, end_idle, let_endless_come_last, restart
from simulator.kernel.process_setup import LAST
from simulator.seats.answers import called, said
from simulator.seats.requests import ToolRequest
from simulator.session import SessionState
from tests.evalset.there import there
from tests.simulator.kernel.projects import (
    DESK,
    PATIENCE,
    begun,
    config_of,
    greeted,
    let_go,
    project,
    until,
    until_gone,
)

pytestmark = pytest.mark.process


def of(config: KernelAgentConfig) -> kernel_processes.AgentProcess | None:
    """Return what is said of the agent's process."""
    number = config.kernels.running
    wanted = None if number is None else number.process_id
    return next((one for one in agent_processes() if one.process_id == wanted), None)


def runs(config: KernelAgentConfig) -> bool:
    """Return whether the agent has a process."""
    return config.kernels.running is not None


def test_what_runs_is_said(config: KernelAgentConfig) -> None:
    """Agent, interpreter, ADK, memory and sessions."""
    found = there(of(config))
    assert (found.agent, found.sessions, found.busy, found.new_code) == ("desk", 0, False, False)
    assert found.python == str(config.kernels.python)
    assert found.adk[0].isdigit()
    assert 20e6 < found.memory < 2e9
    begun(config)
    assert there(of(config)).sessions == 1


def test_a_session_that_waits_goes_on_after_its_process_was_ended(config: KernelAgentConfig) -> None:
    """What waits stays on the page, and is answered as if nothing had been; so is an undo."""
    simulation = greeted(config)
    assert simulation.answer(simulation.pending[0], called(("find_order", {"order_id": "A1"})), wait=PATIENCE)
    before, first = simulation.view(), config.kernels.kernel().process_id
    assert "desk" in end_idle(idle_seconds=0)
    assert config.kernels.running is None
    until_gone(first)
    assert simulation.view() == before
    request = simulation.pending[0]
    assert isinstance(request, ToolRequest)
    assert request.draft == {"status": "success", "order": {"id": "A1", "state": "shipped"}}
    assert simulation.answer(request, {"status": "success"}, wait=PATIENCE)
    assert simulation.answer(simulation.pending[0], said("Shipped."), wait=PATIENCE)
    view = simulation.view()
    assert (view.problems, view.session.is_running, len(view.session.turns)) == ((), False, 1)
    assert config.kernels.kernel().process_id != first
    assert "desk" in end_idle(idle_seconds=0)
    assert simulation.undo(wait=PATIENCE)
    until(simulation, lambda: bool(simulation.pending))
    assert simulation.view().problems == ()


def test_one_at_work_goes_on(config: KernelAgentConfig, tmp_path: Path) -> None:
    """However long it takes. The command comes back after what it was told to wait, and what is there can be looked at."""
    simulation = begun(config)
    assert not simulation.query("hold", wait=0.1)
    end_idle(idle_seconds=0)
    assert config.kernels.running is not None
    assert simulation.view().session.state is SessionState.ACTIVE
    assert not simulation.pending
    let_go(tmp_path)
    until(simulation, lambda: bool(simulation.pending))


@pytest.mark.long
def test_where_memory_is_short_the_one_that_waits_longest_ends(
    config: KernelAgentConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not before, and not one that was used just now."""
    end_idle(available=lambda: 0.0)
    assert runs(config)
    monkeypatch.setattr(kernel_processes, "_LATELY_SECONDS", 0.0)
    end_idle(available=lambda: 0.9)
    assert runs(config)
    end_idle(available=lambda: 0.01)
    assert not runs(config)
    config.kernels.kernel()
    end_idle(most=0.0, available=lambda: 0.9)
    assert not runs(config)


def test_restarting_takes_the_new_code_and_the_sessions_along(config: KernelAgentConfig) -> None:
    """Also where the old code does not let go. Tests of pytest in the folder are no code of the agent, unless it imports them."""
    simulation = begun(config)
    assert not simulation.query("hold", wait=0.1)
    first = config.kernels.kernel().process_id
    home = Path(str(config.kernels.asked["folder"])) / "desk" / "agent.py"
    for name in ("test_desk.py", "desk_test.py", "conftest.py", "tests/data.py"):
        (home.parent / name).parent.mkdir(exist_ok=True)
        (home.parent / name).write_text("VALUE = 3\n")
    assert not there(of(config)).new_code
    (home.parent / "test_desk.py").unlink()
    assert not there(of(config)).new_code
    home.write_text(home.read_text().replace('words[0] == "hold"', "False"))
    found = there(of(config))
    assert found.new_code
    restart(found.key)
    again = there(of(config))
    assert not again.new_code
    assert not psutil.pid_exists(first)
    until(simulation, lambda: bool(simulation.pending))
    assert simulation.answer(simulation.pending[0], said("Done."), wait=PATIENCE)


def policies(process: psutil.Process) -> set[int]:
    """Return how the threads of a process get the processors; one that ends meanwhile has no way any more."""
    found = set()
    for thread in process.threads():
        with contextlib.suppress(ProcessLookupError):
            found.add(os.sched_getscheduler(thread.id))
    return found


def group_niceness(process: psutil.Process) -> int | None:
    """Return the niceness of a process's session; None where processes are not grouped by session."""
    try:
        return int(Path(f"/proc/{process.pid}/autogroup").read_text().split()[-1])
    except OSError:
        return None


@pytest.mark.long
@pytest.mark.skipif(not hasattr(os, "SCHED_IDLE"), reason="only Linux has a class for what comes last")
def test_one_that_computes_without_end_comes_behind_all_others(
    config: KernelAgentConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As long as it does; the one that waits for a person beside it does not."""
    monkeypatch.setattr(remote_simulation, "_LOOK_SECONDS", 0.2)
    waiting, spinning = begun(config), begun(config)
    waiting.query("Hello", wait=PATIENCE)
    process = psutil.Process(config.kernels.kernel().process_id)
    policy = os.sched_getscheduler(process.pid)
    spinning.query("spin", wait=0.2)
    until(spinning, lambda: "desk" in let_endless_come_last())
    assert policies(process) == {os.SCHED_IDLE} != {policy}
    assert group_niceness(process) in {None, LAST}
    waiting.answer(waiting.pending[0], said("Hello!"), wait=None)
    beside = config.kernels.kernel().process_id
    assert beside != process.pid
    assert "desk" not in let_endless_come_last()
    assert os.sched_getscheduler(beside) == policy
    spinning.stop()


_STARTS = """
    if words[0] == "start":
        subprocess.run([sys.executable, "-c", "while True: pass"], start_new_session=True)
    while words[0] == "spin":
"""


@pytest.mark.long
@pytest.mark.skipif(not hasattr(os, "SCHED_IDLE"), reason="only Linux has a class for what comes last")
def test_what_an_agent_starts_comes_behind_all_others_too(tmp_path: Path) -> None:
    """A program that computes without end for an agent that waits for it, also in a session of its own."""
    source = "import subprocess\nimport sys\n" + DESK.replace('\n    while words[0] == "spin":\n', _STARTS)
    config = config_of(project(tmp_path, source))
    kernel = psutil.Process(config.kernels.kernel().process_id)
    starting = begun(config)
    starting.query("start", wait=0.2)
    until(starting, lambda: bool(kernel.children()))
    until(starting, lambda: "desk" in let_endless_come_last())
    (started,) = kernel.children()
    for process in (kernel, started):
        assert policies(process) == {os.SCHED_IDLE}
        assert group_niceness(process) in {None, LAST}
    starting.stop()
    config.kernels.end()


class Endless(io.BufferedIOBase):
    """Prints 64 MB without the end of a line, and then some words."""

    def __init__(self) -> None:
        self._left = 1024

    def read1(self, size: int = -1) -> bytes:
        """Return the next bytes."""
        assert size > 0
        self._left -= 1
        return b"x" * (1 << 16) if self._left > 0 else b"\rlast words\n" if self._left == 0 else b""


class Chunks(io.BufferedIOBase):
    """Prints pieces, each of which is read at once."""

    def __init__(self, pieces: list[bytes]) -> None:
        self._pieces = iter(pieces)

    def read1(self, size: int = -1) -> bytes:
        """Return the next piece."""
        assert size > 0
        return next(self._pieces, b"")


@pytest.mark.long
def test_a_line_without_an_end_takes_no_memory() -> None:
    """Its beginning is kept, and what comes after it is heard."""
    tracemalloc.start()
    try:
        first, last = printed_lines(Endless(), pause=float)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (first, last) == (f"{'x' * LONGEST_LINE}...", "last words")
    assert peak < 4 << 20


def test_lines_end_as_terminals_end_them() -> None:
    """Also where a progress bar begins its line again, and at the end of the output."""
    printed = io.BytesIO("one\r\ntwo\n\n10 %\r20 %\rdöne".encode())
    assert [*printed_lines(printed)] == ["one", "two", "", "10 %", "20 %", "döne"]


def test_what_is_printed_without_end_takes_a_tenth_of_a_processor() -> None:
    """The time that the lines take is waited nine times before more is read, and a hundredth of a second at least."""
    now, pauses = iter([0.0, 0.5, 10.0, 10.0]), list[float]()
    printed = Chunks([b"one\ntwo\n", b"three\n"])
    assert [*printed_lines(printed, pause=pauses.append, clock=lambda: next(now))] == ["one", "two", "three"]
    assert pauses == [4.5, 0.01]
