"""Draws one JSON value to read, and edits it: named values and tables, a form of its fields, for people who read no JSON. JSON is one click away."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st
from pydantic import JsonValue

from app.forms.common_panel import place
from app.forms.form_reading import FormReading, Path
from app.forms.record_tables import columns_of, table_places
from app.forms.safe_labels import Badge, literal, safe_label
from app.forms.schema_form_widgets import FormResult, SchemaForm, add_field, form_result, text_result
from app.forms.shown_values import ShownField, ShownTable, shown_parts
from app.forms.typed_json import TypedJsonError, parse_json, show_json, write_json
from app.forms.value_shapes import (
    Way,
    as_before,
    objects_in,
    shape_of,
    why_only_json,
    with_field,
    without_field,
)
from app.forms.widget_store import KeptInputs
from simulator.base.json_values import JsonObject, canonical, digest

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


_HEIGHT = 260


class ValueEditor:
    """One value in a form or as JSON. What the form does not change comes back as it was, in the same order and of the same types.

    Args:
        kept: Keeps the inputs.
        name: The name of the JSON's input; the form's inputs begin with it.
        value: What is there at first.
        schema: What the value should look like, where that is declared; else the form is made of the value.
        label: What the value is.
        only_json: There is no form, for a value that no one fills in field by field.
        is_blank: Nothing is there yet, so that no field of the form has a value at first.

    Attributes:
        marks: Where the value of a field of the form comes from.
    """

    def __init__(
        self,
        kept: KeptInputs,
        name: str,
        value: JsonValue,
        schema: JsonObject | None = None,
        label: str = "JSON",
        *,
        only_json: bool = False,
        is_blank: bool = False,
    ) -> None:
        self._kept, self._name, self._label, self._only_json = kept, name, label, only_json
        self._schema = schema if schema and schema.get("properties") else None
        self._first, self._is_blank = value, is_blank
        self._switch = f"{name}_as_json"
        self.marks: Mapping[Path, Badge] = {}

    # ------------------------------------------------------------ reading

    def result(self) -> FormResult:
        """Return the value as the inputs say it, drawn in this run or not."""
        return self._of_text() if self.is_json else self._of_form()

    @property
    def is_json(self) -> bool:
        """Whether the value is edited as JSON."""
        return self._only_json or bool(self._why() or self._kept.value(self._switch, initial=False))

    @property
    def error(self) -> str:
        """What is wrong with the JSON, and where, in a sentence; empty where nothing is, or where there is a form."""
        try:
            if self.is_json:
                parse_json(self._text())
        except TypedJsonError as error:
            return f"Invalid JSON on line {error.line}, column {error.column}: {error.message}."
        return ""

    def _base(self) -> JsonValue:
        """Return the value that the form's inputs began with."""
        text = self._kept.value(f"{self._name}:base")
        return self._first if text is None else parse_json(text)

    def _why(self) -> str:
        """Say why this value has no form; empty where it has one."""
        base = self._base()
        if isinstance(base, dict) and (self._schema is not None or not base):
            return ""
        return "" if columns_of(base) else why_only_json(base)

    def _text(self) -> str:
        return str(self._kept.value(self._name, write_json(self._base())) or "")

    def _of_text(self) -> FormResult:
        return text_result(self._text(), self._schema or {})

    def _of_form(self) -> FormResult:
        return form_result(self._reading(), self._schema or {})

    def _reading(self) -> FormReading:
        found = self._form().reading()
        return FormReading(value=as_before(found.value, self._base()), problems=found.problems)

    # ------------------------------------------------------------ the parts

    def _form_name(self) -> str:
        """Each JSON that is carried to the form begins new inputs, because the old ones hold old values."""
        known = f":{digest(canonical(self._schema))[:6]}" if self._schema is not None else ""
        return f"{self._name}:{self._kept.value(f'{self._name}:number', 0)}{known}"

    def _form(self) -> SchemaForm:
        base = self._base()
        schema = shape_of(base) if self._schema is None else self._schema
        is_blank = self._is_blank and self._kept.value(f"{self._name}:base") is None
        return SchemaForm(self._kept, self._form_name(), schema, None if is_blank else base, tables=True)

    # ------------------------------------------------------------ drawing

    def draw(self, *, tried: bool) -> FormResult:
        """Draw the editor; return what it says.

        Args:
            tried: Somebody wanted to use the value, so that each input is named that says nothing usable.
        """
        has_form = not (self._only_json or self._why())
        with place():
            if self.error:
                st.error(self.error, icon=":material/error:")
            elif not (has_form or self._only_json):
                st.caption(self._why())
        with place():
            if self.is_json:
                self._draw_text()
            else:
                self._draw_form(tried=tried)
        if has_form:
            key = self._kept.widget(self._switch, initial=False)
            st.toggle("Edit as JSON", key=key, on_change=self._carry)
        return self.result()

    def _draw_text(self) -> None:
        key = self._kept.widget(self._name, self._text())
        st.text_area(self._label, key=key, height=_HEIGHT, on_change="ignore")

    def _draw_form(self, *, tried: bool) -> None:
        base, is_free = self._base(), self._schema is None
        if base or not is_free:
            tried = tried or bool(self._kept.value(f"{self._form_name()}:tried"))
            on_remove = self._remove_field if is_free else None
            misfits = self._of_form().misfits
            self._form().draw(tried=tried, misfits=misfits, marks=self.marks, on_remove=on_remove)
        if is_free and (objects := objects_in(base, [*table_places(base)])):
            if not base:
                st.caption("No fields yet.")
            add_field(self._kept, self._form_name(), objects, self._add_field)

    def _add_field(self, way: Way, name: str, first: JsonValue) -> bool:
        """Add a field to an object; where an input says nothing usable, that is marked first. Return whether it was added."""
        if not self._is_filled(None):
            return False
        self.begin(with_field(self._reading().value, way, name, first))
        return True

    def _remove_field(self, way: Way) -> None:
        """Remove a field, or a table; an input elsewhere that says nothing usable is marked first."""
        if self._is_filled(way):
            self.begin(without_field(self._reading().value, way))

    def _is_filled(self, but: Way | None) -> bool:
        if self._form().is_filled(but):
            return True
        self._kept.put(f"{self._form_name()}:tried", value=True)
        return False

    def begin(self, value: JsonValue) -> None:
        """Begin new inputs, which hold a value; only before they are drawn, or in a callback."""
        self._kept.put(f"{self._name}:base", write_json(value))
        self._kept.put(f"{self._name}:number", int(self._kept.value(f"{self._name}:number", 0)) + 1)

    def _carry(self) -> None:
        """Carry the value to the other way of editing it; where it cannot be read, nothing changes."""
        wants_json = bool(self._kept.value(self._switch))
        result = self._of_form() if wants_json else self._of_text()
        if result.problems:
            self._kept.put(self._switch, not wants_json)
            return
        if wants_json:
            self._kept.put(self._name, write_json(result.value))
        self.begin(result.value)
