"""The facts by which a person, or a model, shapes the environment of a session; times are seconds since the epoch."""

from __future__ import annotations

from typing import Literal, TypeAlias

from pydantic import Field

from simulator.base.frozen_value import FiniteValue
from simulator.environment.recordings import ObservedCall
from simulator.environment.world.connections import Connections
from simulator.environment.world.entities import EntityChange
from simulator.environment.world.tool_settings import DeclaredTool, EnvironmentSettings


class _Fact(FiniteValue):
    at: float


class EnvironmentChanged(_Fact):
    """What is set for the environment is now this."""

    kind: Literal["environment_changed"] = "environment_changed"
    settings: EnvironmentSettings


class EnvironmentDataGiven(_Fact):
    """The environment's data is now this: JSON of tables, or words; the world begins with it."""

    kind: Literal["environment_data_given"] = "environment_data_given"
    text: str


class WorldEdited(_Fact):
    """A person changed things of the world."""

    kind: Literal["world_edited"] = "world_edited"
    changes: tuple[EntityChange, ...] = Field(min_length=1)


class StateCleared(_Fact):
    """What was remembered of the calls under a state key is forgotten."""

    kind: Literal["state_cleared"] = "state_cleared"
    state_key: str = Field(min_length=1)


class RecordingGiven(_Fact):
    """Recorded calls to answer from, under a name; none takes away what the name stood for."""

    kind: Literal["recording_given"] = "recording_given"
    name: str = Field(min_length=1)
    calls: tuple[ObservedCall, ...] = ()


class ConnectionsAnalysed(_Fact):
    """A model has said how the tools hang together, or `reason` why it has not."""

    kind: Literal["connections_analysed"] = "connections_analysed"
    model: str
    connections: Connections | None = None
    reason: str = ""


class ToolsDeclared(_Fact):
    """The tools that do not exist, and that the agent may call all the same, are now these."""

    kind: Literal["tools_declared"] = "tools_declared"
    tools: tuple[DeclaredTool, ...]


EnvironmentFact: TypeAlias = (
    EnvironmentChanged
    | EnvironmentDataGiven
    | WorldEdited
    | StateCleared
    | RecordingGiven
    | ConnectionsAnalysed
    | ToolsDeclared
)
