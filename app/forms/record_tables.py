"""Finds flat lists of records in a value and carries out what was done in their tables; nothing else of a record changes. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

from pydantic import JsonValue

from app.forms.form_reading import FieldProblem
from app.forms.typed_in_language import LARGEST_WHOLE, read_number
from app.forms.typed_json import write_any
from app.forms.value_shapes import is_plain, kind_of
from simulator.base.json_paths import ABSENT

Record: TypeAlias = dict[str, JsonValue]
Place: TypeAlias = tuple[str, ...]
"""The names that lead to a list in an object; none for the value itself."""
ColumnKind: TypeAlias = Literal["text", "integer", "number", "boolean"]

_KINDS: Mapping[str, ColumnKind] = {"boolean": "boolean", "integer": "integer", "number": "number"}
_MOST_COLUMNS = 15
_MOST_ROWS = 2_000
_LONGEST = 2_000
DEEPEST = 3
"""So many names may lead to a table."""
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

    A record may lack up to half of the keys. All that a column holds is of one type, or null; of one that is null everywhere
    no type is known, which the inputs of a form can take.
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
    if len(kinds) != 1 or (kind := kinds.pop()) is None:
        return None
    whole = any(isinstance(cell, int) for cell in there) if kind == "number" else kind == "integer"
    return RecordColumn(name, kind, len(there) == len(cells), whole, any(cell is None for cell in there))


def _kind(cell: Any) -> ColumnKind | None:
    kind = kind_of(cell)
    if kind == "string":
        return "text" if len(cell) <= _LONGEST else None
    return _KINDS.get(kind)


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
    return [
        _new(columns, cells, language) if row is None else _changed(row, known, cells, language)
        for row, cells in typed_cells(rows, done)
    ]


def typed_cells(
    rows: Sequence[Record], done: Mapping[str, Any]
) -> Iterator[tuple[Record | None, Mapping[str, Any]]]:
    """Yield each record that is left with the cells that were typed into it; a new one is None."""
    gone = {int(place) for place in done.get("deleted_rows", ())}
    cells = {int(place): held for place, held in done.get("edited_rows", {}).items()}
    yield from ((row, cells.get(place, {})) for place, row in enumerate(rows) if place not in gone)
    yield from ((None, held) for held in done.get("added_rows", ()))


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


def table_places(value: JsonValue, so_far: Place = ()) -> Iterator[Place]:
    """Yield where in a value tables are shown: flat lists of records that are reached by names alone."""
    if columns_of(value):
        yield so_far
    elif isinstance(value, dict) and len(so_far) < DEEPEST:
        for name, held in value.items():
            yield from table_places(held, (*so_far, name))
