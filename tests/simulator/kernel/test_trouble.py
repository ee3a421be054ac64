"""Trouble stays in its kernel: what hangs, spins, or ends its process takes no other session along, and nothing is lost."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path

import psutil
import pytest

from simulator.agents.load_failure import AgentLoadError
from simulator.facts import Returned
from simulator.kernel import agent_kernels, remote_simulation
from simulator.kernel.kernel import Kernel, KernelError, RefusedError
from simulator.kernel.kernel_agent import KernelAgentConfig
from simulator.kernel.kernel_templates import CAN_FORK
from simulator.kernel.messages import Appended, HeadMoved, SessionDisplay
from simulator.runtime import SimulationError
from simulator.seats.answers import called, said
from simulator.session import SessionState
from simulator.session.commands import FindContradictions, KnownWorld
from tests.harness.processes import wait_until
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


@pytest.mark.long
@pytest.mark.parametrize(
    ("words", "wait"), [pytest.param("spin", 0.2, marks=pytest.mark.long), ("hold", None)]
)
def test_a_session_that_waits_goes_on_beside_one_that_holds_up_its_process(
    config: KernelAgentConfig, words: str, wait: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In another process, where it stood; the one that computes goes on in its own, and after a stop in a fresh one. A new session opens there, too."""
    monkeypatch.setattr(remote_simulation, "_LOOK_SECONDS", 0.2)
    beside, simulation = begun(config), begun(config)
    beside.query("Hello", wait=PATIENCE)
    (before,) = beside.pending
    simulation.query(words, wait=0.2)
    until(simulation, lambda: simulation.session.is_running)
    beside.answer(before, said("Hello!"), wait=wait)
    until(beside, lambda: beside.session.turns[-1].ended)
    assert simulation.session.is_running
    assert len(config.kernels.alive) == 2
    greeted(config)
    simulation.stop()
    until(simulation, lambda: simulation.view().session.state is SessionState.AWAITING_QUERY)
    until(simulation, lambda: len(config.kernels.alive) == 1)
    assert simulation.session.turns[-1].ended
    assert simulation.query("Hello", wait=PATIENCE)
    assert simulation.pending


