"""Says which tool creates, changes, reads or deletes which things, and finds it in names, schemas and descriptions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

from pydantic import Field

from simulator.environment.value import Value
from simulator.jsonvalue import JsonObject

Use: TypeAlias = Literal["creates", "changes", "reads", "deletes"]
Source: TypeAlias = Literal["offline", "model", "person"]


class ToolShape(Value):
    """A tool as its declaration shows it."""

    name: str = Field(min_length=1)
    description: str = ""
    parameters: JsonObject = Field(default_factory=dict)
    response_schema: JsonObject | None = None


class ParameterUse(Value):
    """What a tool does to the things that one of its parameters names.

    `parameter` is the path of the argument: `order_id`, `order_ids[*]`, `items[*].sku`. `kind` is in the singular, in
    snake case.
    """

    tool_name: str = Field(min_length=1)
    parameter: str = Field(min_length=1)
    kind: str = Field(min_length=1)
    use: Use
    source: Source = "offline"
    why: str = ""


class Produced(Value):
    """A field of a tool's answers that holds ids of one kind: `order_id`, `orders[*].order_id`.

    `creates` says that they are ids of things that the call has just made.
    """

    tool_name: str = Field(min_length=1)
    field: str = Field(min_length=1)
    kind: str = Field(min_length=1)
    creates: bool = False
    source: Source = "offline"
    why: str = ""


class ToolRole(Value):
    """What a tool does as a whole, and to which kind of thing; `kind` is empty where that cannot be told."""

    tool_name: str = Field(min_length=1)
    use: Use
    kind: str = ""
    source: Source = "offline"
    why: str = ""


class Connections(Value):
    """How the tools of an agent hang together. Each tool that was looked at has a role."""

    uses: tuple[ParameterUse, ...] = ()
    produces: tuple[Produced, ...] = ()
    roles: tuple[ToolRole, ...] = ()


class Place(Value):
    """One parameter of a tool, or one field of its answers."""

    tool_name: str = Field(min_length=1)
    path: str = Field(min_length=1)


class ConnectionEdits(Value):
    """What a person has changed: connections that were set, and those that were taken away."""

    uses: tuple[ParameterUse, ...] = ()
    produces: tuple[Produced, ...] = ()
    roles: tuple[ToolRole, ...] = ()
    no_uses: tuple[Place, ...] = ()
    no_produces: tuple[Place, ...] = ()


NO_CONNECTIONS = Connections()
NO_EDITS = ConnectionEdits()


def found_offline(tools: Sequence[ToolShape]) -> Connections:
    """Find the connections in the tools' names, schemas and descriptions; no model is asked."""
    raise NotImplementedError


def merged(
    offline: Connections, by_model: Connections | None = None, by_person: ConnectionEdits = NO_EDITS
) -> Connections:
    """Put together what was found: a person's word stands over a model's, and a model's over what names tell.

    Each of the two speaks for a place (a tool's parameter, a field of its answers, a role) alone; what it does not
    mention stays.
    """
    raise NotImplementedError
