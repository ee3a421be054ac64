"""Draws the way to add a field to an object that no schema describes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import streamlit as st
from pydantic import JsonValue

from app.forms.common_panel import place
from app.forms.field_widgets import problem_line
from app.forms.form_reading import way_in_words
from app.forms.safe_labels import literal
from app.forms.value_shapes import FIRST_VALUES, Way, name_problem
from app.forms.widget_store import KeptInputs

_OTHERS = "first fix the fields that are marked in the form"


def add_field(
    kept: KeptInputs,
    form: str,
    objects: Mapping[Way, Sequence[str]],
    on_add: Callable[[Way, str, JsonValue], bool],
) -> None:
    """Draw it.

    Args:
        kept: Keeps the inputs.
        form: The name of the form, which becomes another with each field that is added.
        objects: The names of the fields of each object that can get one, by the way to it; at least one.
        on_add: Is called with the way to an object, and the name and the first value of its new field; says whether it was added.
    """
    kinds, ways = list(FIRST_VALUES), list(objects)
    menu = st.popover("Add field", icon=":material/add:", type="tertiary", key=kept.key(f"{form}:add_menu"))
    with menu, st.form(kept.key(f"{form}:add_form"), border=False):  # Enter in the field adds it
        st.text_input("Field name", key=kept.widget(f"{form}:add_name", ""))
        with place():
            if kept.value(f"{form}:add_tried"):
                wrong = name_problem(_name(kept, form), objects[_to(kept, form, ways)])
                problem_line(wrong or _OTHERS)
        st.selectbox("Kind", kinds, key=kept.widget(f"{form}:add_kind", kinds[0]))
        if len(ways) > 1:
            key = kept.widget(f"{form}:add_where", 0)
            st.selectbox("Add to", range(len(ways)), key=key, format_func=lambda number: _words(ways[number]))
        st.form_submit_button(
            "Add",
            key=kept.key(f"{form}:add_now"),
            icon=":material/add:",
            on_click=_add,
            args=(kept, form, objects, on_add),
        )


def _name(kept: KeptInputs, form: str) -> str:
    return str(kept.value(f"{form}:add_name") or "").strip()


def _words(way: Way) -> str:
    return literal(way_in_words(way)) if way else "Top level"


def _to(kept: KeptInputs, form: str, ways: Sequence[Way]) -> Way:
    """Return the way to the object that was chosen."""
    return ways[min(int(kept.value(f"{form}:add_where") or 0), len(ways) - 1)]


def _add(
    kept: KeptInputs,
    form: str,
    objects: Mapping[Way, Sequence[str]],
    on_add: Callable[[Way, str, JsonValue], bool],
) -> None:
    name, way = _name(kept, form), _to(kept, form, list(objects))
    first = FIRST_VALUES[str(kept.value(f"{form}:add_kind") or next(iter(FIRST_VALUES)))]
    if name_problem(name, objects[way]) or not on_add(way, name, first):
        kept.put(f"{form}:add_tried", value=True)
