"""Names what the world is made of: things with a kind and an id, what changes them, and where each field comes from."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from pydantic import Field, JsonValue

from simulator.base.frozen_value import FiniteValue
from simulator.base.json_values import JsonObject, same

SEED, PERSON = "seed", "person"
"""Where a field comes from that no tool call has set: the tables that were given, or an edit in the page."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a value was set: the fact's number, the turn's, and the tool's name, or "seed" or "person".

    `is_doubted` says that it was only drawn, or may have been another: it holds in the session, but nobody said it.
    """

    fact: int
    turn: int
    source: str
    is_doubted: bool = False

    def words(self) -> str:
        """Say it in a sentence's part, with turns as people count them: `find_order in turn 2` is that of turn number 1."""
        if self.source == SEED:
            return "the environment's data"
        if self.source == PERSON:
            return f"an edit in turn {self.turn + 1}"
        return f"{self.source} in turn {self.turn + 1}"


class EntityChange(FiniteValue):
    """What happens to one thing.

    `put` sets the given fields and leaves the others; `replace` leaves no other field, as a person does who empties a
    cell; `delete` takes the thing away: it is known to be gone.
    """

    op: Literal["put", "replace", "delete"]
    kind: str = Field(min_length=1)
    id: str = Field(min_length=1)
    fields: JsonObject = Field(default_factory=dict)


class Contradiction(FiniteValue):
    """What an answer says against an invariant, or against what was said before.

    `invariant` is empty where no rule of a person is broken. `earlier` is where the value was set that it contradicts;
    None where the answer contradicts itself alone.
    """

    invariant: str = ""
    kind: str = ""
    id: str = ""
    what: str
    earlier: Origin | None = None


@dataclass(slots=True)
class Entity:
    """A thing of the world. Its fields are replaced as a whole, so a reference to them sees no later change."""

    kind: str
    id: str
    fields: JsonObject = field(default_factory=dict)
    gone: bool = False
    origins: dict[str, Origin] = field(default_factory=dict)
    """Where each field was last set."""
    first: Origin | None = None
    """Where the thing was first heard of."""
    last: Origin | None = None
    """Where it was last changed, or taken away."""
    made: bool = False
    """Whether a tool of this session made it."""

    def doubts(self, name: str, value: JsonValue) -> bool:
        """Return whether a field has this value, and nobody said so."""
        origin = self.origins.get(name)
        return origin is not None and origin.is_doubted and same(self.fields.get(name), value)


def columns_of(records: Iterable[JsonObject]) -> tuple[str, ...]:
    """Return the names of all fields of some records, each where it first stands: an order that new rows don't move."""
    return tuple(dict.fromkeys(name for record in records for name in record))
