"""Draws a JSON value to read: named values and tables, for people who read no JSON. JSON is one click away."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st
from pydantic import JsonValue

from app.forms.safe_labels import literal, safe_label
from app.forms.shown_values import ShownField, ShownTable, shown_parts
from app.forms.typed_json import show_json

_NAME = 60
_LOW = 9
"""So many rows of a table are shown at once; one of more scrolls."""
_TALL = 340


def shown_value(value: JsonValue, key: str) -> None:
    """Draw a value; `key` names it on the page."""
    fields: list[ShownField] = []
    for number, part in enumerate((*shown_parts(value), None)):
        if isinstance(part, ShownField):
            fields.append(part)
            continue
        if fields:
            _fields(fields, f"{key}_{number}")
            fields = []
        if part is not None:
            _table(part, f"{key}_{number}")


def value_or_json(value: JsonValue, key: str) -> None:
    """Draw a value, and below it the way to its JSON."""
    shown_value(value, key)
    body = st.expander("JSON", type="compact", key=f"json_of_{key}", on_change="rerun")
    with body:
        if body.open:
            st.code(literal(show_json(value)), language="json", wrap_lines=True)
        else:
            st.empty()


def _fields(fields: Sequence[ShownField], key: str) -> None:
    """Draw values below their names, or beside them: the style sheet makes two columns of the container."""
    is_named = fields[0].name != ""
    with st.container(key=f"{'values' if is_named else 'value'}_{key}", gap="xxsmall"):
        for field in fields:
            if is_named:
                st.caption(safe_label(field.name, _NAME))
            if field.is_ours:
                st.caption(field.text)
            else:
                st.text(literal(field.text))


def _table(table: ShownTable, key: str) -> None:
    if table.name:
        st.caption(safe_label(table.name, _NAME))
    st.dataframe(
        [{literal(name): literal(cell) for name, cell in row.items()} for row in table.rows],
        hide_index=True,
        key=f"table_{key}",
        height="auto" if len(table.rows) <= _LOW else _TALL,
        alt=table.name or "Records",
    )
