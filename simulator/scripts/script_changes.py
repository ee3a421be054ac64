"""Makes a change that a script asks for: the rules, who plays, or the environment."""

from __future__ import annotations

from typing import Any, assert_never

from simulator.environment.environment_facts import (
    EnvironmentChanged,
    EnvironmentDataGiven,
    RecordingGiven,
    StateCleared,
    ToolsDeclared,
    WorldEdited,
)
from simulator.runtime import Simulation
from simulator.scripts.script_lines import Change, EnvironmentChange, PlayerChange, RulesChange, Shaping


def change(simulation: Simulation, asked: Change) -> None:
    """Make a change.

    Raises:
        SimulationError: It does not fit the session.
    """
    match asked:
        case RulesChange():
            simulation.set_rules(asked.rules)
        case PlayerChange():
            player: Any = asked.player
            simulation.set_player(asked.seat, player, asked.target)
        case EnvironmentChange():
            _shape(simulation, asked.environment)
        case never:
            assert_never(never)


def _shape(simulation: Simulation, asked: Shaping) -> None:
    environment = simulation.environment
    match asked:
        case EnvironmentChanged():
            environment.change(asked.settings)
        case EnvironmentDataGiven():
            environment.give_data(asked.text)
        case WorldEdited():
            environment.edit(*asked.changes)
        case StateCleared():
            environment.clear_state(asked.state_key)
        case RecordingGiven():
            environment.give_recording(asked.name, asked.calls)
        case ToolsDeclared():
            environment.declare(*asked.tools)
        case never:
            assert_never(never)
