"""Takes a JSON value apart for people who read no JSON: named values, and flat lists of records as tables. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, TypeAlias

from pydantic import JsonValue

from app.forms.typed_json import show_json

MOST_FIELDS = 80
"""How many named values are shown; JSON shows all of them."""

_DEEPEST = 6
"""A value that is nested deeper is shown as JSON."""
_MOST_COLUMNS = 15
_LONGEST = 8_000
_LONGEST_CELL = 300
_PARTS = " \u203a "


class ShownField(NamedTuple):
    """A value with the names that lead to it; `name` is empty for the whole value.

    `is_ours` says that `text` is our own word for a value without letters, such as an empty list.
    """

    name: str
    text: str
    is_ours: bool = False


class ShownTable(NamedTuple):
    """A flat list of records, with the names that lead to it; each record has the same columns, and all cells are texts."""

    name: str
    rows: list[dict[str, str]]


ShownPart: TypeAlias = ShownField | ShownTable


def shown_parts(value: JsonValue) -> tuple[ShownPart, ...]:
    """Return what of a value is shown, in its order; at most `MOST_FIELDS` parts, then how many are left out."""
    parts = list(_parts(value, (), 0))
    left = len(parts) - MOST_FIELDS
    if left <= 0:
        return tuple(parts)
    more = f"{left} more value{'s' if left > 1 else ''}: see the JSON"
    return (*parts[:MOST_FIELDS], ShownField("", more, is_ours=True))


def values_line(value: JsonValue) -> str:
    """Write a value in one line: `order_id=1042, items=2 records`; empty where it has no fields."""
    return ", ".join(_in_line(part) for part in shown_parts(value)) if value != {} else ""


def _in_line(part: ShownPart) -> str:
    count = len(part.rows) if isinstance(part, ShownTable) else 0
    words = part.text if isinstance(part, ShownField) else f"{count} record{'s' if count > 1 else ''}"
    return f"{part.name}={words}" if part.name else words


def _parts(value: JsonValue, way: tuple[str, ...], depth: int) -> Iterator[ShownPart]:
    name = _PARTS.join(way)
    if not isinstance(value, (dict, list)) or not value:
        yield _field(name, value)
    elif depth > _DEEPEST:
        yield ShownField(name, show_json(value)[:_LONGEST])
    elif isinstance(value, dict):
        for key, one in value.items():
            yield from _parts(one, (*way, key), depth + 1)
    elif columns := _columns(value):
        rows = [row for row in value if isinstance(row, dict)]
        yield ShownTable(name, [{column: _cell(row, column) for column in columns} for row in rows])
    elif not any(isinstance(one, (dict, list)) for one in value):
        yield ShownField(name, "\n".join(_field("", one).text for one in value)[:_LONGEST])
    else:
        for number, one in enumerate(value, 1):
            yield from _parts(one, (*way[:-1], f"{way[-1]} {number}" if way else str(number)), depth + 1)


def _field(name: str, value: JsonValue) -> ShownField:  # noqa: PLR0911 - one arm for each kind
    """Return a value that has no parts: an object or a list is empty here."""
    match value:
        case None:
            return ShownField(name, "no value", is_ours=True)
        case bool():
            return ShownField(name, "yes" if value else "no")
        case "":
            return ShownField(name, "empty text", is_ours=True)
        case str():
            return ShownField(name, value if len(value) <= _LONGEST else f"{value[:_LONGEST]}\u2026")
        case dict():
            return ShownField(name, "no fields", is_ours=True)
        case list():
            return ShownField(name, "empty list", is_ours=True)
        case _:
            return ShownField(name, show_json(value))


def _columns(rows: list[Any]) -> tuple[str, ...]:
    """Return the columns of a flat list of records; none where it is something else."""
    if not all(isinstance(row, dict) and row for row in rows):
        return ()
    names = tuple(dict.fromkeys(name for row in rows for name in row))
    is_flat = not any(isinstance(one, (dict, list)) for row in rows for one in row.values())
    return names if is_flat and len(names) <= _MOST_COLUMNS else ()


def _cell(row: dict[str, Any], column: str) -> str:
    found = _field("", row[column]) if column in row else ShownField("", "", is_ours=True)
    return "" if found.is_ours else found.text[:_LONGEST_CELL]