def test_a_process_that_is_slow_for_its_only_session_is_kept(
    config: KernelAgentConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A first draft on a busy machine takes long: another process would begin it anew, and so would each after that."""
    simulation = begun(config)
    assert simulation.query("Hello", wait=PATIENCE)
    before = config.kernels.alive
    with monkeypatch.context() as patch:
        patch.setattr(remote_simulation, "_LOOK_SECONDS", 0.0)
        patch.setattr(Kernel, "has_pulse", lambda _: False)
        with pytest.raises(SimulationError, match="not responding"):
            simulation.look(KnownWorld())
        assert simulation.look(FindContradictions(key="", outcome=Returned(value=1))) == ()
    assert config.kernels.alive == before
    assert simulation.look(KnownWorld()) is not None


def test_one_undo_takes_one_step_back_where_its_answer_is_late(
    config: KernelAgentConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process has done it and says nothing more, so that another one is asked: for the same step, not for one more."""
    simulation = begun(config)
    for words in ("Hello", "Hello again"):
        assert simulation.query(words, wait=PATIENCE)
        assert simulation.answer(simulation.pending[0], said("Hello!"), wait=PATIENCE) is not None
        until(simulation, lambda: simulation.session.turns[-1].ended)
    head, (*_, step) = simulation.journal.head, simulation.journal.path()
    answered = [number for number, fact in simulation.journal.path() if fact.kind == "model_answered"]
    assert step[0] == head

    def has_pulse(_: Kernel) -> bool:
        wait_until(lambda: simulation.journal.head != head, what="the step to be taken back")
        return False

    monkeypatch.setattr(remote_simulation, "GRACE_SECONDS", 0.0)
    monkeypatch.setattr(Kernel, "has_pulse", has_pulse)
    assert not simulation.undo(wait=0.0)
    for thread in threading.enumerate():
        if thread.name == "kernel-beside":
            thread.join(PATIENCE)
    monkeypatch.undo()
    until(simulation, lambda: bool(simulation.pending))
    assert simulation.journal.head == simulation.journal.parent(answered[-1])


def test_a_command_that_is_not_taken_yet_counts_as_work(
    config: KernelAgentConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody is told that the session is ready for what was said already; what is refused late is told."""
    simulation, late = begun(config), Future[bool]()
    with monkeypatch.context() as patch:
        patch.setattr(remote_simulation, "GRACE_SECONDS", 0.0)
        patch.setattr(Kernel, "begin_asking", lambda *_, **__: late)
        patch.setattr(Kernel, "has_pulse", lambda _: True)
        assert not simulation.query("Hello", wait=0.0)
        assert simulation.view().busy
    late.set_exception(RefusedError({"kind": "refused", "text": "too late"}))
    assert (simulation.view().busy, simulation.view().problems) == (False, ("too late",))
    assert simulation.query("Hello", wait=PATIENCE)


@pytest.mark.long
def test_a_real_tool_runs_once_where_its_session_has_left_a_process_that_was_held_up(
    tmp_path: Path,
) -> None:
    """What the first process was asked for it does no more, once it could."""
    source = DESK.replace(
        "def find_order(order_id: str) -> dict:",
        "def find_order(order_id: str) -> dict:\n    print('ran', file=open(Path(__file__).with_name('runs'), 'a'))\n",
    )
    config = config_of(project(tmp_path, source))
    beside, simulation = begun(config), begun(config)
    beside.query("Hello", wait=PATIENCE)
    beside.answer(beside.pending[0], called(("find_order", {"order_id": "A1"})), wait=PATIENCE)
    simulation.query("hold", wait=0.2)
    beside.run_real(beside.pending[0], wait=0.2)
    until(beside, lambda: bool(beside.pending) and beside.pending[0].kind == "model")
    let_go(tmp_path)
    until(simulation, lambda: bool(simulation.pending))
    first = next(each for each in config.kernels.alive if each is not config.kernels.running)
    until(simulation, first.has_pulse)
    assert (tmp_path / "desk" / "runs").read_text().split() == ["ran"]
    config.kernels.end()


@pytest.mark.long
def test_a_process_that_ends_is_started_anew_once_and_then_rests(config: KernelAgentConfig) -> None:
    """Nothing is lost and no port is open. Then going to the step where it stands is enough, as often as it is wanted.

    A turn that ends it each time would do so for ever: a person stops it, and goes on.
    """
    simulation = begun(config)
    simulation.query("Where is A1?", wait=PATIENCE)
    simulation.answer(simulation.pending[0], called(("find_order", {"order_id": "A1"})), wait=PATIENCE)
    before, length, first = simulation.pending, len(simulation.journal), config.kernels.kernel().process_id
    assert all(one.status != "LISTEN" for one in psutil.Process(first).net_connections("inet"))
    os.kill(first, 9)
    until(simulation, lambda: bool(simulation.view().problems) and bool(simulation.pending))
    assert config.kernels.kernel().process_id != first
    assert any("signal 9" in words for words in simulation.view().problems)
    for _ in range(2):
        os.kill(config.kernels.kernel().process_id, 9)
        until(simulation, lambda: not simulation.pending and not simulation.view().busy)
        assert simulation.view().problems
        simulation.move_head(simulation.view().head, wait=PATIENCE)
        assert [each.key for each in simulation.pending] == [each.key for each in before]
        assert not simulation.view().problems
    assert len(simulation.journal) == length
    simulation.stop()
    with pytest.raises(ValueError, match="exit code 3"):
        simulation.query("exit", wait=PATIENCE)
    until(simulation, lambda: not simulation.view().busy)
    assert simulation.view().session.state is SessionState.ACTIVE
    simulation.stop()
    until(simulation, lambda: simulation.view().session.state is SessionState.AWAITING_QUERY)
    assert simulation.query("Hello", wait=PATIENCE)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("import nothing_of_this_name\n", "nothing_of_this_name"),
        ("raise SystemExit(4)\n", "SystemExit: 4"),
        ("import os\nos._exit(5)\n", "exit code 5"),
        (
            "import os\nos.write(2, b'10 %' + b'x' * 5_000_000 + b'\\r20 %\\rno space left\\r')\nos._exit(6)\n",
            r"exit code 6\): no space left$",
        ),
    ],
    ids=["import", "exit", "os-exit", "progress"],
)
def test_an_agent_that_cannot_be_loaded_says_why(tmp_path: Path, source: str, words: str) -> None:
    """The studio goes on."""
    with pytest.raises(AgentLoadError, match=words):
        config_of(project(tmp_path, source))


@pytest.mark.long
def test_an_import_that_hangs_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After its deadline; its process is ended."""
    monkeypatch.setattr(agent_kernels, "LOAD_SECONDS", 1.0)
    with pytest.raises(AgentLoadError, match="longer than 1 s"):
        config_of(project(tmp_path, "import time\ntime.sleep(1000)\n"))


@pytest.mark.long
def test_two_projects_whose_modules_have_one_name(tmp_path: Path) -> None:
    """A project may be called `app`, as Google's own are, and bring helpers that others have too."""
    configs = []
    for number in (1, 2):
        home = project(
            tmp_path / str(number),
            f"from . import helper\n{DESK}\nroot_agent.description = helper.WORD\n",
            "app",
        )
        (home / "app" / "helper.py").write_text(f"WORD = 'project {number}'\n")
        configs.append(config_of(home, "app"))
    assert [config.root_agent.description for config in configs] == ["project 1", "project 2"]
    for config in configs:
        config.kernels.end()


def test_an_interpreter_without_adk_is_told_with_the_line_to_paste(tmp_path: Path) -> None:
    """And one that cannot be run is told as well."""
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho \"ModuleNotFoundError: No module named 'google'\" >&2\nexit 1\n")
    python.chmod(0o700)
    home = project(tmp_path / "agents")
    with pytest.raises(
        AgentLoadError,
        match=rf"{python}.* {python} -m pip .*'google-adk",
    ):
        config_of(home, python=str(python))
    with pytest.raises(AgentLoadError, match=rf"{tmp_path}/nothing"):
        config_of(home, python=str(tmp_path / "nothing"))


@pytest.mark.parametrize("name", ["google.cloud.nothing_here", "google_nothing_here", "nothing_here"])
def test_a_package_that_is_missing_is_named_with_the_line_that_brings_it(tmp_path: Path, name: str) -> None:
    """That google-adk is missing is said only of an interpreter without it; what the project needs stands in its own file."""
    home = project(tmp_path / "my agents", f"import {name}\n{DESK}")
    with pytest.raises(AgentLoadError) as told:
        config_of(home)
    assert f"'{name}'" in str(told.value)
    assert "google-adk" not in str(told.value)
    assert "pip install" not in str(told.value)
    needs = home / "requirements.txt"
    needs.write_text(f"{name}\n")
    environment = home / ".venv"
    with pytest.raises(AgentLoadError) as told:
        config_of(home)
    commands = shlex.split(str(told.value)[str(told.value).index(f"{sys.executable} -m") :])
    assert commands[:4] == [sys.executable, "-m", "venv", str(environment)]
    assert commands[4:6] == ["&&", str(environment / "bin" / "python")]
    assert commands[-3:] == ["google-adk>=2.11", "-r", str(needs)]


@pytest.mark.long
def test_an_agents_process_comes_behind_the_page_once_it_is_loaded(tmp_path: Path) -> None:
    """Nobody waits for an import behind the page: it has the same share of the processors as the studio.

    Where both want the processor the studio has it, also on Linux where each session of processes has a share of its own.
    """
    (tmp_path / "agent.py").write_text(
        "import os, pathlib\npathlib.Path('niceness.txt').write_text(str(os.getpriority(os.PRIO_PROCESS, 0)))\n"
        "from google.adk.agents import LlmAgent\nroot_agent = LlmAgent(name='one', model='none')\n"
    )
    kernel = Kernel(Path(sys.executable), tmp_path)
    try:
        kernel.ask("load", {"folder": str(tmp_path), "name": tmp_path.name})
        assert (tmp_path / "niceness.txt").read_text() == str(psutil.Process().nice())
        behind, home = max(10, psutil.Process().nice()), Path(f"/proc/{kernel.process_id}")
        threads = [int(each.name) for each in (home / "task").iterdir()] if home.is_dir() else []
        assert {psutil.Process(each).nice() for each in (kernel.process_id, *threads)} == {behind}
        group = home / "autogroup"
        assert not group.exists() or group.read_text().strip().endswith("nice 10")
    finally:
        kernel.end()


STUDIO = """
import sys, threading, time
from pathlib import Path
from simulator.kernel.kernel import Kernel, KernelError
folder = Path(sys.argv[1])
kernel = Kernel(Path(sys.executable), folder)
threading.Thread(target=kernel.ask, args=("load", {"folder": str(folder), "name": folder.name}), daemon=True).start()
while not (folder / "child.txt").exists():
    time.sleep(0.02)
print(kernel.process_id, flush=True)
threading.Event().wait()
"""
SPINS = """
import os, pathlib, subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)"], start_new_session=START_NEW_SESSION)
pathlib.Path("child.tmp").write_text(str(child.pid))
os.rename("child.tmp", "child.txt")
while True: pass
"""
WAITS = SPINS.replace("while True: pass", "import time; time.sleep(3600)")


@pytest.mark.parametrize(("source", "own_session"), [(SPINS, False), (WAITS, True)], ids=["spins", "waits"])
def test_nothing_is_left_of_an_agent_when_the_studio_is_killed(
    tmp_path: Path, source: str, own_session: bool
) -> None:
    """Neither its process, nor the template of that, nor what it started, nor what watches over both; nor a child that leads a session of its own.

    One that computes does not notice the end, and one that waits ends by itself, perhaps before it is watched.
    """
    (tmp_path / "agent.py").write_text(source.replace("START_NEW_SESSION", str(own_session)))
    studio = subprocess.Popen(
        [sys.executable, "-c", STUDIO, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    assert studio.stdout is not None
    kernel = int(studio.stdout.readline())
    child = int((tmp_path / "child.txt").read_text())
    template = psutil.Process(kernel).ppid()
    assert not CAN_FORK or template != studio.pid
    group = [each.pid for each in psutil.process_iter() if os.getpgid(each.pid) == kernel]
    assert kernel in group
    assert (child in group) is not own_session
    studio.kill()
    studio.wait()
    studio.stdout.close()
    for each in {*group, child, template}:
        until_gone(each)


DAEMON = """
import os, pathlib, time
if (child := os.fork()) == 0:
    os.setsid()
    if os.fork() == 0:
        pathlib.Path("child.tmp").write_text(str(os.getpid()))
        os.rename("child.tmp", "child.txt")
        time.sleep(3600)
    os._exit(0)
os.waitpid(child, 0)
from google.adk.agents import LlmAgent
root_agent = LlmAgent(name="one", model="none")
"""


@pytest.mark.long
@pytest.mark.skipif(not CAN_FORK, reason="only Linux finds a daemon's way back to its process")
@pytest.mark.parametrize(
    "end",
    [lambda kernel: kernel.kill(), lambda kernel: kernel.end(), lambda kernel: os.kill(kernel.process_id, 9)],
    ids=["killed", "ended", "died"],
)
def test_a_daemon_of_an_agent_ends_with_its_process_and_no_other_one(
    tmp_path: Path, end: Callable[[Kernel], None]
) -> None:
    """Also one that has left it by two forks and leads a session of its own."""
    kernels, daemons = [], []
    for name in ("one", "two"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "agent.py").write_text(DAEMON)
        kernels.append(Kernel(Path(sys.executable), folder))
        kernels[-1].ask("load", {"folder": str(folder), "name": name})
        wait_until((folder / "child.txt").exists, what="the daemon", seconds=PATIENCE)
        daemons.append(int((folder / "child.txt").read_text()))
    end(kernels[0])
    until_gone(kernels[0].process_id)
    until_gone(daemons[0])
    assert psutil.Process(daemons[1]).status() == psutil.STATUS_SLEEPING
    assert kernels[1].has_pulse()
    kernels[1].kill()
    until_gone(daemons[1])


def test_the_end_of_a_process_is_heard_though_a_child_of_it_holds_the_pipe(tmp_path: Path) -> None:
    """The child ends with it."""
    (tmp_path / "agent.py").write_text(
        "import os, pathlib\n"
        "if (child := os.fork()) == 0:\n    import time; time.sleep(3600)\n"
        "pathlib.Path('child.txt').write_text(str(child))\nos._exit(7)\n"
    )
    kernel = Kernel(Path(sys.executable), tmp_path)
    with pytest.raises(KernelError, match="exit code 7"):
        kernel.ask("load", {"folder": str(tmp_path), "name": tmp_path.name}, patience=PATIENCE)
    until_gone(int((tmp_path / "child.txt").read_text()))


def test_what_an_earlier_process_still_says_is_not_taken_for_the_new_ones(config: KernelAgentConfig) -> None:
    """Its facts may be on their way when another one has begun to play."""
    simulation = begun(config)
    first = config.kernels.kernel()
    first.kill("for the test")
    simulation.query("Hello", wait=PATIENCE)
    assert config.kernels.kernel() is not first
    before = simulation.view()
    assert before.pending
    simulation.heard(first, HeadMoved(session=simulation._id, head=1))
    simulation.ended(first, "late")
    simulation.rested(first)
    assert simulation.view() == before


def test_a_call_whose_answer_has_come_waits_no_more(
    config: KernelAgentConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The fact, and the end of its turn, come before the word of what waits now: who typed for the call in between would lose it. Undone, it waits again."""
    simulation = begun(config)
    simulation.query("Hello", wait=PATIENCE)
    (request,) = simulation.pending
    seen: list[tuple[bool, bool]] = []
    late: list[SessionDisplay] = []
    heard = simulation.heard

    def looked(kernel: Kernel, message: Appended | HeadMoved | SessionDisplay) -> None:
        if len(seen) == 1 and isinstance(message, SessionDisplay):
            late.append(message)
            return
        heard(kernel, message)
        view = simulation.view()
        if not isinstance(message, Appended):
            return
        is_end = message.fact["kind"] == "turn_ended"
        if is_end or message.fact.get("key") == request.key:
            seen.append((request in view.pending, view.busy))
        for each in late if is_end else ():
            heard(kernel, each)

    monkeypatch.setattr(simulation, "heard", looked)
    simulation.answer(request, said("Hi"), wait=PATIENCE)
    assert seen == [(False, True), (False, True)]
    simulation.undo(wait=PATIENCE)
    assert [each.key for each in simulation.pending] == [request.key]


@pytest.mark.long
def test_a_session_that_opens_while_the_idle_process_is_ended_starts_another_one(
    config: KernelAgentConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between its being found and its being told of the session it is ended."""
    kernels, found = config.kernels, config.kernels.kernel
    idle = found()
    ended: list[bool] = []

    def ended_then() -> Kernel:
        kernel = found()
        if kernel is idle:
            ended.append(kernel.rest())
        return kernel

    monkeypatch.setattr(kernels, "kernel", ended_then)
    simulation = begun(config)
    assert ended == [True]
    assert simulation.query("Hello", wait=PATIENCE)
    assert simulation.pending
    assert not found().rest()
