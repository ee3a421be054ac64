"""A table of the things of one kind: each cell can be edited, rows can be added and deleted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import streamlit as st

from app.kept import slug
from app.panels.editing import editor_state, height, is_new, problems
from app.panels.frames import NUMBER, WHOLE, YES_OR_NO, frame
from app.scene import Scene
from app.shaping import EditWorld, Shape
from app.world_edits import edits_of
from app.world_rows import Column, Sheet, cell, sheet_of
from simulator.jsonvalue import canonical, digest

if TYPE_CHECKING:
    from simulator.runtime.world_view import WorldTable

_TYPES = {"integer": WHOLE, "number": NUMBER, "boolean": YES_OR_NO}
_INDEX = "_index"
"""The name by which a table editor knows its row labels; a field of this name is called otherwise in it."""


def sheet_editor(scene: Scene, table: WorldTable, search: str) -> Shape | None:
    """Draw the things in which a text is found; give the edits that were made since the last run."""
    sheet = sheet_of(table, search)
    heads = {column.name: _head(column.name) for column in sheet.columns}
    shape = [[column.name, column.kind] for column in sheet.columns]
    key = f"world_{slug(table.kind)}_{digest(canonical(shape), canonical([list(sheet.rows)]))[:10]}"
    st.data_editor(
        _frame(sheet, heads),
        key=key,
        num_rows="dynamic",
        hide_index=True,
        column_config={heads[column.name]: _config(column) for column in sheet.columns},
        height=height(len(sheet.ids)),
        placeholder="",
        alt=f"The things of a kind: {table.name}",
    )
    done = _named(editor_state(key), {head: name for name, head in heads.items()})
    edits = edits_of(sheet, done)
    problems(edits.problems)
    if edits.waits:
        st.caption("The new row counts as soon as it has an id in its first column.")
    if edits.problems or not (edits.changes or edits.renames):
        return None
    if not is_new(key, done, scene.view.version):
        return None
    return EditWorld(changes=edits.changes, renames=edits.renames)


def _head(name: str) -> str:
    return name if name.strip() and name != _INDEX else f"{name}\u2060 "


def _frame(sheet: Sheet, heads: dict[str, str]) -> Any:
    first, *others = sheet.columns
    cells: dict[str, Sequence[Any]] = {heads[first.name]: sheet.ids}
    for column in others:
        cells[heads[column.name]] = [cell(row.get(column.name), column.kind) for row in sheet.rows]
    return frame(
        cells,
        {heads[column.name]: _TYPES[column.kind] for column in sheet.columns if column.kind in _TYPES},
    )


def _config(column: Column) -> Any:
    match column.kind:
        case "id":
            return st.column_config.TextColumn(required=True, pinned=True)
        case "integer":
            return st.column_config.NumberColumn(step=1)
        case "number":
            return st.column_config.NumberColumn()
        case "boolean":
            return st.column_config.CheckboxColumn()
        case "json":
            return st.column_config.TextColumn(help="Written in JSON: a text in double quotes")
        case _:
            return st.column_config.TextColumn()


def _named(done: Any, names: dict[str, str]) -> dict[str, Any]:
    """Give what was done with the fields' own names."""

    def own(cells: Any) -> dict[str, Any]:
        return {names.get(head, head): written for head, written in cells.items()}

    return {
        "edited_rows": {place: own(cells) for place, cells in done.get("edited_rows", {}).items()},
        "added_rows": [own(cells) for cells in done.get("added_rows", ())],
        "deleted_rows": list(done.get("deleted_rows", ())),
    }
