"""What a person does to a table of the world or of its connections becomes the changes that make it so, and no others; and the world in words."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from app.environment.connection_rows import EDITABLE, ConnectionRow, EditedConnections, read_edits, rows_of
from app.environment.world_rows import (
    MOST_EXAMPLES,
    Cell,
    CellKind,
    Sheet,
    WorldEdits,
    cell,
    column_kind,
    edited_row,
    edits_of,
    examples,
    field_rows,
    flag_lines,
    sheet_of,
    template,
    value_of,
    verdict_of,
)
from simulator.base.json_values import JsonObject
from simulator.environment.world.connections import (
    NO_EDITS,
    ConnectionEdits,
    Connections,
    ToolField,
    ToolShape,
    found_offline,
    merged,
)
from simulator.environment.world.entities import EntityChange, read_tables
from simulator.environment.world.invariants import check_invariant, standing
from simulator.environment.world.world import World
from simulator.runtime.knowledge.world_view import WorldFlag, WorldTable
from simulator.session.commands import RenameThing
from simulator.session.history import UserQuery
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
    assert _edited({0: {"order_id": "A-9"}}).renames == (RenameThing(kind="order", old="A-1", new="A-9"),)
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
    assert [repr(value_of(each, "number")) for each in ("7.0", "7.5", "8")] == ["7.0", "7.5", "8"]
    assert value_of("1.250", "number", "en-US") == 1.25
    wrong: list[tuple[Cell, CellKind, str]] = [
        (True, "number", "enter a number"),
        ("7.5", "integer", "whole"),
        ("1.250", "number", "ambiguous"),
        (1, "boolean", "1"),
        ("[", "json", "Line 1"),
    ]
    for written, column, named in wrong:
        with pytest.raises(ValueError, match=named):
            value_of(written, column, "de-DE")


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


ONE_ORDER = WorldTable(
    kind="order",
    name="orders",
    columns=("order_id", "customer_id", "status", "total"),
    ids=("A-1",),
    rows=({"order_id": "A-1", "customer_id": "C-1", "status": "it's", "total": 5},),
    origins={"A-1": {"total": "find_order in turn 2"}},
)
CUSTOMERS = WorldTable(
    kind="customer", name="customers", columns=("customer_id",), ids=("C-1",), rows=({"customer_id": "C-1"},)
)


def test_a_contradiction_has_its_step() -> None:
    """The newest comes first, with the number of its step; one whose step is not shown has none."""
    history = [UserQuery(fact=n, turn=0, timestamp=datetime.now(UTC), content="x") for n in (1, 4)]
    flags = [
        WorldFlag(fact=4, tool_name="a", what=("one.", "two.")),
        WorldFlag(fact=9, tool_name="b", what=("three.",)),
    ]
    assert flag_lines(flags, history) == ["b: three.", "Step 2, a: one.", "Step 2, a: two."]


def test_each_field_says_where_it_comes_from() -> None:
    """A field has its value, and its origin where that is known."""
    rows = {row["field"]: row for row in field_rows(ONE_ORDER, "A-1")}
    assert rows["total"] == {"field": "total", "from": "find_order in turn 2", "value": "5"}
    assert rows["status"]["from"] == ""


def test_a_template_is_data_that_can_be_given() -> None:
    """What is known is written so that it is read back; where nothing is known there is an example."""
    known = read_tables(template([ONE_ORDER, CUSTOMERS]))
    assert {table.name: list(table.rows) for table in known.tables} == {
        "orders": list(ONE_ORDER.rows),
        "customers": list(CUSTOMERS.rows),
    }
    assert len(read_tables(template([])).tables) == 2


def test_examples_are_of_what_is_known() -> None:
    """A reference and a number are offered, words that hold a quote are not, and nothing that is in force already."""
    assert examples([ONE_ORDER, CUSTOMERS]) == ["order.customer_id in customers", "order.total >= 0"]
    assert examples([ONE_ORDER, CUSTOMERS], ["order.total >= 0"]) == ["order.customer_id in customers"]
    assert examples([])


_NAMES = st.text(st.characters(codec="utf-8"), max_size=8) | st.sampled_from(["status", "total", "b_id"])


@given(
    rows=st.lists(st.dictionaries(_NAMES, st.text(max_size=6) | st.integers(), max_size=4), max_size=3),
    kind=_NAMES,
)
@settings(max_examples=30, deadline=None)
@example(rows=[{"status": "open"}], kind="_")
def test_every_example_is_an_invariant(rows: list[dict[str, object]], kind: str) -> None:
    """Whatever things are called, what is offered can be added."""
    columns = tuple(dict.fromkeys(name for row in rows for name in row))
    ids = tuple(str(n) for n in range(len(rows)))
    table = WorldTable.model_validate(
        {"kind": kind or "x", "name": f"{kind}s", "columns": columns, "ids": ids, "rows": tuple(rows)}
    )
    other = WorldTable(kind="b", name="bs", columns=(), ids=(), rows=())
    found = examples([table, other])
    assert len(found) <= MOST_EXAMPLES
    for line in found:
        check_invariant(line)


def test_a_verdict_says_what_breaks_a_line() -> None:
    """A line holds, is broken by certain things, or cannot be judged yet."""
    world = World()
    changes = [
        EntityChange(op="put", kind="order", id=f"A-{n}", fields={"order_id": f"A-{n}", "total": n})
        for n in range(3)
    ]
    world.edit(changes, fact=1, turn=0)
    lines = ["order.total >= 0", "order.total > 0", "parcel.weight > 0"]
    good, broken, unknown = (verdict_of(found) for found in standing(world, lines))
    assert (good.state, good.said) == ("holds", "Holds for 3")
    assert (broken.state, broken.said, len(broken.broken)) == ("broken", "Broken by 1, holds for 2", 1)
    assert json.dumps(broken.broken[0]).count("A-0") == 1
    assert unknown.state == "unknown"


TOOLS = [
    ToolShape(
        name="cancel_order",
        parameters={"properties": {"order_id": {"type": "string"}, "why": {"type": "string"}}},
    ),
    ToolShape(
        name="create_ticket",
        parameters={"properties": {"customer_id": {"type": "string"}}},
        response_schema={"properties": {"ticket_id": {"type": "string"}}},
    ),
]
OFFLINE = found_offline(TOOLS)


def _connection_rows(edits: ConnectionEdits = NO_EDITS) -> tuple[ConnectionRow, ...]:
    return rows_of(merged(OFFLINE, None, edits))


def _place(tool: str, part: str) -> int:
    return next(n for n, row in enumerate(_connection_rows()) if (row.tool, row.part) == (tool, part))


def _read(state: dict[str, Any], before: ConnectionEdits = NO_EDITS) -> EditedConnections:
    return read_edits(_connection_rows(before), state, before, TOOLS)


def test_a_row_says_who_said_it_and_why() -> None:
    """Each connection is a row with its place, its use, and where it comes from."""
    row = _connection_rows()[_place("cancel_order", "parameter")]
    assert (row.place, row.kind, row.use, row.said_by) == ("order_id", "order", "changes", "names")
    assert row.why
    by_model = merged(
        OFFLINE, Connections(uses=tuple(u.model_copy(update={"source": "model"}) for u in OFFLINE.uses))
    )
    assert {row.said_by for row in rows_of(by_model, "gemini") if row.part == "parameter"} == {"model gemini"}


def test_another_use_or_place_is_the_persons_word() -> None:
    """What is changed is said by the person, and what is moved to another parameter is no longer at the first one."""
    for changed in ({"use": "deletes"}, {"place": "why"}):
        edits = _read({"edited_rows": {_place("cancel_order", "parameter"): changed}}).edits
        (row,) = _at_parameter(edits)
        assert (row.said_by, row.model_dump() | changed) == ("you", row.model_dump())


def test_a_deleted_row_is_not_found_again() -> None:
    """What was taken away stays away, until a person sets it again."""
    edits = _read({"deleted_rows": [_place("cancel_order", "parameter")]}).edits
    assert edits.no_uses == (ToolField(tool_name="cancel_order", path="order_id"),)
    assert not _at_parameter(edits)
    added = {"part": "parameter", "place": "order_id", "kind": "Orders", "use": "reads"}
    (row,) = _at_parameter(_read({"added_rows": [{"tool": "cancel_order", **added}]}, edits).edits)
    assert (row.kind, row.use) == ("order", "reads")


def _at_parameter(edits: ConnectionEdits) -> list[ConnectionRow]:
    return [row for row in _connection_rows(edits) if (row.tool, row.part) == ("cancel_order", "parameter")]


def test_what_is_no_connection_is_named() -> None:
    """A cell that makes no sense is a problem that names its tool and place, each another one, and nothing is changed."""
    place = _place("cancel_order", "parameter")
    rows: tuple[tuple[dict[str, Any], str], ...] = (
        ({"place": "nothing"}, "cancel_order, nothing: "),
        ({"use": "gives"}, "cancel_order, order_id: "),
        ({"kind": ""}, "cancel_order, order_id: ''"),
        ({"part": "response"}, "cancel_order, order_id: "),
        ({"place": None}, "cancel_order, "),
        ({"use": "eats"}, "cancel_order: use: "),
    )
    found = [_read({"edited_rows": {place: cells}}) for cells, _ in rows]
    for read, (cells, where) in zip(found, rows, strict=True):
        assert read.problems[0].startswith(where), cells
        assert read.edits == NO_EDITS, cells
    assert len({read.problems for read in found}) == len(rows)
    assert "order_id, why" in found[0].problems[0]


def test_a_new_row_waits_until_it_is_complete() -> None:
    """Nothing is done, and nothing refused, while cells of a new row are empty."""
    read = _read({"added_rows": [{"tool": "cancel_order", "part": "parameter"}]})
    assert (read.waits, read.problems, read.edits) == (True, (), NO_EDITS)
    assert not _read({"added_rows": [{}]}).waits


def test_a_tool_keeps_a_role() -> None:
    """What a tool does as a whole can be changed; only that change can be taken away."""
    place = _place("cancel_order", "tool")
    kept = _read({"deleted_rows": [place]})
    assert (len(kept.problems), kept.edits) == (1, NO_EDITS)
    edits = _read({"edited_rows": {place: {"use": "deletes"}}}).edits
    assert edits.roles[0].use == "deletes"
    assert _read({"deleted_rows": [place]}, edits).edits == NO_EDITS


@given(data=st.data())
@settings(max_examples=30, deadline=None)
def test_what_is_set_stands_in_the_table(data: st.DataObject) -> None:
    """After any edits of uses and kinds, each edited row holds what was written, the deleted ones are gone, the others are as before."""
    rows = _connection_rows()
    free = [n for n, row in enumerate(rows) if row.part != "tool"]
    deleted = data.draw(st.sets(st.sampled_from(free)))
    edited = {
        n: {
            "kind": data.draw(st.sampled_from(["order", "ticket", "parcel"])),
            "use": data.draw(
                st.sampled_from(["gives", "creates"] if rows[n].part == "response" else ["reads", "changes"])
            ),
        }
        for n in data.draw(st.sets(st.sampled_from(free)))
    }
    read = _read({"edited_rows": edited, "deleted_rows": list(deleted)})
    assert not read.problems
    now = {(row.tool, row.part, row.place): row for row in _connection_rows(read.edits) if row.part != "tool"}
    wanted = {}
    for n in set(free) - deleted:
        wanted[rows[n].tool, rows[n].part, rows[n].place] = rows[n].model_copy(update=edited.get(n, {}))
    assert {key: _cells(row) for key, row in now.items()} == {key: _cells(row) for key, row in wanted.items()}


def _cells(row: ConnectionRow) -> list[str]:
    return [getattr(row, name) for name in EDITABLE]
