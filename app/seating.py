"""Hands to a simulation who shall speak for the user."""

from __future__ import annotations

from app.commands import SeatUser
from app.live import LiveSimulation
from app.settling import AT_ONCE


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
