"""Proves that a tool which nobody chose does not run after its turn, in a process that lives for sessions; each way in a process of its own."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.harness.processes import wait_until
from tests.simulator.runtime.past_seats import marks
from tests.simulator.runtime.stage import agent_of, call, going, say

PROGRAM = """
import _thread, asyncio, atexit, sys, threading
from pathlib import Path
from google.adk.tools.function_tool import FunctionTool
from simulator.runtime.adk.tool_guards import UnchosenToolError, guard_process
from tests.simulator.runtime.past_seats import before, hitting
from tests.simulator.runtime.stage import opened, play

way, player, marker = sys.argv[1], sys.argv[2], Path(sys.argv[3])
tool = FunctionTool(hitting(marker))
guard_process()
begin, ended, later = threading.Event(), threading.Event(), []


def late():
    try:
        asyncio.run(tool.run_async(args={"mark": way}, tool_context=None))
        print("ran", flush=True)
    except UnchosenToolError as error:
        print("refused", error.tool_name, flush=True)


def thread():
    begin.wait(60)
    late()
    ended.set()


async def callback(callback_context):
    if way == "raw_thread":
        _thread.start_new_thread(thread, ())
    elif way == "atexit":
        atexit.register(late)
    else:
        later.append(late)


with opened(before(callback), tools=player) as sim:
    play(sim)
    begin.set()
    if way == "raw_thread":
        ended.wait(60)
    for each in later:
        each()
"""


@pytest.mark.long
@pytest.mark.process
@pytest.mark.parametrize("way", ["raw_thread", "atexit", "close"])
def test_a_tool_that_nobody_chose_does_not_run_after_its_turn(way: str, tmp_path: Path) -> None:
    """The same error as in the turn, and the log says so."""
    marker = tmp_path / "marks"
    done = _ran(way, "offline", marker)
    assert done.stdout.split() == ["refused", "hit"], done
    assert "hit did not run" in done.stderr
    assert marks(marker) == []


@pytest.mark.long
@pytest.mark.process
def test_a_tool_that_is_real_in_the_session_runs_after_its_turn(tmp_path: Path) -> None:
    """As long as the session is there."""
    assert _ran("raw_thread", "real", tmp_path / "marks").stdout.split() == ["ran"]


def _ran(way: str, player: str, marker: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, way, player, str(marker)], capture_output=True, text=True, check=True
    )


SECRET = "sk-ant-" + "x1Y2z3" * 6


@pytest.fixture
def port() -> Iterator[int]:
    """A port of this machine that takes connections."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def threaded(function: Callable[[], Any]) -> None:
    """Call a function in a thread, and wait for it."""
    thread = threading.Thread(target=function)
    thread.start()
    thread.join()


def pooled(function: Callable[[], Any]) -> None:
    """Call a function in a thread of a pool, from a thread, and wait for it."""
    with ThreadPoolExecutor(1) as pool:
        pool.submit(threaded, function).result()


def work(port: int) -> None:
    """Start a process, and connect."""
    subprocess.run([sys.executable, "-c", "", f"--token={SECRET}"], check=True)
    socket.create_connection(("127.0.0.1", port)).close()


@pytest.mark.parametrize("through", [lambda function: function(), threaded, pooled])
def test_processes_and_connections_of_the_agents_code_are_noted(
    port: int, through: Callable[[Callable[[], Any]], None]
) -> None:
    """Each is named once, without secrets, also in threads that the code starts."""

    def before(**_: Any) -> None:
        through(lambda: work(port))

    agent = agent_of([say("hello")], before_model_callback=before)
    with going(agent) as sim:
        wait_until(lambda: len(sim.view().problems) == 2, what="the notes")
        process, connection = sim.view().problems
        assert "process" in process
        assert sys.executable in process
        assert SECRET not in process
        assert f"127.0.0.1:{port}" in connection


def test_forks_and_datagrams_of_the_agents_code_are_noted() -> None:
    """A spawned program is forked first, and a part of a connection is no place of its own."""

    def before(**_: Any) -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            sender.sendto(b"1", ("127.0.0.1", 9))
            sender.sendmsg([b"1"], [], 0, ("127.0.0.2", 9))
            sender.connect(("127.0.0.3", 9))
            sender.sendmsg([b"1"])
        os.spawnv(os.P_WAIT, sys.executable, [sys.executable, "-c", ""])  # noqa: S606 - what is tested

    with going(agent_of([say("hello")], before_model_callback=before)) as sim:
        wait_until(lambda: len(sim.view().problems) == 4, what="the notes")
        for note, named in zip(
            sim.view().problems, ("127.0.0.1:9", "127.0.0.2:9", "127.0.0.3:9", "fork"), strict=True
        ):
            assert named in note


@pytest.mark.parametrize("through", [lambda function: function(), pooled])
def test_what_was_chosen_to_be_real_is_not_noted(
    port: int, through: Callable[[Callable[[], Any]], None]
) -> None:
    """A real tool, and the model, may start and reach what they like, also in threads."""

    def reach() -> str:
        """Do something real."""
        through(lambda: work(port))
        return "done"

    def model_turn(_request: Any) -> list[Any]:
        through(lambda: work(port))
        return [call("reach")]

    agent = agent_of(model_turn, tools=[reach])
    with going(agent, tools="real") as sim:
        assert sim.session.state.value == "completed"
        assert sim.view().problems == ()
