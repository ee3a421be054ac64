"""Finds flat lists of records in a value and carries out what was done in their tables; nothing else of a record changes. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

from pydantic import JsonValue

from app.forms.form_reading import FieldProblem
from app.forms.typed_in_language import LARGEST_WHOLE, read_number
from app.forms.typed_json import write_any
from app.forms.value_shapes import is_plain
from simulator.base.json_differences import ABSENT
from simulator.base.json_values import JsonObject

Record: TypeAlias = dict[str, JsonValue]
Place: TypeAlias = tuple[str, ...]
"""The names that lead to a list in an object; none for the value itself."""
ColumnKind: TypeAlias = Literal["text", "integer", "number", "boolean"]

_MOST_COLUMNS = 15
_MOST_ROWS = 2_000
_LONGEST = 2_000
_DEEPEST = 3
_INDEX = "_index"
"""What Streamlit calls the numbers of the rows: no column can have this name."""


class RecordColumn(NamedTuple):
    """A column of a table.

    Attributes:
        name: The key in each record.
        kind: What its cells hold.
        always: Each record has the key.
        whole: Each number in it is written without a fraction.
        null: Some record has null there.
    """

    name: str
    kind: ColumnKind
    always: bool = True
    whole: bool = False
    null: bool = False

    @property
    def holds_numbers(self) -> bool:
        """Whether numbers stand in its cells, as texts that are read in the browser's language."""
        return self.kind in {"integer", "number"}


def columns_of(value: Any) -> tuple[RecordColumn, ...]:
    """Return the columns of the table that shows a value; none where it is no flat list of records, or a table cannot hold it.

    A record may lack up to half of the keys. All that a column holds is of one type, or null.
    """
    if not isinstance(value, list) or not 0 < len(value) <= _MOST_ROWS:
        return ()
    if not all(isinstance(row, dict) and row for row in value):
        return ()
    names = list(dict.fromkeys(name for row in value for name in row))
    if len(names) > _MOST_COLUMNS or any(not _is_name(name) for name in names):
        return ()
    if any(2 * len(row) < len(names) for row in value):
        return ()
    columns = [_column(name, [row.get(name, ABSENT) for row in value]) for name in names]
    return tuple(column for column in columns if column) if all(columns) else ()


def _is_name(name: str) -> bool:
    return bool(name.strip()) and name != _INDEX and is_plain(name)


def _column(name: str, cells: Sequence[Any]) -> RecordColumn | None:
    there = [cell for cell in cells if cell is not ABSENT]
    kinds = {_kind(cell) for cell in there if cell is not None}
    if kinds == {"integer", "number"}:
        kinds = {"number"}
    if None in kinds or len(kinds) > 1:
        return None
    kind = kinds.pop() if kinds else "text"
    assert kind is not None  # noqa: S101 - None was ruled out
    whole = any(isinstance(cell, int) for cell in there) if kind == "number" else kind == "integer"
    return RecordColumn(name, kind, len(there) == len(cells), whole, any(cell is None for cell in there))


def _kind(cell: Any) -> ColumnKind | None:
    match cell:
        case bool():
            return "boolean"
        case int():
            return "integer" if abs(cell) <= LARGEST_WHOLE else None
        case float():
            return "number" if abs(cell) <= LARGEST_WHOLE else None
        case str():
            return "text" if len(cell) <= _LONGEST and is_plain(cell) else None
        case _:
            return None


def cell_of(cell: JsonValue, column: RecordColumn) -> JsonValue:
    """Return what a cell shows: a number as its text, because a browser makes 1.25 of `1.250`."""
    return write_any(cell) if column.holds_numbers and cell is not None else cell


def edited_rows(
    rows: Sequence[Record],
    columns: Sequence[RecordColumn],
    done: Mapping[str, Any],
    language: str | None = None,
) -> list[Record]:
    """Return the records after what was done in their table. What is no sure number stays the text that was typed.

    Args:
        rows: The records that the table showed at first.
        columns: Its columns.
        done: What Streamlit's editor says was done: `edited_rows`, `added_rows` and `deleted_rows`.
        language: The browser's language, in which numbers are read.
    """
    known = {column.name: column for column in columns}
    gone = {int(place) for place in done.get("deleted_rows", ())}
    cells = {int(place): held for place, held in done.get("edited_rows", {}).items()}
    kept = [
        _changed(row, known, cells.get(place, {}), language)
        for place, row in enumerate(rows)
        if place not in gone
    ]
    return [*kept, *(_new(columns, held, language) for held in done.get("added_rows", ()))]


def _changed(
    row: Record, known: Mapping[str, RecordColumn], cells: Mapping[str, Any], language: str | None
) -> Record:
    made = dict(row)
    texts = {name: cell for name, cell in row.items() if isinstance(cell, str)}  # a number may be among them
    for name, cell in (texts | dict(cells)).items():
        column = known.get(name)
        if column is None:
            continue
        if not _is_empty(cell, column):
            made[name] = _typed(cell, column, row.get(name), language)
        elif name in row and (column.always or column.null):
            made[name] = None
        else:
            made.pop(name, None)
    return made


