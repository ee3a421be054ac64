"""Hands what a person asked for on the page to the simulation."""

from __future__ import annotations

from typing import assert_never

from app.commands import (
    ChangeSeat,
    CloseEnvironment,
    Command,
    OpenEnvironment,
    OpenExport,
    SetRules,
    ShapeEnvironment,
    StopTurn,
    SwitchRule,
    UndoStep,
)
from app.live import LiveSimulation
from app.settling import AT_ONCE
from app.shaping import shape


def command(simulation: LiveSimulation, asked: Command) -> None:
    """Carry out a command.

    Raises:
        simulator.runtime.SimulationError: The command does not fit what the session is doing.
    """
    match asked:
        case StopTurn():
            simulation.stop()
        case UndoStep():
            simulation.undo()
        case SetRules():
            simulation.set_rules(asked.rules)
        case SwitchRule():
            simulation.switch_rule(asked.rule_id, asked.enabled)
        case ChangeSeat():
            simulation.set_player(asked.seat, asked.player, asked.target, wait=AT_ONCE)
        case ShapeEnvironment():
            shape(simulation.environment, asked.what)
        case OpenExport() | OpenEnvironment() | CloseEnvironment():
            raise ValueError(f"{asked.kind} is for the page, not for a simulation")
        case never:
            assert_never(never)
