"""Says what a session knows of the things that an answer shows: its fields, what became of them, and the rows of known tables that a call asks for."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from pydantic import JsonValue

from simulator.base.json_paths import WHOLE, field_place, item_place
from simulator.base.json_values import JsonObject, same
from simulator.environment.conventions import (
    done_state,
    id_kind,
    id_of,
    is_envelope,
    is_identifier,
    is_own_key,
    kind_named,
    own_kind,
    spelled,
    words_of,
)
from simulator.environment.drafts.draft import Blank, kind_of
from simulator.environment.drafts.field_texts import next_id
from simulator.environment.world.entities import Entity
from simulator.environment.world.world import World

_RESULTS = frozenset(
    {"", "results", "result", "items", "data", "records", "entries", "matches", "rows", "list", "hits"}
)
_SEARCHES = frozenset(
    {"query", "q", "text", "keyword", "keywords", "search", "term", "search_term", "search_query"}
)
_LIMITS = frozenset(
    {"limit", "max_results", "top", "top_k", "top_n", "page_size", "per_page", "num_results", "n", "k"}
)
_OFFSETS = frozenset({"offset", "skip", "start_index"})
_PAGES = frozenset({"page", "page_number"})
_ANY = frozenset({"", "all", "any", "*"})
_BOUNDS = {"min": True, "minimum": True, "max": False, "maximum": False}
_MOST_ROWS = 100
"""How many rows an answer has at most; tools give their results in pages."""


class TableRow(Mapping[str, JsonValue]):
    """A row of a table, whose fields are found in any spelling, with and without the kind before them.

    A row of the kind `product` that has `name` gives it for `product_name` too, and its key for `id` and `product_id`.
    """

    def __init__(self, fields: Mapping[str, JsonValue], kind: str = "", key: str = "") -> None:
        self.fields, self.kind, self.key = fields, kind, key
        self._spelled = {spelled(name).removeprefix(f"{kind}_"): name for name in reversed([*fields])}

    def __getitem__(self, name: str) -> JsonValue:
        if name in self.fields:
            return self.fields[name]
        bare = spelled(name).removeprefix(f"{self.kind}_")
        if bare in self._spelled:
            return self.fields[self._spelled[bare]]
        if bare == "id" and self.key:
            return self.key
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self.fields)

    def __len__(self) -> int:
        return len(self.fields)


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of one kind that a call asks for; none at all where the whole table has none that fits.

    `columns` are the fields that the table has, `used` the arguments that the rows were chosen by, and `total` how many
    fit before a limit was applied.
    """

    kind: str
    records: tuple[TableRow, ...]
    columns: frozenset[str]
    used: tuple[str, ...]
    total: int

    def answer(self, name: str, fields: Collection[str]) -> bool:
        """Return whether a list of this name, whose items have these fields, is the one that the rows are for."""
        if kind_named(name).rpartition("_")[2] == self.kind.rpartition("_")[2]:
            return True
        sample = self.records[0] if self.records else TableRow(dict.fromkeys(self.columns), self.kind)
        shared = sum(field in sample for field in fields)
        return shared >= (1 if name in _RESULTS else 2) and 2 * shared >= len(fields)


def found_rows(tool_name: str, arguments: Mapping[str, JsonValue], world: World) -> Rows | None:
    """Return the rows that a reading call asks for; None where no table is about what it asks.

    An argument filters where rows have a field of its name, where it names their key or a key of theirs, bounds a field
    (`max_price`) or is a text to search for; others do not filter. Where not all of a kind is known, only rows that an
    argument chose count.
    """
    kind = _kind_of(tool_name, arguments, world)
    if kind is None:
        return None
    table = [TableRow(row, kind, _key_of(row, world.columns(kind))) for row in world.rows(kind)]
    rows, used = table, []
    for name, value in arguments.items():
        if value is None or (isinstance(value, str) and value.strip().lower() in _ANY):
            continue
        kept = _filtered(rows, kind, name, value, world)
        if kept is not None:
            rows = kept
            used.append(name)
    if not world.is_authoritative(kind) and not (rows and used):
        return None
    columns = frozenset(name for row in table[:20] for name in row.fields)
    limit, page = _whole(arguments, _LIMITS), _whole(arguments, _PAGES) or 1
    start = _whole(arguments, _OFFSETS) or (limit or 0) * (page - 1)
    shown = rows[start : start + min(_MOST_ROWS if limit is None else limit, _MOST_ROWS)]
    return Rows(kind, tuple(shown), columns, tuple(used), len(rows))