def _is_empty(cell: Any, column: RecordColumn) -> bool:
    return cell is None or (column.holds_numbers and not str(cell).strip())


def _typed(cell: Any, column: RecordColumn, before: JsonValue, language: str | None) -> JsonValue:
    """Return a cell as its column writes it; one that holds the number that it held stays as it was."""
    if not column.holds_numbers:
        return str(cell) if column.kind == "text" else bool(cell)
    if not isinstance(before, str) and cell == cell_of(before, column):
        return before
    try:
        number = read_number(str(cell), language, is_whole=column.kind == "integer")
    except ValueError:
        return str(cell)
    if before == number and not isinstance(before, bool):
        return before
    is_whole = abs(number) > LARGEST_WHOLE or (column.whole and number == int(number))
    return int(number) if is_whole else float(number)


def cell_problems(
    rows: Sequence[Record], columns: Sequence[RecordColumn], language: str | None
) -> Iterator[FieldProblem]:
    """Yield for each text in a column of numbers, by its row and column, what to enter instead."""
    for column in columns:
        for place, row in enumerate(rows):
            if column.holds_numbers and isinstance(text := row.get(column.name), str):
                try:
                    read_number(text, language, is_whole=column.kind == "integer")
                except ValueError as error:
                    yield FieldProblem(path=(place, column.name), message=str(error))


def _new(columns: Sequence[RecordColumn], cells: Mapping[str, Any], language: str | None) -> Record:
    """Return a record that was added: a cell that is empty is null where each record has the key, else absent."""
    found: Record = {}
    for column in columns:
        cell = cells.get(column.name)
        if not _is_empty(cell, column):
            found[column.name] = _typed(cell, column, None, language)
        elif column.always:
            found[column.name] = None
    return found


# ---------------------------------------------------------------- the lists in a value


def table_places(value: JsonValue, schema: JsonObject | None = None) -> tuple[Place, ...]:
    """Return where in a value tables are shown: flat lists of records that are reached by names alone.

    Args:
        value: The value.
        schema: Its schema, where one is declared. A list that it does not name plainly stays in the form.
    """
    return tuple(_places(value, schema, ()))


def _places(value: JsonValue, schema: Any, so_far: Place) -> Iterator[Place]:
    if columns_of(value):
        yield so_far
    elif isinstance(value, dict) and len(so_far) < _DEEPEST:
        for name, held in value.items():
            inside = None if schema is None else _property(schema, name)
            if schema is None or inside is not None:
                yield from _places(held, inside, (*so_far, name))


def _property(schema: Any, name: str) -> Any:
    properties = schema.get("properties") if isinstance(schema, dict) else None
    return properties.get(name) if isinstance(properties, dict) else None


def value_at(value: Any, place: Place) -> Any:
    """Return what stands at a place; `ABSENT` where nothing does."""
    for name in place:
        if not isinstance(value, dict) or name not in value:
            return ABSENT
        value = value[name]
    return value


def without(value: JsonValue, places: Sequence[Place]) -> JsonValue:
    """Return a value without what stands at these places; an object that holds nothing else goes with it."""
    if not isinstance(value, dict):
        return value
    made: dict[str, JsonValue] = {}
    for name, held in value.items():
        inside = _inside(places, name)
        rest = without(held, inside) if inside else held
        if (name,) not in places and not (inside and rest == {}):
            made[name] = rest
    return made


def schema_without(schema: JsonObject, places: Sequence[Place]) -> JsonObject:
    """Return a schema that does not name what stands at these places, as `without` leaves it."""
    properties, required = schema.get("properties"), schema.get("required")
    if not places or not isinstance(properties, dict):
        return schema
    left: JsonObject = {}
    for name, held in properties.items():
        inside = _inside(places, name)
        rest = schema_without(held, inside) if inside and isinstance(held, dict) else held
        if (name,) not in places and not (inside and isinstance(rest, dict) and not rest["properties"]):
            left[name] = rest
    named: list[JsonValue] = [name for name in required if name in left] if isinstance(required, list) else []
    return {**schema, "properties": left, "required": named}


def _inside(places: Sequence[Place], name: str) -> list[Place]:
    return [place[1:] for place in places if len(place) > 1 and place[0] == name]


def with_tables(value: JsonValue, tables: Mapping[Place, JsonValue]) -> JsonValue:
    """Return a value with tables at their places; objects on the way are made where they are not there."""
    if () in tables:
        return tables[()]
    made: Any = dict(value) if isinstance(value, dict) else {}
    for name in dict.fromkeys(place[0] for place in tables):
        deeper = {place[1:]: held for place, held in tables.items() if place[0] == name}
        made[name] = with_tables(made.get(name, {}), deeper)
    return made  # type: ignore[no-any-return] # an object, as its parts are
