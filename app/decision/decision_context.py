"""Gathers what the decision pane needs to know of a session beside the call that waits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from simulator.branches import written_before
from simulator.environment.injection.rules import InjectionRule
from simulator.environment.recordings import ObservedCall
from simulator.environment.world.entities import Contradiction
from simulator.environment.world.tool_settings import EnvironmentSettings
from simulator.facts import ModelAnswered, Outcome
from simulator.seats.requests import ModelRequest, ToolRequest
from simulator.session import Seats
from simulator.session.history import ToolCall

if TYPE_CHECKING:
    from simulator.runtime import SimulationView
    from simulator.runtime.commanding import Commanding, SimulatedEnvironment
    from simulator.scripts.script_lines import NextLines


class Surroundings(NamedTuple):
    """What is set for the environment, what was recorded, who plays, and the rules; `environment` holds answers against the world.

    `without_model` gives the reason for each agent whose own model cannot be asked from here. `golden` is what the case does next that
    the session began with, where it began with one, `eval_set` the path of the set that its golden goes to, and `tools` are those of the agent
    whose calls wait, where one is known and nobody else's wait. `before` is what a person wrote for an agent's turn that waits before they went back,
    by the request's key. `calls` are those of tools that were answered.
    """

    settings: EnvironmentSettings = EnvironmentSettings()
    recorded: tuple[ObservedCall, ...] = ()
    seats: Seats = Seats()
    rules: tuple[InjectionRule, ...] = ()
    environment: SimulatedEnvironment | None = None
    without_model: Mapping[str, str] = MappingProxyType({})
    golden: NextLines | None = None
    eval_set: str = ""
    tools: frozenset[str] = frozenset()
    before: Mapping[str, ModelAnswered] = MappingProxyType({})
    calls: tuple[ToolCall, ...] = ()

    def against(self, key: str, outcome: Outcome) -> tuple[Contradiction, ...]:
        """Say what an answer to the call with this key would contradict."""
        return self.environment.against(key, outcome) if self.environment else ()


NOTHING_AROUND = Surroundings()


def surroundings(
    simulation: Commanding,
    view: SimulationView,
    without_model: Callable[[], Mapping[str, str]] = dict,
    golden: NextLines | None = None,
    eval_set: str = "",
) -> Surroundings:
    """Gather them from a live session; `without_model` is asked where an agent's turn waits."""
    environment = simulation.environment
    now = environment.now
    callers = {each.agent for each in view.pending if isinstance(each, ToolRequest)}
    waiting = {each.call_id for each in view.pending if isinstance(each, ToolRequest)}
    turns = [each.key for each in view.pending if isinstance(each, ModelRequest)]
    written = {key: written_before(simulation.journal, key) for key in turns}
    last = simulation.model_view() if golden is not None and callers else None
    return Surroundings(
        settings=now.settings,
        recorded=tuple(call for calls in now.recordings.values() for call in calls),
        seats=view.session.seats,
        rules=view.session.rules,
        environment=environment,
        without_model=without_model() if turns else {},
        golden=golden,
        eval_set=eval_set,
        tools=frozenset(tool.name for tool in last.tools)
        if last is not None and callers == {last.agent}
        else frozenset(),
        before={key: fact for key, fact in written.items() if fact is not None},
        calls=tuple(
            one for one in view.session.history if isinstance(one, ToolCall) and one.call_id not in waiting
        ),
    )
