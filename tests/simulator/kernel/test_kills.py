"""Processes are killed at any moment: nothing that was acknowledged is lost, nothing stays behind, and no port is open.

`GOLDEN_TRACE_KILLS=1000` kills more of them.
"""

from __future__ import annotations

import os
import random
import signal
import threading
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from simulator.kernel.kernel_agent import KernelAgentConfig
from simulator.kernel.remote_simulation import RemoteSimulation
from simulator.runtime import SimulationError
from simulator.seats.answers import called, said
from simulator.seats.requests import ToolRequest
from tests.simulator.kernel.projects import PATIENCE, begun, until, until_gone

pytestmark = [pytest.mark.process, pytest.mark.long]

KILLS = int(os.environ.get("GOLDEN_TRACE_KILLS", "200"))


def group_of(process: int) -> set[int]:
    """Return the processes of a kernel's group."""
    found = set()
    for each in psutil.process_iter():
        with suppress(ProcessLookupError, psutil.Error):
            if os.getpgid(each.pid) == process:
                found.add(each.pid)
    return found


def step(simulation: RemoteSimulation, number: int) -> None:
    """Do what the session waits for: a query, a call, its answer, a final response."""
    if not simulation.pending and simulation.view().session.is_running:
        simulation.go_on(wait=PATIENCE)
    if not simulation.pending:
        simulation.query(f"Query {number}", wait=PATIENCE)
        return
    request = simulation.pending[0]
    if isinstance(request, ToolRequest):
        simulation.answer(request, {"step": number}, wait=PATIENCE)
    elif number % 2:
        simulation.answer(request, called(("find_order", {"order_id": "A1"})), wait=PATIENCE)
    else:
        simulation.answer(request, said(f"Word {number}"), wait=PATIENCE)


def facts(simulation: RemoteSimulation) -> list[object]:
    """Return what the session's journal holds, on the way to its head."""
    found: list[object] = simulation.read(lambda one: [fact for _, fact in one.journal.path()])
    return found


def test_nothing_that_was_acknowledged_is_lost_however_often_the_process_is_killed(
    config: KernelAgentConfig, tmp_path: Path
) -> None:
    """At moments of chance, in and between steps; the moments are the same in each run."""
    chance = random.Random("kills")  # noqa: S311 - moments, no secrets
    simulation, groups = begun(config), set[int]()
    for number in range(KILLS):
        kernel = config.kernels.kernel()
        assert [
            one for one in psutil.Process(kernel.process_id).net_connections("inet") if one.status == "LISTEN"
        ] == []
        groups |= group_of(kernel.process_id)
        killer = threading.Timer(chance.random() * 0.05, os.kill, (kernel.process_id, signal.SIGKILL))
        acknowledged = facts(simulation)
        killer.start()
        with suppress(SimulationError):
            step(simulation, number)
            acknowledged = facts(simulation)
        killer.join()
        until_gone(kernel.process_id)
        until(simulation, lambda: not simulation.view().busy)
        with suppress(SimulationError):  # one that ended twice within seconds waits for somebody to act
            simulation.wait(PATIENCE)
        assert facts(simulation)[: len(acknowledged)] == acknowledged
    step(simulation, 0)
    assert simulation.view().problems == ()
    assert not (tmp_path / "desk" / "ran.txt").exists()  # no tool ran for real
    last = group_of(config.kernels.kernel().process_id)
    config.kernels.end()
    for each in groups | last:
        until_gone(each)
