"""Turns what a person did to the rows of a table into changes of the world: only what they changed. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from app.environment.world_rows import Cell, Column, Sheet, cell, value_of
from simulator.base.frozen_value import Value
from simulator.base.json_values import JsonObject
from simulator.environment.conventions.entity_kinds import id_of
from simulator.environment.world.entities import EntityChange
from simulator.session.commands import RenameThing


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
