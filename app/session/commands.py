"""What a person can ask for on a session's page: commands that the session carries out, and pages of it to show.

A feature's own commands lie in the feature; those that several features ask for lie here.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Literal

from pydantic import Field
from typing_extensions import override

from app.live.live_sessions import LiveSession
from app.live.pause_wait import AT_ONCE
from app.live.read_only_simulation import ReadOnly, refuse
from app.live.simulation_protocol import LiveSimulation
from app.session.page_state import View
from app.session.stale_clicks import check_seen
from simulator.base.frozen_value import Value
from simulator.base.json_values import JsonObject
from simulator.environment.injection.rules import InjectionRule
from simulator.environment.world.tool_settings import EnvironmentSettings, ToolSettings
from simulator.facts import EVERY, AgentPlayer, Outcome, ToolPlayer, UserPlayer
from simulator.seats.requests import ToolRequest

_REACHED_SECONDS = 20.0
"""How long the way back to an earlier call may take: what happened before it is re-executed."""

NEW_RULE = "\n"
"""Stands for the rule that is being written and has no id yet; no id has a line break."""


class Command(Value):
    """Something that is asked of a session.

    Attributes:
        is_of_step: Whether it is meant for the step that the page shows as the last one, and no other.
    """

    is_of_step: ClassVar[bool] = False

    def check(self, live: LiveSession) -> None:
        """Check what only the session's page knows.

        Raises:
            ValueError: It may not be carried out; the text says why.
        """
        if self.is_of_step:
            check_seen(live)

    @abstractmethod
    def carry_out(self, simulation: LiveSimulation) -> None:
        """Do it; what follows from it is not waited for.

        Raises:
            simulator.runtime.SimulationError: It does not fit what the session is doing, for example because the request
                has been answered in another tab. What does not fit changes nothing.
        """


def hand(simulation: LiveSimulation, asked: Command) -> None:
    """Carry out a command.

    Raises:
        app.live.read_only_simulation.ReadOnlyError: The session is only looked at.
        ValueError: The command does not fit; a `SimulationError` where the session refuses it.
    """
    if isinstance(simulation, ReadOnly):  # also what writes to files beside the session
        refuse()
    asked.carry_out(simulation)


class Show(Value):
    """Show a page of the session, or the session itself where `view` is None; nothing in the session changes.

    `tab` is the tab of the environment to open, None for the one that was open last. `rule` is the id of a rule to edit
    there.
    """

    view: View | None
    tab: str | None = None
    rule: str | None = None


class StopTurn(Command):
    """End the turn that is running; what has happened so far stays."""

    @override
    def carry_out(self, simulation: LiveSimulation) -> None:
        simulation.stop()


class UndoStep(Command):
    """Take back the last step that a person took."""

    is_of_step = True

    @override
    def carry_out(self, simulation: LiveSimulation) -> None:
        simulation.undo(wait=AT_ONCE)


class RedoStep(Command):
    """Bring back the step that was taken back last."""

    is_of_step = True

    @override
    def carry_out(self, simulation: LiveSimulation) -> None:
        simulation.redo(wait=AT_ONCE)


class GoTo(Command):
    """Go to a fact of the journal, on this branch or another one."""

    is_of_step = True
    fact: int

    @override
    def carry_out(self, simulation: LiveSimulation) -> None:
        simulation.move_head(self.fact, wait=AT_ONCE)


class FailCall(Command):
    """Let one fault answer a call that waits, or change its `outcome`: this call alone, whatever rules there are.

    Attributes:
        key: The request's key.
        rule: What the fault does.
        outcome: The response that the fault changes, where it changes one.
    """

    key: str
    rule: InjectionRule
    outcome: Outcome | None = None

    @override
    def carry_out(self, simulation: LiveSimulation) -> None:
        simulation.inject(self.key, self.rule, self.outcome, wait=AT_ONCE)


class FailPastCall(Command):
    """Go back to before the answer of a call, and let one fault answer it; what followed stays as a branch.

    Attributes:
        before: The fact before that answer.
        call_id: The call.
        rule: What the fault does.
        outcome: The answer that the call had.
    """

    is_of_step = True
    before: int
    call_id: str
    rule: InjectionRule
    outcome: Outcome | None = None

    @override
    def carry_out(self, simulation: LiveSimulation) -> None:
        simulation.move_head(self.before, wait=_REACHED_SECONDS)
        calls = (each for each in simulation.view().pending if isinstance(each, ToolRequest))
        key = next((each.key for each in calls if each.call_id == self.call_id), None)
        if key is None:
            raise ValueError(
                "The session went back, but this call is not waiting yet. Use Fail this call once it waits."
            )
        simulation.inject(key, self.rule, self.outcome, wait=AT_ONCE)


class ChangeSeat(Command):
    """Let somebody else play an agent or answer a tool: the one called `target`, or all others."""

    seat: Literal["agent", "tool"]
    target: str = EVERY
    player: AgentPlayer | ToolPlayer

    @override
    def carry_out(self, simulation: LiveSimulation) -> None:
        simulation.set_player(self.seat, self.player, self.target, wait=AT_ONCE)


class SeatUser(Command):
    """Let somebody else speak for the user; the fields are those of `Simulation.set_user`."""

    player: UserPlayer
    script: tuple[str | JsonObject, ...] = ()
    scenario: JsonObject | None = None
    config: JsonObject = Field(default_factory=dict)
    hold: bool = True

    @override
    def carry_out(self, simulation: LiveSimulation) -> None:
        simulation.set_user(
            self.player,
            script=self.script,
            scenario=self.scenario,
            config=self.config,
            hold=self.hold,
            wait=AT_ONCE,
        )


class ChangeSettings(Command):
    """Set some fields of the environment's settings, by their names."""

    fields: dict[str, Any]

    @override
    def carry_out(self, simulation: LiveSimulation) -> None:
        simulation.environment.change(**self.fields)


def with_tool(settings: EnvironmentSettings, name: str, **changes: Any) -> dict[str, ToolSettings]:
    """Return the settings of all tools after some fields of one were set; a tool with nothing set is left out."""
    now = ToolSettings.model_validate({**dict(settings.tool(name)), **changes})
    others = {other: found for other, found in settings.tools.items() if other != name}
    return others if now == ToolSettings(name=name) else {**others, name: now}
