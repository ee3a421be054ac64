"""What is at work says since when, not since when it was asked for."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from threading import Event

from tests.harness.processes import wait_until
from tests.simulator.runtime.stage import PATIENCE, agent_of, call, opened


def test_the_time_that_a_person_thought_is_not_counted() -> None:
    """A real tool that was started long after the call is at work since its start."""
    seconds: Iterator[int] = count(1000)
    later = [0.0]
    go_on = Event()

    def dig() -> dict[str, str]:
        """Dig until it is enough."""
        go_on.wait(PATIENCE)
        return {"found": "gold"}

    agent = agent_of([call("dig")], tools=[dig])
    with opened(agent, clock=lambda: next(seconds) + later[0]) as simulation:
        assert simulation.query("Dig", wait=PATIENCE)
        later[0] = 50_000.0
        simulation.run_real(simulation.pending[0], wait=0.0)
        wait_until(lambda: bool(simulation.view().running), what="the digging", seconds=PATIENCE)
        (running,) = simulation.view().running
        go_on.set()
        assert simulation.wait(PATIENCE)
    assert running.name == "dig"
    assert running.since > 50_000
