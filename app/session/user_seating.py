"""Hands to a simulation who shall speak for the user."""

from __future__ import annotations

from app.live.pause_wait import AT_ONCE
from app.live.simulation_protocol import LiveSimulation
from app.session.page_commands import SeatUser


def seat_user(simulation: LiveSimulation, asked: SeatUser) -> None:
    """Let them sit down.

    Raises:
        simulator.runtime.SimulationError: What they speak from is not as ADK wants it; nothing was changed.
    """
    simulation.set_user(
        asked.player,
        script=asked.script,
        scenario=asked.scenario,
        config=asked.config,
        hold=asked.hold,
        wait=AT_ONCE,
    )
