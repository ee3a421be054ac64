"""A turn whose own code takes long before it asks is executed again as it was, however long that is."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

import pytest

from simulator import Simulation
from simulator.runtime.turns import replay_release
from simulator.session import Seats
from tests.simulator.runtime.stage import agent_of, call

LONG = 0.2


def find(order: str) -> dict[str, str]:
    """Find an order."""
    return {"order": order}


async def _in_a_thread() -> None:
    await asyncio.to_thread(time.sleep, LONG)


async def _by_the_clock() -> None:
    await asyncio.sleep(LONG)


async def _holding_up_the_loop() -> None:
    await asyncio.sleep(0)
    time.sleep(LONG)  # noqa: ASYNC251 - as an import does
    await asyncio.sleep(0)


@pytest.mark.parametrize("work", [_in_a_thread, _by_the_clock, _holding_up_the_loop])
def test_an_agent_that_works_long_before_it_asks_is_no_other_agent(
    work: Callable[[], Awaitable[None]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It waits where it waited, whether a thread, a timer or the loop itself was at work. Patience is shorter than the work."""

    async def slow(callback_context: object) -> None:
        del callback_context
        await work()

    agent = agent_of([call("find", order="A-1")], tools=[find], before_agent_callback=slow)
    with Simulation.open(agent, seats=Seats(tools={"*": "person"})) as simulation:
        simulation.query("Hello")
        journal, waiting = simulation.journal, [request.key for request in simulation.pending]
    monkeypatch.setattr(replay_release, "_LOOK_SECONDS", LONG / 10)
    monkeypatch.setattr(replay_release, "_PATIENCE", 5)
    with Simulation.resume(journal, agent) as simulation:
        assert simulation.view().divergence is None
        assert [request.key for request in simulation.pending] == waiting != []
