"""What can be asked of the injection rules of a session."""

from __future__ import annotations

from typing import Any

from pydantic import Field
from typing_extensions import override

from app.live.pause_wait import AT_ONCE
from app.live.simulation_protocol import LiveSimulation
from app.session.commands import Command
from simulator.environment.injection.rules import InjectionRule
from simulator.environment.recordings.recorded_calls import ObservedCall


class SetRules(Command):
    """Put these injection rules in force, in this order."""

    is_of_step = True
    rules: tuple[InjectionRule, ...]

    def carry_out(self, simulation: LiveSimulation) -> None:
        """Do it; saved as they are, they are no step to undo."""
        if self.rules != simulation.session.rules:
            simulation.set_rules(self.rules)


class SwitchRule(Command):
    """Switch one injection on or off."""

    rule_id: str
    enabled: bool

    @override
    def carry_out(self, simulation: LiveSimulation) -> None:
        simulation.switch_rule(self.rule_id, self.enabled)


class TakeConfig(Command):
    """Put all of a configuration in force: its rules, and what it says of the environment beside them.

    What is empty changes nothing. `mock_tools` are answered by the environment's model from then on, `settings` are
    fields of the environment's settings by name.
    """

    rules: tuple[InjectionRule, ...]
    data: str = ""
    recorded: tuple[ObservedCall, ...] = ()
    settings: dict[str, Any] = Field(default_factory=dict)
    mock_tools: tuple[str, ...] = ()

    @override
    def carry_out(self, simulation: LiveSimulation) -> None:
        simulation.set_rules(self.rules)
        environment = simulation.environment
        if self.data:
            environment.give_data(self.data)
        if self.recorded:
            environment.give_recording("tracing", self.recorded)
        if self.settings:
            environment.change(**self.settings)
        for name in self.mock_tools:
            simulation.set_player("tool", "model", name, wait=AT_ONCE)
