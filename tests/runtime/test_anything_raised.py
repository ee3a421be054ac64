"""Whatever real code raises is an answer in the timeline: no session hangs, and none beside it is touched."""

from __future__ import annotations

import asyncio
import math
import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest
from google.adk.agents.callback_context import CallbackContext
from google.adk.tools.base_tool import BaseTool

from simulator.facts import Returned
from simulator.journal import Journal
from simulator.runtime import Simulation
from tests.harness.processes import wait_until
from tests.runtime.stage import PATIENCE, agent_of, call, entries, opened, tool_facts, tool_requests
from tests.runtime.ways import Traces


def exits() -> str:
    """Want to end the process."""
    sys.exit("no key")


async def exits_later() -> str:
    """Want to end the process, on the loop."""
    await asyncio.sleep(0)
    sys.exit("no key")


async def interrupts() -> str:
    """Be interrupted."""
    raise KeyboardInterrupt


async def cancelled() -> str:
    """Wait for a task that was cancelled."""
    task = asyncio.ensure_future(asyncio.sleep(60))
    task.cancel()
    await task
    return "never"


async def own_base() -> str:
    """Raise what is no `Exception`."""
    raise OwnBaseError("own")


def runs_out() -> str:
    """Ask an empty iterator."""
    return str(next(iter(())))


class OwnBaseError(BaseException):
    """What some libraries raise so that nobody catches it."""


_RAISING = [exits, exits_later, interrupts, cancelled, own_base, runs_out]


def _failed_once(sim: Simulation, tool: Callable[..., Any]) -> None:
    (answered,) = tool_facts(sim)
    assert (answered.tool_name, answered.outcome.kind) == (tool.__name__, "raised")
    assert entries(sim, "tool_error")


@pytest.mark.parametrize("tool", _RAISING, ids=lambda tool: tool.__name__)
def test_a_seated_tool_may_raise_anything(tool: Callable[..., Any]) -> None:
    """The call has failed, the turn ends with it, and this session and the one beside it go on."""
    with opened(agent_of(tools=[Traces().hit])) as beside:
        with opened(agent_of([call(tool.__name__)], tools=[tool]), tools="real") as sim:
            assert sim.query("go", wait=PATIENCE)
            _failed_once(sim, tool)
            assert entries(sim, "turn_failed")
            assert sim.query("again", wait=PATIENCE)
        assert beside.query("still there?", wait=PATIENCE)


@pytest.mark.parametrize("tool", _RAISING, ids=lambda tool: tool.__name__)
def test_a_tool_that_a_person_runs_may_raise_anything(tool: Callable[..., Any]) -> None:
    """As where it has a seat of its own."""
    with opened(agent_of([call(tool.__name__)], tools=[tool])) as sim:
        assert sim.query("go", wait=PATIENCE)
        assert sim.run_real(tool_requests(sim)[0], wait=PATIENCE)
        _failed_once(sim, tool)


def test_a_callback_may_want_to_end_the_process() -> None:
    """The turn fails with that error; the next one runs."""
    first = iter(["no licence"])

    def quits(callback_context: CallbackContext) -> None:
        if words := next(first, ""):
            sys.exit(words)

    with opened(agent_of(before_agent_callback=quits)) as sim:
        assert sim.query("go", wait=PATIENCE)
        (failed,) = entries(sim, "turn_failed")
        assert (failed.error_type, failed.error_message) == ("SystemExit", "no licence")
        assert sim.query("again", wait=PATIENCE)
        assert len(entries(sim, "turn_failed")) == 1


def test_a_real_call_that_has_not_begun_goes_along_with_its_seat() -> None:
    """While another real call runs, the seat of one that waits for it is swapped: the person gets it, at once."""
    go_on, ran = threading.Event(), list[str]()

    def hang() -> str:
        """Take long."""
        go_on.wait(PATIENCE)
        ran.append("hang")
        return "done"

    def pay() -> str:
        """Pay."""
        ran.append("paid")
        return "paid"

    begun: list[str] = []

    def note(tool: BaseTool, **_: Any) -> None:
        """Take down which call is about to be asked for."""
        begun.append(tool.name)

    agent = agent_of([call("hang"), call("pay")], tools=[hang, pay], before_tool_callback=note)
    with opened(agent, tools="real") as sim:
        assert not sim.query("go", wait=0.0)
        wait_until(lambda: len(begun) == len(agent.tools), what="both calls", seconds=PATIENCE)
        sim.set_player("tool", "person", "pay", wait=0)
        (request,) = tool_requests(sim)
        assert request.tool_name == "pay"
        sim.answer(request, "not now", wait=0)
        go_on.set()
        assert sim.wait(PATIENCE)
        assert ran == ["hang"]
        assert {fact.tool_name: fact.provenance.source for fact in tool_facts(sim)} == {
            "hang": "real",
            "pay": "written",
        }


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        ({"n": math.nan, "more": [math.inf, -math.inf]}, {"n": "NaN", "more": ["Infinity", "-Infinity"]}),
        ({"half \ud800": {"half \udc80": "\ud800"}}, {"half ?": {"half ?": "?"}}),
        ({"n": 1 << 20_000}, {"n": f"{1 << 20_000:#x}"}),
    ],
    ids=["no number", "half a character", "a number of pages"],
)
def test_what_json_cannot_hold_is_kept_as_json(value: Any, kept: Any) -> None:
    """As a tool's result: the session can be seen, saved and read again."""

    async def odd() -> Any:
        """Return something odd."""
        return value

    with opened(agent_of([call("odd")], tools=[odd]), tools="real") as sim:
        assert sim.query("go", wait=PATIENCE)
        (fact,) = tool_facts(sim)
        assert fact.outcome == Returned(value=kept)
        assert sim.session.turns[0].error is None
        assert Journal.from_json(sim.journal.to_json()).session() == sim.session
