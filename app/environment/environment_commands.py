"""What can be asked of a session's environment on its page."""

from __future__ import annotations

from typing_extensions import override

from app.environment.world_edits import ThingRename
from app.live.simulation_protocol import LiveSimulation
from app.session.commands import Command
from simulator.environment.declared_tools import DeclaredTool
from simulator.environment.recordings.recorded_calls import ObservedCall
from simulator.environment.world.entities import EntityChange


class EditWorld(Command):
    """Change things of the world, then give some of them other ids."""

    changes: tuple[EntityChange, ...] = ()
    renames: tuple[ThingRename, ...] = ()

    @override
    def carry_out(self, simulation: LiveSimulation) -> None:
        environment = simulation.environment
        if self.changes:
            environment.edit(*self.changes)
        for rename in self.renames:
            environment.rename(rename.kind, rename.old, rename.new)


class GiveData(Command):
    """Give the environment's data, JSON of tables or words; an empty text takes it away."""

    text: str

    @override
    def carry_out(self, simulation: LiveSimulation) -> None:
        simulation.environment.give_data(self.text)


class ClearState(Command):
    """Forget the calls that are remembered under a state key."""

    state_key: str

    @override
    def carry_out(self, simulation: LiveSimulation) -> None:
        simulation.environment.clear_state(self.state_key)


class GiveRecording(Command):
    """Give recorded calls to answer from; none take the recording of that name away."""

    name: str
    calls: tuple[ObservedCall, ...]

    @override
    def carry_out(self, simulation: LiveSimulation) -> None:
        simulation.environment.give_recording(self.name, self.calls)


class DeclareTools(Command):
    """Let these tools join the agent from the next turn on, and no others that are only declared."""

    tools: tuple[DeclaredTool, ...]

    @override
    def carry_out(self, simulation: LiveSimulation) -> None:
        simulation.environment.declare(*self.tools)


class AnalyseConnections(Command):
    """Ask the environment's model how the tools hang together."""

    @override
    def carry_out(self, simulation: LiveSimulation) -> None:
        simulation.environment.analyse_connections()


class StopAnalysing(Command):
    """End what a model is at that looks at the connections."""

    @override
    def carry_out(self, simulation: LiveSimulation) -> None:
        simulation.environment.stop_analysing()
