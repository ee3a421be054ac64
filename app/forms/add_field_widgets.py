"""Draws the way to add a field to an object that no schema describes."""

from __future__ import annotations

from collections.abc import Callable, Collection

import streamlit as st
from pydantic import JsonValue

from app.forms.common_panel import place
from app.forms.field_widgets import problem_line
from app.forms.value_shapes import FIRST_VALUES, name_problem
from app.forms.widget_store import KeptInputs


def add_field(
    kept: KeptInputs, form: str, taken: Collection[str], on_add: Callable[[str, JsonValue], None]
) -> None:
    """Draw it.

    Args:
        kept: Keeps the inputs.
        form: The name of the form, which becomes another with each field that is added.
        taken: The names of the fields that the object has.
        on_add: Is called with the name and the first value of a field.
    """
    kinds = list(FIRST_VALUES)
    with st.popover("Add field", icon=":material/add:", type="tertiary", key=kept.key(f"{form}:add_menu")):
        name = st.text_input("Field name", key=kept.widget(f"{form}:add_name", ""), on_change="ignore") or ""
        with place():
            if kept.value(f"{form}:add_tried") and (wrong := name_problem(name, taken)):
                problem_line(wrong)
        st.selectbox("Kind", kinds, key=kept.widget(f"{form}:add_kind", kinds[0]))
        st.button(
            "Add",
            key=kept.key(f"{form}:add_now"),
            icon=":material/add:",
            on_click=_add,
            args=(kept, form, tuple(taken), on_add),
        )


def _add(
    kept: KeptInputs, form: str, taken: Collection[str], on_add: Callable[[str, JsonValue], None]
) -> None:
    name = str(kept.value(f"{form}:add_name") or "").strip()
    if name_problem(name, taken):
        kept.put(f"{form}:add_tried", value=True)
    else:
        on_add(name, FIRST_VALUES[str(kept.value(f"{form}:add_kind") or next(iter(FIRST_VALUES)))])
