"""Shows the environment of a session as one frozen value: its world as tables, its connections, and what is wrong with it."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from simulator.base.frozen_value import Value
from simulator.base.json_values import Json, JsonObject
from simulator.environment.conventions import plural
from simulator.environment.world.connections import Connections, ToolShape
from simulator.environment.world.entities import Origin, Tables
from simulator.runtime.knowledge.knowledge import Knowledge


class WorldTable(Value):
    """The things of one kind. `rows` holds all that are not gone, in the order of `ids`; `gone` the ids of those that are.

    `origins` says of each id and field where it was set last, in words. `is_closed` tells that a thing which is not here
    does not exist.
    """

    kind: str
    name: str
    columns: tuple[str, ...]
    ids: tuple[str, ...]
    rows: tuple[JsonObject, ...]
    gone: tuple[str, ...] = ()
    origins: dict[str, dict[str, str]] = Field(default_factory=dict)
    is_closed: bool = False


class WorldFlag(Value):
    """An answer that contradicts what was known; `fact` is its number in the journal, `what` one sentence each."""

    fact: int
    tool_name: str
    what: tuple[str, ...]


class RememberedState(Value):
    """What is remembered under a state key: the beginning in words, and the latest calls."""

    key: str
    tools: tuple[str, ...]
    initial_state: str = ""
    calls: tuple[JsonObject, ...] = ()


class WorldView(Value):
    """What the environment knows at one moment.

    `problems` says what of its settings cannot be used, `analysing` what a model is at that looks at the connections.
    """

    tables: tuple[WorldTable, ...] = ()
    given: Tables = Tables()
    flags: tuple[WorldFlag, ...] = ()
    connections: Connections = Connections()
    tools: tuple[ToolShape, ...] = ()
    states: tuple[RememberedState, ...] = ()
    problems: tuple[str, ...] = ()
    analysing: str = ""
    currency: Json = None


def world_view(knowledge: Knowledge, analysing: str = "") -> WorldView:
    """Show what is known now; `analysing` as in the view."""
    knowledge.up_to_date()
    return WorldView(
        tables=tuple(_table(knowledge, kind) for kind in knowledge.world.kinds()),
        given=knowledge.tables,
        flags=tuple(
            WorldFlag(
                fact=flag.fact,
                tool_name=flag.tool_name,
                what=tuple(each.what for each in flag.contradictions),
            )
            for flag in knowledge.flags
        ),
        connections=knowledge.connections,
        tools=tuple(knowledge.shapes.values()),
        states=tuple(_state(knowledge, key) for key in knowledge.registry.list_states()),
        problems=(
            *((knowledge.problem,) if knowledge.problem else ()),
            *knowledge.tables.problems,
            *knowledge.warnings,
            *(f"a connection is set for the unknown tool {name!r}" for name in _strangers(knowledge)),
        ),
        analysing=analysing,
        currency=knowledge.world.currency,
    )


def _strangers(knowledge: Knowledge) -> tuple[str, ...]:
    return knowledge.environment.settings.connections.strangers(knowledge.shapes) if knowledge.shapes else ()


def _table(knowledge: Knowledge, kind: str) -> WorldTable:
    world = knowledge.world
    living = world.collections().get(plural(kind), {})
    entities = {key: world.entity(kind, key) for key in living}
    return WorldTable(
        kind=kind,
        name=plural(kind),
        columns=world.columns(kind),
        ids=tuple(living),
        rows=tuple(world.rows(kind)),
        gone=tuple(world.gone(kind)),
        origins={key: _origins(entity.origins) for key, entity in entities.items() if entity},
        is_closed=world.is_authoritative(kind),
    )


def _origins(origins: dict[str, Origin]) -> dict[str, str]:
    return {name: origin.words() for name, origin in origins.items()}


def _state(knowledge: Knowledge, key: str) -> RememberedState:
    state: Any = knowledge.registry.get_state(key)
    return RememberedState(
        key=key,
        tools=tuple(
            name for name in knowledge.registry.list_tools() if knowledge.registry.state_key(name) == key
        ),
        initial_state=state["initial_state"] or "",
        calls=tuple(state["previous_calls"]),
    )
