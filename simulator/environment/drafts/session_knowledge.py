"""Says what a session knows of the things that an answer shows: its fields, and what became of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from pydantic import JsonValue

from simulator.base.json_paths import WHOLE, field_place, item_place
from simulator.base.json_values import JsonObject, same
from simulator.environment.conventions.entity_kinds import id_kind, id_of, is_identifier, kind_named, own_kind
from simulator.environment.conventions.tool_verbs import done_state, is_envelope
from simulator.environment.drafts.blanks import Blank, kind_of
from simulator.environment.drafts.new_ids import next_id
from simulator.environment.drafts.table_rows import Rows, TableRow
from simulator.environment.world.entities import Entity
from simulator.environment.world.world import World

_STATES = ("status", "state")
_MOST_DEPTH = 6


def known_fields(
    tool_name: str, arguments: JsonObject, world: World, rows: Rows | None
) -> Mapping[str, JsonValue]:
    """Return what fields of an answer may take over by their names: what is known of the things that the call names.

    A tool that changes a thing may change its numbers and its state: those are not known then, but for the state that
    its name tells of. Of what a tool makes, the next id is known where the ids of its kind are counted.
    """
    use, kind = world.role_of(tool_name, arguments).use, world.role_of(tool_name, arguments).kind
    fields = world.known(tool_name, arguments)
    if use == "reads":
        if rows is not None and len(rows.records) == 1 and rows.used:
            fields = {**fields, **rows.records[0].fields}
        return TableRow(fields, kind)
    if use == "creates":
        new = next_id([one for row in world.rows(kind) for one in (_key(row, kind),) if one is not None])
        return {} if new is None else {"id": new, f"{kind}_id": new}
    kept = {name: value for name, value in fields.items() if isinstance(value, str) and name not in _STATES}
    state = done_state(tool_name)
    return TableRow({**kept, **(dict.fromkeys(_STATES, state) if state else {})}, kind)


def _key(row: JsonObject, kind: str) -> str | int | None:
    own = (row[name] for name in row if is_identifier(name) and id_kind(name) in ("", kind))
    return next((one for one in own if isinstance(one, (str, int)) and not isinstance(one, bool)), None)


Heard: TypeAlias = Callable[[str, Any, Entity], Any]
"""Returns what stands in a field of a thing of which the session says something else; of a thing that is gone, without a name, None where it leaves its list."""


def as_told(name: str, _: Any, thing: Entity) -> Any:
    """Return what the session says, whatever an answer says."""
    return thing.fields[name] if name else None


def settled(value: Any, tool_name: str, arguments: JsonObject, world: World, heard: Heard = as_told) -> Any:
    """Return the answer of a tool that reads with what the session says of the things that it shows.

    An object is about the thing whose id it has; the whole answer, if it has none, about the things that the call
    names. Fields of the same names are replaced as they are `heard`, and things that are gone leave their lists. The answer may be a
    sketch, whose holes stay as they are.
    """
    if world.role_of(tool_name, arguments).use != "reads" or not world.kinds():
        return value
    named = [kind for kind, _ in world.named(tool_name, arguments)]
    told = _Settling(named, world, heard).of(value)
    if isinstance(told, dict) and _entity(told, "", named, world) is None:
        return _over(told, world.things(tool_name, arguments), heard)
    return told


@dataclass(frozen=True, slots=True)
class _Settling:
    named: list[str]
    world: World
    heard: Heard

    def of(self, value: Any, name: str = "", depth: int = 0) -> Any:
        if depth > _MOST_DEPTH:
            return value
        if isinstance(value, list):
            return [self.of(one, name, depth + 1) for one in value if not self._is_gone(one, name)]
        if not isinstance(value, dict):
            return value
        inner = {key: self.of(one, key, depth + 1) for key, one in value.items()}
        entity = _entity(value, name, self.named, self.world)
        return inner if entity is None or entity.gone else _over(inner, [entity], self.heard)

    def _is_gone(self, value: Any, name: str) -> bool:
        entity = _entity(value, name, self.named, self.world) if isinstance(value, dict) else None
        return entity is not None and entity.gone and self.heard("", value, entity) is None


def doubted(value: JsonValue, tool_name: str, arguments: JsonObject, world: World) -> Iterator[Blank]:
    """Yield the places of an answer at which it says of a thing what the session says, too, though nobody said it there."""
    named = world.named(tool_name, arguments)
    things = [one for one in (world.entity(*each) for each in named) if one is not None]
    for blank, said in _doubted(value, WHOLE, "", ([kind for kind, _ in named], things), world):
        if blank.name not in arguments or not same(arguments[blank.name], said):
            yield blank


def _doubted(
    value: JsonValue, path: str, name: str, about: tuple[list[str], list[Entity]], world: World
) -> Iterator[tuple[Blank, JsonValue]]:
    if isinstance(value, list):
        for number, one in enumerate(value):
            yield from _doubted(one, item_place(path, number), name, (about[0], []), world)
    if not isinstance(value, dict):
        return
    own = _entity(value, name, about[0], world)
    things = about[1] if own is None else [own]
    for key, inner in value.items():
        place = field_place(path, key)
        if any(thing.doubts(key, inner) for thing in things):
            yield Blank(path=place, kind=kind_of(inner), name=key, drawn=True), inner
        else:
            yield from _doubted(inner, place, key, (about[0], []), world)


@dataclass(frozen=True, slots=True)
class LaterChanges:
    """What calls may have changed of an earlier answer: numbers and states of the things that they name, and fields that they were given.

    Attributes:
        keys: The ids of these things; None where the calls may have changed any.
        fields: The names of their arguments.
    """

    keys: Collection[str] | None
    fields: Collection[str]

    def of(
        self, value: JsonValue, about: Collection[str], path: str = WHOLE, name: str = ""
    ) -> Iterator[Blank]:
        """Yield these places of an answer about some ids; none where nobody knows what it is about."""
        if isinstance(value, dict):
            about = {str(one) for key, one in value.items() if is_identifier(key)} or about
            for key, one in value.items():
                yield from () if is_envelope(key, one) else self.of(one, about, field_place(path, key), key)
        elif isinstance(value, list):
            for place, one in enumerate(value):
                yield from self.of(one, about, item_place(path, place), name)
        elif (self.keys is None or not about or not set(about).isdisjoint(self.keys)) and (
            not is_identifier(name) and (name in (*self.fields, *_STATES) or not isinstance(value, str))
        ):
            yield Blank(path=path, kind=kind_of(value), name=name, drawn=True)


def _entity(value: JsonObject, name: str, named: list[str], world: World) -> Entity | None:
    """Find the thing that an object is about, by the first of its ids that is one of its own kind."""
    around = kind_named(name)
    kinds = [around, *named] if name else named
    found = [
        (own_kind(key), id_of(inner)) for key, inner in value.items() if not isinstance(inner, (dict, list))
    ]
    ids = [
        (kind or (kinds[0] if kinds else ""), key)
        for kind, key in found
        if kind is not None and key is not None
    ]
    ids.sort(key=lambda one: one[0] not in kinds)
    return next((entity for kind, key in ids[:1] if (entity := world.entity(kind, key)) is not None), None)


def _over(value: JsonObject, things: Sequence[Entity], heard: Heard) -> JsonObject:
    of = {name: thing for thing in things for name in thing.fields}
    return {
        name: heard(name, inner, of[name]) if name in of and not is_envelope(name, inner) else inner
        for name, inner in value.items()
    }
