"""Shows the things of one kind as the rows of a table that can be edited: what stands in each cell, and how. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias

from pydantic import JsonValue

from app.forms.typed_in_language import read_number
from app.forms.typed_json import TypedJsonError, parse_json, show_json
from simulator.base.frozen_value import Value
from simulator.base.json_values import JsonObject

if TYPE_CHECKING:
    from simulator.runtime.knowledge.world_view import WorldTable

CellKind: TypeAlias = Literal["id", "text", "integer", "number", "boolean", "json"]
Cell: TypeAlias = str | int | float | bool | None

_AS_JSON: frozenset[CellKind] = frozenset({"json", "integer", "number"})
"""What stands in a cell as text: a browser would make 1.25 of `1.250`."""
_EXACT = 2**53
"""The largest whole number that a browser keeps exactly."""


class Column(Value):
    """A field of the things. A `json` column holds values of several types, or nested ones, as JSON text."""

    name: str
    kind: CellKind


class Sheet(Value):
    """Some things of one kind as they stand in the editor: `ids[n]` and `rows[n]` are those of its row `n`.

    `taken` are the ids of all things of this kind, of those that are not shown too. The first column is the id.
    """

    kind: str
    name: str
    columns: tuple[Column, ...]
    ids: tuple[str, ...]
    rows: tuple[JsonObject, ...]
    taken: frozenset[str] = frozenset()


def sheet_of(table: WorldTable, search: str = "") -> Sheet:
    """Show the things of a table in which a text is found; all of them for an empty text."""
    places = found_rows(table, search)
    names = table.columns or (f"{table.kind}_id",)
    kinds = [column_kind(row.get(name) for row in table.rows) for name in names[1:]]
    columns = (Column(name=names[0], kind="id"), *_columns(names[1:], kinds))
    return Sheet(
        kind=table.kind,
        name=table.name,
        columns=columns,
        ids=tuple(table.ids[place] for place in places),
        rows=tuple(table.rows[place] for place in places),
        taken=frozenset(table.ids),
    )


def _columns(names: Sequence[str], kinds: Sequence[CellKind]) -> tuple[Column, ...]:
    return tuple(Column(name=name, kind=kind) for name, kind in zip(names, kinds, strict=True))


def column_kind(values: Iterable[JsonValue]) -> CellKind:
    """Say how the values of a field can be edited; what is missing or null says nothing."""
    found = {_kind(value) for value in values if value is not None}
    if found <= {"integer", "number"} and len(found) > 1:
        return "number"
    return next(iter(found)) if len(found) == 1 else "json" if found else "text"


def _kind(value: JsonValue) -> CellKind:
    match value:
        case bool():
            return "boolean"
        case str():
            return "text"
        case int():
            return "integer" if abs(value) <= _EXACT else "json"
        case float():
            return "number" if abs(value) <= _EXACT else "json"
        case _:
            return "json"


def cell(value: JsonValue, kind: CellKind) -> Cell:
    """Return what stands in a cell; None for what is missing or null."""
    if value is None:
        return None
    return show_json(value) if kind in _AS_JSON or isinstance(value, (dict, list)) else value


def value_of(written: Cell, kind: CellKind, language: str | None = None) -> JsonValue:
    """Read what was written into a cell, numbers in the browser's language.

    Raises:
        ValueError: It is no value of the column's kind; the text says what is wrong, and where in JSON.
    """
    match kind:
        case "json":
            try:
                return parse_json(str(written))
            except TypedJsonError as error:
                raise ValueError(
                    f"{error}; this column contains JSON, so put text in double quotes"
                ) from error
        case "integer" | "number":
            return read_number(str(written), language, is_whole=kind == "integer")
        case "boolean" if not isinstance(written, bool):
            raise ValueError(f"{written!r} is neither true nor false")
        case _:
            return written


def found_rows(table: WorldTable, search: str) -> list[int]:
    """Return the places of the rows in which each word of a text is found, in an id, a value or a field's name and value."""
    words = search.casefold().split()
    if not words:
        return list(range(len(table.ids)))
    return [
        place
        for place, (key, row) in enumerate(zip(table.ids, table.rows, strict=True))
        if _holds(_text_of(key, row), words)
    ]


def _text_of(key: str, row: JsonObject) -> str:
    written = (value if isinstance(value, str) else show_json(value) for value in row.values())
    return "\n".join((key, *written)).casefold()


def _holds(text: str, words: Iterable[str]) -> bool:
    return all(word in text for word in words)
