"""What a person can ask of the environment on its page: values that panels give back, and how they are carried out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, assert_never

from pydantic import Field

from app.environment.world_edits import Rename
from simulator.environment.declared_tools import DeclaredTool
from simulator.environment.recordings.recorded_calls import RecordedCall
from simulator.environment.world.entities import EntityChange
from simulator.facts import Value

if TYPE_CHECKING:
    from simulator.runtime.simulated_environment import SimulatedEnvironment


class EditWorld(Value):
    """Change things of the world, then give some of them other ids."""

    kind: Literal["edit_world"] = "edit_world"
    changes: tuple[EntityChange, ...] = ()
    renames: tuple[Rename, ...] = ()


class GiveData(Value):
    """Give the environment's data, JSON of tables or words; an empty text takes it away."""

    kind: Literal["give_data"] = "give_data"
    text: str


class ChangeSettings(Value):
    """Set some fields of the environment's settings, by their names."""

    kind: Literal["change_settings"] = "change_settings"
    fields: dict[str, Any]


class ClearState(Value):
    """Forget the calls that are remembered under a state key."""

    kind: Literal["clear_state"] = "clear_state"
    state_key: str


class GiveRecording(Value):
    """Give recorded calls to answer from; none take the recording of that name away."""

    kind: Literal["give_recording"] = "give_recording"
    name: str
    calls: tuple[RecordedCall, ...]


class DeclareTools(Value):
    """Let these tools join the agent from the next turn on, and no others that are only declared."""

    kind: Literal["declare_tools"] = "declare_tools"
    tools: tuple[DeclaredTool, ...]


class AnalyseConnections(Value):
    """Ask the environment's model how the tools hang together."""

    kind: Literal["analyse_connections"] = "analyse_connections"


class StopAnalysing(Value):
    """End what a model is at that looks at the connections."""

    kind: Literal["stop_analysing"] = "stop_analysing"


Shape: TypeAlias = Annotated[
    EditWorld
    | GiveData
    | ChangeSettings
    | ClearState
    | GiveRecording
    | DeclareTools
    | AnalyseConnections
    | StopAnalysing,
    Field(discriminator="kind"),
]


def shape(environment: SimulatedEnvironment, asked: Shape) -> None:
    """Carry out what was asked for.

    Raises:
        simulator.runtime.SimulationError: It does not fit; nothing was changed.
    """
    match asked:
        case EditWorld():
            if asked.changes:
                environment.edit(*asked.changes)
            for rename in asked.renames:
                environment.rename(rename.kind, rename.old, rename.new)
        case GiveData():
            environment.give_data(asked.text)
        case ChangeSettings():
            environment.change(**asked.fields)
        case ClearState():
            environment.clear_state(asked.state_key)
        case GiveRecording():
            environment.give_recording(asked.name, asked.calls)
        case DeclareTools():
            environment.declare(*asked.tools)
        case AnalyseConnections() | StopAnalysing():
            _analyse(environment, asked)
        case never:
            assert_never(never)


def _analyse(environment: SimulatedEnvironment, asked: AnalyseConnections | StopAnalysing) -> None:
    if isinstance(asked, AnalyseConnections):
        environment.analyse_connections()
    else:
        environment.stop_analysing()
