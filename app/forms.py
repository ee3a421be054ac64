"""Makes a form from a JSON schema: inputs for every field, and JSON by hand as the way out."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import lru_cache

import streamlit as st
from pydantic import JsonValue

from app.form_fields import FieldDrawer, Place, problem_line
from app.form_raw import Raw, blank, fill
from app.form_read import FieldProblem, Path, Reading, read
from app.form_schema import Field, parse_schema
from app.form_state import collect
from app.jsontext import JsonTextError, parse_json, write_json
from app.kept import Kept
from simulator.environment.schemas import Problem, check
from simulator.facts import Value
from simulator.jsonvalue import JsonObject


class FormResult(Value):
    """What a form says.

    `problems` are inputs that cannot be read; with any of them `value` is None and nothing should be sent.
    `misfits` say where the value breaks its schema; it can be sent all the same.
    """

    value: JsonValue
    problems: tuple[FieldProblem, ...] = ()
    misfits: tuple[Problem, ...] = ()


class SchemaForm:
    """One JSON value, edited in a form or as text; what was done in one is carried to the other.

    Args:
        kept: Keeps the inputs.
        name: The name of the text's input; the form's inputs begin with it.
        schema: What the value should look like.
        value: What is there at first; None for an empty form.
        text: The text that is there at first; by default the value's.
    """

    def __init__(
        self, kept: Kept, name: str, schema: JsonObject, value: JsonValue = None, text: str | None = None
    ) -> None:
        self.kept = kept
        self.name = name
        self.schema = schema
        self._field = _field_of(json.dumps(schema))
        self._value = value
        self._text = text

    def initial_text(self) -> str:
        """Give the text that is there at first."""
        if self._text is not None:
            return self._text
        return write_json(read(self._field, self._seed()).value)

    def reading(self) -> Reading:
        """Read the form's inputs, whether they are drawn in this run or not."""
        return read(self._field, collect(self.kept, self._form_name(), self._field, self._seed()))

    def result(self) -> FormResult:
        """Read the form's inputs, and check the value against the schema."""
        return _result(self.reading(), self.schema)

    def draw(self, *, tried: bool) -> None:
        """Draw the form; `tried` says that somebody wanted to send it, so that empty inputs are named too."""
        reading = self.reading()
        notes: Mapping[Path, Sequence[str]] = _by_path(reading.problems) if tried else {}
        place = Place(self._form_name(), (), "Kind of value" if self._field.kind == "union" else "Value")
        FieldDrawer(self.kept, notes).draw(self._field, self._seed(), place)
        if not self._field_has_inputs():
            st.caption("There is nothing to fill in.")

    def to_text(self) -> None:
        """Carry what the form says to the text."""
        text = write_json(self.reading().value)
        self.kept.put(self.name, text)
        self.kept.put(f"{self.name}:carried", text)

    def to_form(self) -> bool:
        """Carry the text to the form; False where it is no JSON, and then nothing changes."""
        text = self.kept.value(self.name, self.initial_text())
        if text == self.kept.value(f"{self.name}:carried"):
            return True
        try:
            parse_json(text)
        except JsonTextError:
            return False
        self.kept.put(f"{self.name}:carried", text)
        self.kept.put(f"{self.name}:base", text)
        self.kept.put(f"{self.name}:number", self._number() + 1)
        return True

    def _number(self) -> int:
        return int(self.kept.value(f"{self.name}:number", 0))

    def _form_name(self) -> str:
        """Each text that is carried to the form begins new inputs, because the old ones hold old values."""
        return f"form{self._number()}:{self.name}"

    def _seed(self) -> Raw:
        base = self.kept.value(f"{self.name}:base")
        if base is not None:
            return fill(self._field, parse_json(base))
        return blank(self._field) if self._value is None else fill(self._field, self._value)

    def _field_has_inputs(self) -> bool:
        return self._field.kind != "object" or bool(self._field.members) or self._field.is_open


def schema_form(
    kept: Kept, name: str, schema: JsonObject, value: JsonValue = None, *, tried: bool = False
) -> FormResult:
    """Draw a form with a switch to edit its value as JSON; give what it says.

    Args:
        kept: Keeps the inputs.
        name: The form's name among this owner's inputs.
        schema: What the value should look like.
        value: What is there at first; None for an empty form.
        tried: Somebody wanted to send the form: name every input that says nothing usable.
    """
    form = SchemaForm(kept, f"json:{name}", schema, value)
    switch = f"{name}:as"
    as_json = bool(kept.value(switch, initial=False))
    if as_json:
        key = kept.widget(form.name, form.initial_text())
        st.text_area("JSON", key=key, height="content", on_change="ignore")
        result = _from_text(kept.value(form.name, form.initial_text()), schema)
        if result.problems:
            problem_line(result.problems[0].message)
    else:
        form.draw(tried=tried)
        result = form.result()
    key = kept.widget(switch, initial=False)
    st.toggle("Edit as JSON", key=key, on_change=_switch, args=(form, kept, switch))
    return result


def _switch(form: SchemaForm, kept: Kept, switch: str) -> None:
    if kept.value(switch):
        form.to_text()
    elif not form.to_form():
        kept.put(switch, value=True)


def _from_text(text: str, schema: JsonObject) -> FormResult:
    try:
        return _result(Reading(value=parse_json(text)), schema)
    except JsonTextError as error:
        return FormResult(value=None, problems=(FieldProblem(path=(), message=str(error)),))


def _result(reading: Reading, schema: JsonObject) -> FormResult:
    if reading.problems:
        return FormResult(value=None, problems=reading.problems)
    return FormResult(value=reading.value, misfits=check(reading.value, schema))


def _by_path(problems: Sequence[FieldProblem]) -> Mapping[Path, Sequence[str]]:
    notes: dict[Path, list[str]] = defaultdict(list)
    for problem in problems:
        notes[problem.path].append(problem.message)
    return notes


@lru_cache(maxsize=256)
def _field_of(schema_text: str) -> Field:
    return parse_schema(json.loads(schema_text))
