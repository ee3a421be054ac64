"""A table in which the fields of an object are written, a row each; what was written is kept like any other input."""

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from app.kept import Kept
from app.panels.editing import height
from app.panels.frames import YES_OR_NO, frame, rows_of
from app.schema_rows import TYPES, SchemaRow

_COLUMNS = ("name", "type", "description", "required", "choices")


def schema_rows(kept: Kept, name: str, label: str, initial: Sequence[SchemaRow]) -> list[Mapping[str, Any]]:
    """Draw the table; give its rows as they stand, cell by cell.

    A table editor adds what is done to what it was given first, so that it must be given the same as long as it is on
    the screen; after a refresh it begins with what was written last.
    """
    key = kept.key(name)
    base_key = f"base_{key}"
    if key not in st.session_state or base_key not in st.session_state:
        st.session_state[base_key] = kept.value(f"kept_{name}", [row.model_dump() for row in initial])
    base = st.session_state[base_key]
    column = st.column_config
    written = st.data_editor(
        frame({name: [row.get(name) for row in base] for name in _COLUMNS}, {"required": YES_OR_NO}),
        key=key,
        num_rows="dynamic",
        hide_index=True,
        column_config={
            "name": column.TextColumn("Name", required=True),
            "type": column.SelectboxColumn("Type", options=list(TYPES), default="text", required=True),
            "description": column.TextColumn("Description", width="medium"),
            "required": column.CheckboxColumn("Required", default=True),
            "choices": column.TextColumn(
                "Only these", help="The only values it may have, with commas between"
            ),
        },
        height=height(len(base)),
        alt=f"{label}: a row for each field",
    )
    rows: list[Mapping[str, Any]] = [*rows_of(written)]
    kept.put(f"kept_{name}", [dict(row) for row in rows])
    return rows
