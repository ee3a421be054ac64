"""Keeps what the tools of a session have said: things by kind and id, with the place where each field was last set."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from pydantic import JsonValue

from simulator.environment.connections import NO_CONNECTIONS, Connections
from simulator.environment.entities import Entity, EntityChange, WorldCall
from simulator.environment.tables import NO_TABLES, Tables
from simulator.environment.tool_settings import Authority
from simulator.jsonvalue import JsonObject


class World:
    """The state of the environment after some calls. What it gives is not to be changed."""

    def __init__(
        self,
        connections: Connections = NO_CONNECTIONS,
        tables: Tables = NO_TABLES,
        *,
        authority: Mapping[str, Authority] | None = None,
    ) -> None:
        self.connections = connections
        self.tables = tables
        self.authority = dict(authority or {})
        self.currency = "EUR"
        """The currency that was named last."""
        raise NotImplementedError

    def take(self, call: WorldCall) -> tuple[EntityChange, ...]:
        """Learn from one answered call, the latest; give what it changed: fields that are new or have a new value."""
        raise NotImplementedError

    def preview(self, call: WorldCall) -> tuple[EntityChange, ...]:
        """Give what `take` would change; change nothing."""
        raise NotImplementedError

    def edit(self, changes: Iterable[EntityChange], *, fact: int, turn: int) -> None:
        """Take in what a person has changed."""
        raise NotImplementedError

    def renaming(self, kind: str, old: str, new: str) -> tuple[EntityChange, ...]:
        """Give the changes that give a thing another id, in it and wherever it is referred to.

        Raises:
            ValueError: There is no such thing, or another one has the new id.
        """
        raise NotImplementedError

    def entity(self, kind: str, key: str) -> Entity | None:
        """Give a thing by its id, or by another key of its own such as a number; also one that is gone."""
        raise NotImplementedError

    def kinds(self) -> tuple[str, ...]:
        """Give the kinds of which something is known, in the order in which they came up; singular."""
        raise NotImplementedError

    def rows(self, kind: str) -> list[JsonObject]:
        """Give the things of a kind that are not gone, as they came up; each has its id among its fields."""
        raise NotImplementedError

    def columns(self, kind: str) -> tuple[str, ...]:
        """Give the names of the fields of a kind, the id first; new fields come last."""
        raise NotImplementedError

    def collections(self) -> Mapping[str, Mapping[str, JsonObject]]:
        """Give all things that are not gone, for expressions: `{"orders": {"A-1": {...}}}`."""
        raise NotImplementedError

    def after(self, changes: Sequence[EntityChange]) -> Mapping[str, Mapping[str, JsonObject]]:
        """Give what `collections` would be after some changes; change nothing."""
        raise NotImplementedError

    def known(self, tool_name: str, arguments: JsonObject) -> dict[str, JsonValue]:
        """Give the fields of the things that a call's arguments name."""
        raise NotImplementedError

    def not_found(self, tool_name: str, arguments: JsonObject) -> JsonObject | None:
        """Give the answer for a call about a thing that is gone or, where that can be told, never was; else None."""
        raise NotImplementedError

    def is_authoritative(self, kind: str) -> bool:
        """Tell whether a thing of this kind that is not known does not exist."""
        raise NotImplementedError
