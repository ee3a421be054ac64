"""Hands what a person asked for on the page to the simulation."""

from __future__ import annotations

from typing import assert_never

from app.agents.scenario_cases import add_case
from app.environment.environment_commands import shape
from app.live.pause_wait import AT_ONCE
from app.live.read_only_simulation import ReadOnly, refuse
from app.live.simulation_protocol import LiveSimulation
from app.session import page_state
from app.session.page_commands import (
    AddScenario,
    ChangeSeat,
    CloseBranches,
    CloseEnvironment,
    Command,
    GoTo,
    OpenBranches,
    OpenEnvironment,
    OpenExport,
    RedoStep,
    SeatUser,
    SetRules,
    ShapeEnvironment,
    StopTurn,
    SwitchRule,
    TakeConfig,
    UndoStep,
)
from app.session.user_seating import seat_user


def command(  # noqa: C901, PLR0912 - one arm for each kind of command
    simulation: LiveSimulation, asked: Command
) -> None:
    """Carry out a command.

    Raises:
        app.live.read_only_simulation.ReadOnlyError: The session is only looked at.
        simulator.runtime.SimulationError: The command does not fit what the session is doing.
    """
    if isinstance(simulation, ReadOnly):  # also what writes to files beside the session
        refuse()
    match asked:
        case StopTurn():
            simulation.stop()
        case UndoStep():
            simulation.undo(wait=AT_ONCE)
        case RedoStep():
            simulation.redo(wait=AT_ONCE)
        case GoTo():
            simulation.move_head(asked.fact, wait=AT_ONCE)
        case SetRules():
            if asked.rules != simulation.session.rules:  # saved as they are, they are no step to undo
                simulation.set_rules(asked.rules)
        case SwitchRule():
            simulation.switch_rule(asked.rule_id, asked.enabled)
        case ChangeSeat():
            simulation.set_player(asked.seat, asked.player, asked.target, wait=AT_ONCE)
        case SeatUser():
            seat_user(simulation, asked)
        case AddScenario():
            page_state.put("scenario_added", add_case(simulation.session, asked.scenario, asked.path))
        case TakeConfig():
            _take(simulation, asked)
        case ShapeEnvironment():
            shape(simulation.environment, asked.what)
        case OpenExport() | OpenEnvironment() | CloseEnvironment() | OpenBranches() | CloseBranches():
            raise ValueError(f"{asked.kind} is for the page, not for a simulation")
        case never:
            assert_never(never)


def _take(simulation: LiveSimulation, asked: TakeConfig) -> None:
    simulation.set_rules(asked.rules)
    environment = simulation.environment
    if asked.data:
        environment.give_data(asked.data)
    if asked.recorded:
        environment.give_recording("tracing", asked.recorded)
    if asked.settings:
        environment.change(**asked.settings)
    for name in asked.mock_tools:
        simulation.set_player("tool", "model", name, wait=AT_ONCE)