def _key_of(row: Mapping[str, JsonValue], columns: Sequence[str]) -> str:
    return (id_of(row.get(columns[0])) if columns else None) or ""


def _kind_of(tool_name: str, arguments: Mapping[str, JsonValue], world: World) -> str | None:
    """Find the kind that a tool reads: what it is about as a whole, else what its arguments name."""
    about = world.role_of(tool_name, dict(arguments)).kind
    named = (id_kind(name) or "" for name in arguments if is_identifier(name))
    kinds = world.kinds()
    return next((kind for kind in (about, about.rpartition("_")[2], *named) if kind in kinds), None)


def _filtered(
    rows: Sequence[TableRow], kind: str, name: str, value: JsonValue, world: World
) -> list[TableRow] | None:
    """Return the rows that an argument lets through; None where it says nothing of such rows."""
    simple = spelled(name)
    if simple in _LIMITS | _OFFSETS | _PAGES:
        return None
    if simple in _SEARCHES:
        words = {word.rstrip("s") for word in words_of(str(value))}
        held = [row for row in rows if words <= {word.rstrip("s") for word in words_of(_text_of(row.fields))}]
        return held if words else None
    way, _, field = simple.partition("_")
    if way in _BOUNDS and any(field in row for row in rows):
        return [row for row in rows if field in row and _within(row[field], value, least=_BOUNDS[way])]
    if any(name in row for row in rows) or is_own_key(name, kind):
        return [
            row for row in rows if (name in row and _equal(row[name], value)) or _is_key(row, name, value)
        ]
    return _joined(rows, kind, name, value, world)


def _is_key(row: TableRow, name: str, value: JsonValue) -> bool:
    return bool(row.key) and is_own_key(name, row.kind) and _equal(row.key, value)


def _within(own: JsonValue, bound: JsonValue, *, least: bool) -> bool:
    if isinstance(own, (int, float)) and isinstance(bound, (int, float)):
        return own >= bound if least else own <= bound
    texts = isinstance(own, str) and isinstance(bound, str)  # dates in ISO's form are ordered as texts
    return texts and (str(own) >= str(bound) if least else str(own) <= str(bound))


def _joined(
    rows: Sequence[TableRow], kind: str, name: str, value: JsonValue, world: World
) -> list[TableRow] | None:
    """Return the rows that refer to a row of another table which has the value: the orders of a customer's e-mail."""
    for other in world.kinds():
        reference, others = f"{other}_id", world.rows(other)
        if (
            other == kind
            or not any(reference in row for row in rows)
            or not any(name in one for one in others)
        ):
            continue
        columns = world.columns(other)
        keys: list[JsonValue] = [_key_of(one, columns) for one in others if _equal(one.get(name), value)]
        return [row for row in rows if reference in row and _equal(row[reference], keys)]
    return None


def _equal(value: JsonValue, asked: JsonValue) -> bool:
    if isinstance(asked, list):
        return any(_equal(value, one) for one in asked)
    if isinstance(value, list):
        return any(_equal(one, asked) for one in value)
    if isinstance(value, bool) or isinstance(asked, bool):
        return value is asked
    return value is not None and str(value).casefold().strip() == str(asked).casefold().strip()


def _text_of(value: object) -> str:
    inside = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    return value if isinstance(value, str) else " ".join(map(_text_of, inside))


def _whole(arguments: Mapping[str, JsonValue], names: Collection[str]) -> int | None:
    found = (value for name, value in arguments.items() if spelled(name) in names)
    return next(
        (value for value in found if isinstance(value, int) and not isinstance(value, bool) and value >= 0),
        None,
    )


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
