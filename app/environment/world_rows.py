"""The world as the rows of tables: what stands in each cell, what a person's edits change, how an invariant stands, and where a value comes from. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from pydantic import JsonValue

from app.forms.typed_in_language import read_number
from app.forms.typed_json import TypedJsonError, parse_json, show_json, write_json
from simulator.base.frozen_value import Value
from simulator.base.json_values import JsonObject
from simulator.environment.conventions import id_kind, id_of
from simulator.environment.world.entities import EntityChange
from simulator.session.commands import RenameThing
from simulator.session.history import HistoryEntry

if TYPE_CHECKING:
    from simulator.environment.world.invariants import InvariantStatus
    from simulator.runtime.knowledge.world_view import WorldFlag, WorldTable


_LONGEST = 200


def flag_lines(flags: Iterable[WorldFlag], history: Iterable[HistoryEntry]) -> list[str]:
    """Return a line for each contradiction, the newest answer first, with its step in the timeline."""
    steps = {entry.fact: number for number, entry in enumerate(history, start=1)}
    return [
        f"{_step(steps.get(flag.fact))}{flag.tool_name}: {what}"
        for flag in reversed([*flags])
        for what in flag.what
    ]


def _step(number: int | None) -> str:
    return f"Step {number}, " if number is not None else ""


def field_rows(table: WorldTable, key: str) -> list[dict[str, str]]:
    """Return a row for each field of a thing: its name, where it was set last, and its value."""
    row = table.rows[table.ids.index(key)]
    origins = table.origins.get(key, {})
    return [
        {"field": name, "from": origins.get(name, ""), "value": _shown(value)} for name, value in row.items()
    ]


def _shown(value: object) -> str:
    text = value if isinstance(value, str) else show_json(value)  # type: ignore[arg-type]  # the rows hold JSON
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def template(tables: Iterable[WorldTable]) -> str:
    """Write what is known as data to begin with; where nothing is known, an example of its form."""
    known: JsonObject = {table.name: list(table.rows) for table in tables if table.rows}
    example: JsonObject = {
        "customers": [{"customer_id": "C-1", "name": "Ada Lovelace", "email": "ada@example.com"}],
        "orders": [{"order_id": "A-1", "customer_id": "C-1", "status": "shipped", "total": 59.9}],
        "currency": "EUR",
    }
    return write_json(known or example)


MOST_EXAMPLES = 6
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_FEW_VALUES = 4
_ALWAYS = ("stock >= 0", "order.customer_id in customers", "order.status in ['open', 'shipped']")
"""What an invariant looks like, where nothing is known yet."""


class InvariantVerdict(NamedTuple):
    """The verdict on an invariant: `state` in one word, `said` in a sentence, `broken` a sentence for each thing."""

    state: Literal["holds", "broken", "unknown", "wrong"]
    said: str
    broken: tuple[str, ...] = ()


def verdict_of(found: InvariantStatus) -> InvariantVerdict:
    """Say how an invariant stands."""
    unjudged = f", cannot be checked for {found.unjudged}: {found.why}" if found.unjudged else ""
    if found.broken:
        count = len(found.broken)
        said = f"Broken by {count}{' or more' if count >= 20 else ''}, holds for {found.holds}{unjudged}"  # noqa: PLR2004 - no more are told
        return InvariantVerdict("broken", said, tuple(each.what for each in found.broken))
    if found.holds:
        return InvariantVerdict("holds", f"Holds for {found.holds}{unjudged}")
    return InvariantVerdict(
        "unknown", f"Cannot be checked yet: {found.why or 'no entity of this kind is known'}"
    )


def examples(tables: Iterable[WorldTable], taken: Collection[str] = ()) -> list[str]:
    """Return invariants that could hold for what is known, at most six, none of those that are taken."""
    known = list(tables)
    names = {table.kind: table.name for table in known}
    found = [line for table in known for line in _of(table, names)]
    return [line for line in dict.fromkeys(found or _ALWAYS) if line not in taken][:MOST_EXAMPLES]


def _can_be_named(name: str) -> bool:
    """Return whether an expression can hold a name: none in it begins with an underscore."""
    return _NAME.fullmatch(name) is not None and not name.startswith("_")


def _of(table: WorldTable, names: dict[str, str]) -> Iterable[str]:
    if not _can_be_named(table.kind):
        return
    for name in filter(_can_be_named, table.columns):
        values = [row[name] for row in table.rows if row.get(name) is not None]
        other = id_kind(name)
        if other in names and other != table.kind and _can_be_named(names[other]):
            yield f"{table.kind}.{name} in {names[other]}"
        elif values and column_kind(values) in {"integer", "number"}:
            yield f"{table.kind}.{name} >= 0"
        elif name in {"status", "state"} and values and column_kind(values) == "text":
            words = sorted({str(value) for value in values})
            if len(words) <= _FEW_VALUES and not any({"'", "\\", "\n"} & set(word) for word in words):
                yield f"{table.kind}.{name} in {words}"


class WorldEdits(Value):
    """What a person did. `problems` says what of it cannot be read, and in which cell; nothing is to be done then.

    `waits` tells that a new row has no id yet.
    """

    changes: tuple[EntityChange, ...] = ()
    renames: tuple[RenameThing, ...] = ()
    problems: tuple[str, ...] = ()
    waits: bool = False


class _UnfitCellError(ValueError):
    """A cell cannot be read."""


def edits_of(sheet: Sheet, state: Mapping[str, Any], language: str | None = None) -> WorldEdits:
    """Read the state of a data editor.

    Args:
        sheet: What the editor was given.
        state: Its `edited_rows` (by place: the cells that were changed), `added_rows` and `deleted_rows` (places).
        language: The browser's language, in which numbers are read.
    """
    deleted = {int(place) for place in state.get("deleted_rows", ())}
    changes: list[EntityChange] = []
    renames: list[RenameThing] = []
    problems: list[str] = []
    for place, cells in sorted((int(place), cells) for place, cells in state.get("edited_rows", {}).items()):
        if place in deleted or place >= len(sheet.ids):
            continue
        try:
            changes.extend(_changed(sheet, place, cells, language))
            renames.extend(_renamed(sheet, place, cells))
        except _UnfitCellError as error:
            problems.append(str(error))
    gone = [sheet.ids[place] for place in sorted(deleted) if place < len(sheet.ids)]
    changes.extend(EntityChange(op="delete", kind=sheet.kind, id=key) for key in gone)
    added = [row for row in state.get("added_rows", ()) if _filled(row)]
    made, unfit, waits = _added(sheet, added, sheet.taken - set(gone), language)
    problems += [*unfit, *_twice(sheet, renames, sheet.taken - set(gone))]
    return WorldEdits(
        changes=(*changes, *made), renames=tuple(renames), problems=tuple(problems), waits=waits
    )


def _changed(
    sheet: Sheet, place: int, cells: Mapping[str, Cell], language: str | None
) -> Iterator[EntityChange]:
    """Yield the change of one row: `put` for cells that hold something else now, `replace` where one is empty."""
    row = sheet.rows[place]
    where = f"{sheet.name}, {sheet.ids[place]}"
    put: JsonObject = {}
    emptied: set[str] = set()
    for column in sheet.columns[1:]:
        written = cells.get(column.name)
        if column.name not in cells or written == cell(row.get(column.name), column.kind):
            continue
        if _is_empty(written):
            if row.get(column.name) not in (None, ""):
                emptied.add(column.name)
            continue
        value = _read(written, column, where, language)
        if column.name not in row or not _same(row[column.name], value):
            put[column.name] = value
    if emptied:
        left = {name: value for name, value in row.items() if name not in emptied} | put
        yield EntityChange(op="replace", kind=sheet.kind, id=sheet.ids[place], fields=left)
    elif put:
        yield EntityChange(op="put", kind=sheet.kind, id=sheet.ids[place], fields=put)


def _renamed(sheet: Sheet, place: int, cells: Mapping[str, Cell]) -> Iterator[RenameThing]:
    column, old = sheet.columns[0], sheet.ids[place]
    if column.name not in cells:
        return
    new = _id(cells[column.name], column, f"{sheet.name}, {old}")
    if new != old:
        yield RenameThing(kind=sheet.kind, old=old, new=new)


def _added(
    sheet: Sheet, added: list[Mapping[str, Cell]], taken: frozenset[str], language: str | None
) -> tuple[list[EntityChange], list[str], bool]:
    changes: list[EntityChange] = []
    problems: list[str] = []
    waits = False
    for row in added:
        if _is_empty(row.get(sheet.columns[0].name)):
            waits = True
            continue
        try:
            change = _new(sheet, row, language)
        except _UnfitCellError as error:
            problems.append(str(error))
            continue
        if change.id in taken or any(change.id == other.id for other in changes):
            problems.append(f"{sheet.name}: {change.id} already exists")
        changes.append(change)
    return changes, problems, waits


def _new(sheet: Sheet, row: Mapping[str, Cell], language: str | None) -> EntityChange:
    key = _id(row.get(sheet.columns[0].name), sheet.columns[0], f"{sheet.name}, new row")
    where = f"{sheet.name}, {key}"
    fields = {
        column.name: _read(row[column.name], column, where, language)
        for column in sheet.columns[1:]
        if not _is_empty(row.get(column.name))
    }
    return EntityChange(op="put", kind=sheet.kind, id=key, fields=fields)


def _twice(sheet: Sheet, renames: list[RenameThing], taken: frozenset[str]) -> Iterator[str]:
    """Name each new id that another thing has, or gets too."""
    seen: set[str] = set()
    for rename in renames:
        if rename.new in taken or rename.new in seen:
            yield f"{sheet.name}, {rename.old}: {rename.new} already exists"
        seen.add(rename.new)


def _read(written: Cell, column: Column, where: str, language: str | None) -> Any:
    try:
        return value_of(written, column.kind, language)
    except ValueError as error:
        raise _UnfitCellError(f"{where}, field {column.name}: {error}") from error


def _id(written: Cell, column: Column, where: str) -> str:
    key = id_of(written)
    if key is None:
        raise _UnfitCellError(
            f"{where}, field {column.name}: an id is required; to remove the entity, delete the row"
        )
    return key


def _filled(row: Mapping[str, Cell]) -> bool:
    return any(not _is_empty(written) for written in row.values())


def _is_empty(written: Cell) -> bool:
    return written is None or (isinstance(written, str) and not written.strip())


def _same(before: Any, now: Any) -> bool:
    """Return whether two JSON values are one, in depth; true is not 1, and 1.0 is 1."""
    if isinstance(before, dict) and isinstance(now, dict):
        return before.keys() == now.keys() and all(_same(before[name], now[name]) for name in now)
    if isinstance(before, list) and isinstance(now, list):
        return len(before) == len(now) and all(map(_same, before, now))
    return isinstance(before, bool) == isinstance(now, bool) and bool(before == now)


def edited_row(kind: str, key: str, before: JsonObject, now: JsonObject) -> EntityChange | None:
    """Return the change that makes one row of another; None where they are the same."""
    if before.keys() - now.keys():
        return EntityChange(op="replace", kind=kind, id=key, fields=now)
    put = {name: value for name, value in now.items() if name not in before or not _same(before[name], value)}
    return EntityChange(op="put", kind=kind, id=key, fields=put) if put else None


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
