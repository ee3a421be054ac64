"""What a person changes in the table of the connections is what stands in it afterwards."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from app.environment.connection_rows import EDITABLE, ConnectionRow, EditedConnections, read_edits, rows_of
from simulator.environment.world.connections import (
    NO_EDITS,
    ConnectionEdits,
    Connections,
    ToolField,
    ToolShape,
    found_offline,
    merged,
)

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


def _rows(edits: ConnectionEdits = NO_EDITS) -> tuple[ConnectionRow, ...]:
    return rows_of(merged(OFFLINE, None, edits))


def _place(tool: str, part: str) -> int:
    return next(n for n, row in enumerate(_rows()) if (row.tool, row.part) == (tool, part))


def _read(state: dict[str, Any], before: ConnectionEdits = NO_EDITS) -> EditedConnections:
    return read_edits(_rows(before), state, before, TOOLS)


def test_a_row_says_who_said_it_and_why() -> None:
    """Each connection is a row with its place, its use, and where it comes from."""
    row = _rows()[_place("cancel_order", "parameter")]
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
    return [row for row in _rows(edits) if (row.tool, row.part) == ("cancel_order", "parameter")]


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
    rows = _rows()
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
    now = {(row.tool, row.part, row.place): row for row in _rows(read.edits) if row.part != "tool"}
    wanted = {}
    for n in set(free) - deleted:
        wanted[rows[n].tool, rows[n].part, rows[n].place] = rows[n].model_copy(update=edited.get(n, {}))
    assert {key: _cells(row) for key, row in now.items()} == {key: _cells(row) for key, row in wanted.items()}


def _cells(row: ConnectionRow) -> list[str]:
    return [getattr(row, name) for name in EDITABLE]
