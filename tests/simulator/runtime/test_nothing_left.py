"""What a session leaves behind when it is over: nothing that waits for the garbage collector."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from google.adk.tools.function_tool import FunctionTool

from simulator.runtime import Simulation
from simulator.runtime.adk.boundaries import seat_tool
from tests.simulator.runtime.stage import PATIENCE, agent_of, call, let_the_loop_forget, opened
from tests.simulator.runtime.traces import Traces


@pytest.fixture(autouse=True)
def _no_collector() -> Iterator[None]:
    """Let nothing be collected."""
    gc.disable()
    yield
    gc.enable()


def _real(sim: Simulation) -> None:
    sim.query("go", wait=PATIENCE)


def _by_person(sim: Simulation) -> None:
    sim.set_player("tool", "person")
    sim.query("go", wait=PATIENCE)
    sim.answer(sim.pending[0], {"played": True}, wait=PATIENCE)


def _taken_back(sim: Simulation) -> None:
    _by_person(sim)
    sim.undo()
    sim.answer(sim.pending[0], {"played": "again"}, wait=PATIENCE)


@pytest.mark.long
@pytest.mark.parametrize("play", [_real, _by_person, _taken_back])
def test_a_session_that_is_closed_is_gone(play: Callable[[Simulation], None]) -> None:
    """With its journal, whoever played; one whose turn is cut off leaves errors whose frames hold each other."""
    agent = agent_of([call("hit_later", mark="a")], tools=[Traces().hit_later])
    with opened(agent, tools="real") as sim:
        play(sim)
        journal = weakref.ref(sim.journal)
    del sim
    let_the_loop_forget()
    assert journal() is None


def test_a_seated_tool_is_gone_with_its_last_name_and_its_method_says_so() -> None:
    """ADK makes its tools anew for every request. The method must not run anything else."""
    tool = FunctionTool(func=Traces().hit)
    seat_tool(tool)
    run, itself = tool.run_async, weakref.ref(tool)
    del tool
    assert itself() is None
    nothing: Any = None
    with pytest.raises(ReferenceError, match="the tool"):
        asyncio.run(run(args={"mark": "a"}, tool_context=nothing))


@pytest.mark.long
@pytest.mark.parametrize(
    ("set_before", "pace"), [("", (2000, 10, 10)), ("gc.set_threshold(9, 8, 7)", (9, 8, 7))]
)
def test_a_pace_of_collecting_that_somebody_chose_stays(set_before: str, pace: tuple[int, ...]) -> None:
    """Only Python's own old default gives way to its new one."""
    if sys.version_info >= (3, 13) and not set_before:
        pytest.skip("this Python has that pace by itself")
    code = f"import gc\n{set_before}\nfrom simulator.runtime.adk.event_loop import LoopThread\nLoopThread.shared()\nprint(gc.get_threshold())"
    shown = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], check=True, capture_output=True, text=True
    )
    assert shown.stdout.strip() == str(pace)
