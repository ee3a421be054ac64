"""Agents whose code does its worst: a session with another agent goes on, and nothing of theirs is left behind."""

from __future__ import annotations

import contextlib
import textwrap
from pathlib import Path

import psutil
import pytest

from simulator.agents.load_failure import AgentLoadError
from simulator.kernel import agent_kernels
from simulator.kernel.kernel_agent import KernelAgentConfig
from simulator.kernel.remote_simulation import RemoteSimulation
from simulator.seats.answers import said
from tests.harness.processes import wait_until
from tests.simulator.kernel.projects import PATIENCE, begun, config_of, greeted, project, until

pytestmark = [pytest.mark.process, pytest.mark.long]

AGENT = """
import asyncio, atexit, builtins, ctypes, gc, json, os, re, shutil, signal, subprocess, sys, threading, time
from pathlib import Path
from google.adk.agents import LlmAgent

class Unspeakable(Exception):
    def __str__(self):
        raise RuntimeError("no words")
    __repr__ = __str__

class Beyond(BaseException):
    pass

def deep(n=0):
    return deep(n + 1) + 1

def worst():
{worst}

def before(callback_context):
    worst()

{at_import}
root_agent = LlmAgent(name="worst", model="gemini-2.5-flash", before_agent_callback=before)
"""
WORST = {
    "raises beyond exceptions": "raise Beyond",
    "raises what has no words": "raise Unspeakable",
    "raises a huge text": "raise RuntimeError('x' * 10**8)",
    "leaves Python": "sys.exit(3)",
    "ends its process": "os._exit(7)",
    "aborts": "os.abort()",
    "kills itself": "os.kill(os.getpid(), 9)",
    "stops itself": "os.kill(os.getpid(), signal.SIGSTOP)",
    "reads where nothing is": "ctypes.string_at(0)",
    "recurses without end": "sys.setrecursionlimit(10**9); deep()",
    "computes": "while True: pass",
    "sleeps": "time.sleep(3600)",
    "never lets go of the interpreter": "re.match(r'(a+)+$', 'a' * 60 + 'b')",
    "takes memory": "held = [bytearray(10**8) for _ in range(8)]; time.sleep(3600)",
    "prints lines without end": "while True: print('x' * 1000)",
    "prints a line without end": "while True: sys.stdout.write('x' * 100_000)",
    "writes to all that is open": "[os.write(n, b'{}\\n' * 100) for n in range(3, 40) if os.path.exists(f'/proc/self/fd/{n}')]",
    "closes all that is open": "os.closerange(0, 4096)",
    "reads its input": "os.read(0, 1 << 20)",
    "starts threads": "[threading.Thread(target=time.sleep, args=(3600,)).start() for _ in range(300)]",
    "starts processes": "[subprocess.Popen(['sleep', '3600'], start_new_session=True) for _ in range(30)]",
    "forks": "os.fork()",
    "takes Python's functions away": "builtins.len = builtins.print = builtins.open = None",
    "takes modules away": "sys.modules.clear()",
    "takes JSON away": "json.dumps = json.loads = None",
    "stops the loop": "asyncio.get_running_loop().stop()",
    "closes the loop": "asyncio.get_running_loop().close()",
    "cancels every task": "[task.cancel() for task in asyncio.all_tasks()]",
    "removes its folder": "shutil.rmtree(Path(__file__).parent); os.chdir('/')",
    "never ends": "atexit.register(time.sleep, 3600); raise SystemExit",
    "handles every signal": "[signal.signal(n, signal.SIG_IGN) for n in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)]",
    "traces everything": "sys.settrace(lambda *_: time.sleep(0.01)); threading.settrace(lambda *_: None)",
}


@pytest.fixture
def beside(tmp_path: Path) -> KernelAgentConfig:
    """An agent of somebody else."""
    return config_of(project(tmp_path / "theirs"))


def _written(worst: str, at_import: str = "") -> str:
    lines = textwrap.indent(worst.replace("; ", "\n"), "    ")
    return AGENT.format(worst=lines, at_import=at_import)


def _goes_on(beside: KernelAgentConfig) -> None:
    """Play a turn with the other agent, to its end."""
    simulation = greeted(beside)
    assert simulation.answer(simulation.pending[0], said("Hello!"), wait=PATIENCE)
    assert simulation.session.turns[-1].ended


def _processes() -> set[int]:
    found = set()
    for child in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):
            found |= {child.pid} if child.name() == "sleep" else set()
    return found


def _stopped(simulation: RemoteSimulation) -> None:
    """Stop the turn; where its process ends as often as it is started, go back to before it."""
    for _ in range(2):
        if not simulation.session.is_running:
            return
        with contextlib.suppress(ValueError):  # the process may end meanwhile
            simulation.stop()
        until(simulation, lambda: not simulation.view().busy)
    for _ in range(3):
        if not simulation.session.is_running:
            return
        with contextlib.suppress(ValueError):
            simulation.undo()
    assert not simulation.session.is_running


@pytest.mark.parametrize("worst", WORST.values(), ids=WORST)
def test_what_does_its_worst_holds_up_nobody_else(
    worst: str, beside: KernelAgentConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a turn a session beside it goes on during it and after it; its own keeps what was recorded and can be stopped.

    An import gives an agent, or the error that it cannot be loaded, before the limit.
    """
    waits = greeted(beside)
    config = config_of(project(tmp_path / "turn", _written(worst), "worst"), "worst")
    simulation = begun(config)
    with contextlib.suppress(ValueError):  # a SimulationError or a KernelError says what happened
        simulation.query("go", wait=1.0)
    assert waits.answer(waits.pending[0], said("Hello!"), wait=PATIENCE)
    assert waits.session.turns[-1].ended
    _goes_on(beside)
    assert [fact.kind for _, fact in simulation.journal.path()].count("turn_started") == 1
    _stopped(simulation)
    config.kernels.end()
    _goes_on(beside)
    monkeypatch.setattr(agent_kernels, "LOAD_SECONDS", 5.0)
    with contextlib.suppress(AgentLoadError):
        config_of(project(tmp_path / "import", _written(worst, "worst()"), "worst"), "worst").kernels.end()
    _goes_on(beside)
    beside.kernels.end()
    wait_until(lambda: not _processes(), what="the end of what it started", seconds=PATIENCE)
