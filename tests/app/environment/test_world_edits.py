"""What a person does to a table becomes the changes that make the world so, and no others."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.environment.world_edits import ThingRename, WorldEdits, edited_row, edits_of
from app.environment.world_rows import Cell, CellKind, Sheet, cell, column_kind, sheet_of, value_of
from simulator.base.json_values import JsonObject
from simulator.environment.world.entities import EntityChange
from simulator.runtime.knowledge.world_view import WorldTable
from tests.simulator.environment.drawn_json import json_values

ORDERS = WorldTable(
    kind="order",
    name="orders",
    columns=("order_id", "status", "total", "items", "note", "paid"),
    ids=("A-1", "A-2"),
    rows=(
        {"order_id": "A-1", "status": "shipped", "total": 5, "items": [{"sku": "x"}], "paid": True},
        {"order_id": "A-2", "status": "open", "total": 7, "items": [], "note": None, "paid": False},
    ),
)


def _edited(
    edited: dict[int, dict[str, Any]] | None = None,
    added: list[dict[str, Any]] | None = None,
    deleted: list[int] | None = None,
    *,
    search: str = "",
) -> WorldEdits:
    state = {"edited_rows": edited or {}, "added_rows": added or [], "deleted_rows": deleted or []}
    return edits_of(sheet_of(ORDERS, search), state)


def test_a_changed_cell_sets_its_field_alone() -> None:
    """A cell that was typed anew as it was is no change, but true for 1 inside of a value is; an emptied one leaves the other fields."""
    edits = _edited({0: {"status": "cancelled", "total": 5}})
    assert edits.changes == (EntityChange(op="put", kind="order", id="A-1", fields={"status": "cancelled"}),)
    change = edited_row("order", "A-1", {"order_id": "A-1", "n": [1]}, {"order_id": "A-1", "n": [True]})
    assert change == EntityChange(op="put", kind="order", id="A-1", fields={"n": [True]})
    (change,) = _edited({0: {"total": None, "status": "open"}}).changes
    assert change.op == "replace"
    assert change.fields == {"order_id": "A-1", "status": "open", "items": [{"sku": "x"}], "paid": True}
    assert not _edited({1: {"note": None}}).changes


def test_nested_values_are_edited_as_json() -> None:
    """A list is shown and read as JSON; text that is none is a problem with its cell and place, and nothing is done."""
    (change,) = _edited({0: {"items": '[{"sku": "y"}]'}}).changes
    assert change.fields == {"items": [{"sku": "y"}]}
    edits = _edited({0: {"items": '[{"sku": y}]'}})
    assert edits.problems[0].startswith("orders, A-1, field items: Line 1, column 10:")
    assert not edits.changes


def test_ids_and_rows() -> None:
    """Another id renames; a deleted row is gone; a new one is put once it has an id that nobody has."""
    assert _edited({0: {"order_id": "A-9"}}).renames == (ThingRename(kind="order", old="A-1", new="A-9"),)
    taken, missing = (_edited({0: {"order_id": key}}) for key in ("A-2", None))
    assert taken.problems[0].startswith("orders, A-1: A-2")
    assert missing.problems[0].startswith("orders, A-1, field order_id: ")
    assert _edited({0: {"total": 9}}, deleted=[0]).changes == (
        EntityChange(op="delete", kind="order", id="A-1"),
    )
    assert _edited(added=[{"total": 9}]).waits
    assert not _edited(added=[{}]).waits
    assert _edited(added=[{"order_id": "A-3", "total": 9}]).changes == (
        EntityChange(op="put", kind="order", id="A-3", fields={"total": 9}),
    )
    assert "A-1" in _edited(added=[{"order_id": "A-1"}], search="A-2").problems[0]
    assert not _edited(added=[{"order_id": "A-1"}], deleted=[0]).problems


def test_rows_that_were_searched_for_are_edited_in_their_place() -> None:
    """With a search the first row of the editor is the first that was found."""
    (change,) = _edited({0: {"total": 8}}, search="OPEN a-2").changes
    assert change.id == "A-2"
    assert sheet_of(ORDERS, "nowhere").ids == ()


def test_a_column_is_edited_as_what_stands_in_it() -> None:
    """Values of one plain type are edited as such, all others as JSON, so that no type is lost; a whole number stays one."""
    kinds: list[tuple[list[Any], str]] = [
        (["a", None], "text"),
        ([1, 2], "integer"),
        ([1, 2.5], "number"),
        ([True, False], "boolean"),
        ([True, 1], "json"),
        (["a", 1], "json"),
        ([[1]], "json"),
        ([2**60], "json"),
        ([None], "text"),
    ]
    assert [column_kind(values) for values, _ in kinds] == [kind for _, kind in kinds]
    assert [repr(value_of(each, "number")) for each in (7.0, 7.5, 8)] == ["7", "7.5", "8"]
    wrong: list[tuple[Cell, CellKind, str]] = [
        (True, "number", "True"),
        ("7", "integer", "'7'"),
        (1, "boolean", "1"),
        ("[", "json", "Line 1"),
    ]
    for written, column, named in wrong:
        with pytest.raises(ValueError, match=named):
            value_of(written, column)


_JSON = json_values(max_leaves=6)
_FIELDS = ("a", "b", "c")
_ROWS = st.lists(st.dictionaries(st.sampled_from(_FIELDS), _JSON, max_size=3), min_size=1, max_size=4)


@given(rows=_ROWS)
@settings(max_examples=30, deadline=None)
def test_each_cell_is_read_as_it_is_shown(rows: list[JsonObject]) -> None:
    """What stands in a cell, typed anew, is no change, whatever the table holds."""
    sheet = sheet_of(_table(rows))
    state = {
        "edited_rows": {
            place: {column.name: cell(row.get(column.name), column.kind) for column in sheet.columns[1:]}
            for place, row in enumerate(sheet.rows)
        }
    }
    edits = edits_of(sheet, state)
    assert not edits.problems
    assert not edits.changes


@given(rows=_ROWS, data=st.data())
@settings(max_examples=30, deadline=None)
def test_the_changes_make_the_table_that_was_wanted(rows: list[JsonObject], data: st.DataObject) -> None:
    """Carried out, the changes give the rows as the editor showed them in the end; rows nobody touched stay."""
    sheet = sheet_of(_table(rows))
    edited: dict[int, dict[str, Any]] = {}
    for place in data.draw(st.sets(st.integers(0, len(rows) - 1))):
        for column in sheet.columns[1:]:
            pick = data.draw(st.sampled_from(["leave", "empty", "take over"]))
            other = rows[data.draw(st.integers(0, len(rows) - 1))].get(column.name)
            if pick != "leave":
                written = None if pick == "empty" else cell(other, column.kind)
                edited.setdefault(place, {})[column.name] = written
    deleted = sorted(data.draw(st.sets(st.integers(0, len(rows) - 1))))
    edits = edits_of(sheet, {"edited_rows": edited, "deleted_rows": deleted})
    assert not edits.problems
    assert _carried_out(sheet, edits.changes) == _wanted(sheet, edited, deleted)


def _table(rows: list[JsonObject]) -> WorldTable:
    ids = tuple(f"T-{place}" for place in range(len(rows)))
    named = tuple({"thing_id": key, **row} for key, row in zip(ids, rows, strict=True))
    return WorldTable(kind="thing", name="things", columns=("thing_id", *_FIELDS), ids=ids, rows=named)


def _carried_out(sheet: Sheet, changes: tuple[EntityChange, ...]) -> dict[str, JsonObject]:
    world: dict[str, JsonObject] = dict(zip(sheet.ids, sheet.rows, strict=True))
    for change in changes:
        match change.op:
            case "delete":
                del world[change.id]
            case "put":
                world[change.id] = {**world[change.id], **change.fields}
            case "replace":
                world[change.id] = change.fields
    return world


def _wanted(sheet: Sheet, edited: dict[int, dict[str, Any]], deleted: list[int]) -> dict[str, JsonObject]:
    kinds = {column.name: column.kind for column in sheet.columns}
    wanted: dict[str, JsonObject] = {}
    for place, (key, row) in enumerate(zip(sheet.ids, sheet.rows, strict=True)):
        if place in deleted:
            continue
        now = dict(row)
        for name, written in edited.get(place, {}).items():
            if written is None or (isinstance(written, str) and not written.strip()):
                if now.get(name) not in (None, ""):
                    del now[name]
            else:
                now[name] = value_of(written, kinds[name])
        wanted[key] = now
    return wanted
