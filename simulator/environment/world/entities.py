"""Names what the world is made of: things with a kind and an id, what changes them; and reads those that a person writes as JSON of tables."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal

from pydantic import Field, JsonValue

from simulator.base.documents import LIMITS
from simulator.base.frozen_value import FiniteValue
from simulator.base.json_text import JsonSyntaxError, JsonTextError, read_json
from simulator.base.json_values import JsonObject, NotJsonError, same, taken
from simulator.base.validation_words import InputError
from simulator.environment.conventions import (
    id_kind,
    id_of,
    is_collection,
    is_own_key,
    kind_named,
)

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


_MEANT_AS_JSON = re.compile(r'\s*(?:\{|\[\s*[\[{"\d\]])')
_MOST_DEPTH = 3
_UNNAMED = "records"


class TablesError(InputError):
    """The environment's data is no JSON of tables; the text names the table, the row and the field."""


class Table(FiniteValue):
    """Records of one kind. Each has its id in `id_field`, and no two have the same; empty: they are numbered from 1."""

    name: str = Field(min_length=1)
    kind: str = Field(min_length=1)
    id_field: str = ""
    rows: tuple[JsonObject, ...] = ()

    def records(self) -> Iterator[tuple[str, JsonObject]]:
        """Yield each row with its id."""
        for number, row in enumerate(self.rows, start=1):
            yield (id_of(row.get(self.id_field)) if self.id_field else None) or str(number), row


class Tables(FiniteValue):
    """All tables, the other values by their names, and what was said in words instead of JSON.

    `problems` says what may have been meant as a table, and is none.
    """

    tables: tuple[Table, ...] = ()
    notes: JsonObject = Field(default_factory=dict)
    description: str = ""
    problems: tuple[str, ...] = ()


NO_TABLES = Tables()

_TEXTS_KEPT = 4
"""How many texts' tables are kept: one is checked when it is given, read again by its world, and by the page that shows it."""


@lru_cache(maxsize=_TEXTS_KEPT)
def read_tables(text: str) -> Tables:
    """Read tables: lists of objects and objects of objects; other values are notes, and a text that is no JSON is kept.

    The tables of the last few texts are kept, so nobody may change them.

    An object that holds tables is opened: `{"database": {"orders": [...]}}` gives the table `orders`.

    Raises:
        TablesError: It is meant as JSON (it begins with a brace or bracket) and cannot be read, or a table has a row
            that is no record, has no id, or has the id of another row.
    """
    if not text.strip():
        return NO_TABLES
    try:
        data: JsonValue = taken(read_json(text, pairs=_object, most=LIMITS["data"]))
    except JsonTextError as error:
        if not isinstance(error, JsonSyntaxError) or _MEANT_AS_JSON.match(text):
            raise TablesError(f"line {error.line}, column {error.column}: {error.reason}") from error
        return Tables(description=text.strip())
    except NotJsonError as error:
        raise TablesError(str(error)) from error
    if isinstance(data, list):
        data = {_UNNAMED: data}
    if not isinstance(data, dict):
        if isinstance(data, str):
            return Tables(description=text.strip())
        told = f"the environment's data is {_short(data)}: it is not a table, and is kept as text"
        return Tables(description=text.strip(), problems=(told,))
    tables, notes = _split(data, 0)
    _check_kinds(tables)
    return Tables(tables=tuple(tables), notes=notes, problems=tuple(_no_tables(notes)))


def _no_tables(notes: JsonObject) -> Iterator[str]:
    """Name the lists that could be tables, but for what they hold. One of texts may well be a note: `currencies`."""
    for name, value in notes.items():
        if not isinstance(value, list) or not value or not is_collection(name):
            continue
        if not any(isinstance(item, str) for item in value):
            yield (
                f"the environment's data: {name!r} is not a table, and is kept as a note: {_short(value[0])} is not an object"
            )


def _object(pairs: list[tuple[str, JsonValue]]) -> JsonObject:
    found: JsonObject = {}
    for name, value in pairs:
        if name in found:
            raise TablesError(f"{name!r} appears twice in one object; the first value would be lost")
        found[name] = value
    return found


def _split(data: JsonObject, depth: int) -> tuple[list[Table], JsonObject]:
    tables: list[Table] = []
    notes: JsonObject = {}
    for name, value in data.items():
        table = _table(name, value) if kind_named(name) else None
        if table is not None:
            tables.append(table)
        elif isinstance(value, dict) and depth < _MOST_DEPTH and any(map(_is_rows, value.values())):
            inner, others = _split(value, depth + 1)
            tables.extend(inner)
            notes.update(others)
        else:
            notes[name] = value
    return tables, notes


def _is_rows(value: JsonValue) -> bool:
    return isinstance(value, list) and any(isinstance(row, dict) for row in value)


def _table(name: str, value: JsonValue) -> Table | None:
    """Make a table of a value; None where it is none."""
    kind = kind_named(name)
    if isinstance(value, list):
        if _is_rows(value):
            return _with_ids(name, kind, _rows(name, value))
        empty = not value and is_collection(name)
        return Table(name=name, kind=kind, id_field=f"{kind}_id") if empty else None
    if not isinstance(value, dict) or not value:
        return None
    if all(isinstance(row, dict) for row in value.values()):
        return _keyed(name, kind, value)
    if not is_collection(name) and any(is_own_key(field, kind) for field in value):
        return _with_ids(name, kind, [value])
    return None


def _rows(name: str, value: list[JsonValue]) -> list[JsonObject]:
    rows: list[JsonObject] = []
    for number, row in enumerate(value, start=1):
        if not isinstance(row, dict):
            raise TablesError(f"table {name!r}, row {number}: {_short(row)} is not an object")
        rows.append(row)
    return rows


def _keyed(name: str, kind: str, value: JsonObject) -> Table | None:
    """Make a table of an object whose keys are the ids of its rows."""
    rows = {key: row for key, row in value.items() if isinstance(row, dict)}
    if any(id_of(key) is None for key in rows):
        raise TablesError(f"table {name!r}: {next(key for key in rows if id_of(key) is None)!r} is not an id")
    own = [column for column in columns_of(rows.values()) if is_own_key(column, kind)]
    for column in own:
        if all(column not in row or id_of(row[column]) == key for key, row in rows.items()):
            filled = tuple({column: key, **row} for key, row in rows.items())
            return Table(name=name, kind=kind, id_field=column, rows=filled)
    column = f"{kind}_id"
    for key, row in rows.items():
        if column in row:
            raise TablesError(
                f"table {name!r}, row {key!r}, field {column!r}: {_short(row[column])} does not match its key"
            )
    return Table(
        name=name, kind=kind, id_field=column, rows=tuple({column: key, **row} for key, row in rows.items())
    )


def _with_ids(name: str, kind: str, rows: list[JsonObject]) -> Table:
    columns = columns_of(rows)
    wanted = [column for column in (f"{kind}_id", "id", "_id") if column in columns]
    wanted += [column for column in columns if id_kind(column) == kind and is_own_key(column, kind)]
    if wanted:
        _check_ids(name, wanted[0], rows)
        return Table(name=name, kind=kind, id_field=wanted[0], rows=tuple(rows))
    maybe = [column for column in columns if is_own_key(column, kind)]
    maybe += [column for column in ("code", "number", kind, "name") if column in columns]
    for column in maybe:
        ids = [id_of(row.get(column)) for row in rows]
        if None not in ids and len(set(ids)) == len(ids):
            return Table(name=name, kind=kind, id_field=column, rows=tuple(rows))
    return Table(name=name, kind=kind, rows=tuple(rows))


def _check_ids(name: str, field: str, rows: list[JsonObject]) -> None:
    seen: dict[str, int] = {}
    for number, row in enumerate(rows, start=1):
        where = f"table {name!r}, row {number}, field {field!r}"
        if field not in row:
            raise TablesError(f"{where}: it is missing, so the row has no id")
        key = id_of(row[field])
        if key is None:
            raise TablesError(f"{where}: {_short(row[field])} is not an id; use a text or a whole number")
        if key in seen:
            raise TablesError(f"{where}: row {seen[key]} has the id {key!r} too")
        seen[key] = number


def _check_kinds(tables: list[Table]) -> None:
    names: dict[str, str] = {}
    for table in tables:
        if table.kind in names:
            raise TablesError(
                f"table {table.name!r}: {names[table.kind]!r} contains the same kind of entity, {table.kind}"
            )
        names[table.kind] = table.name


def _short(value: JsonValue) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:60]}..."  # noqa: PLR2004 - as much as one line of a page shows
