"""Makes a form from a JSON schema: inputs for every field, a way to add one that no schema describes, and JSON by hand as the way out."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Any

import streamlit as st
from pydantic import JsonValue

from app.forms.common_panel import place
from app.forms.field_group_widgets import ArrayField, NullableField, ObjectField, UnionField
from app.forms.field_widgets import Field, FormInputs, InputPlace, problem_line
from app.forms.form_reading import FieldProblem, FormReading, Path, way_in_words
from app.forms.form_tree import parse_schema
from app.forms.safe_labels import Badge, literal
from app.forms.typed_json import TypedJsonError, parse_json, write_json
from app.forms.value_shapes import FIRST_VALUES, Way, name_problem
from app.forms.widget_store import KeptInputs, UntouchedInputs, slug
from simulator.base.json_paths import ABSENT
from simulator.base.json_values import JsonObject, same
from simulator.environment.schema.schema_checks import Problem, check

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


UNREAD_FIELD = (
    "A field of the form cannot be read, so it is missing here. Fix it in the form, or edit the JSON."
)
_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+)\]|\['((?:[^'\\]|\\.)*)'\]")


class FormResult(FormReading):
    """What a form says; with any problems `value` is None and nothing should be sent.

    `misfits` say where the value breaks its schema; it can be sent all the same.
    """

    misfits: tuple[Problem, ...] = ()


def form_reading(kept: KeptInputs, field: Field, seed: Any, name: str = "") -> FormReading:
    """Read the inputs of a form that begins with a value, or with `ABSENT`."""
    form = FormInputs(kept)
    value = form.read(field, seed, InputPlace(name, ()))
    return FormReading(value=None if value is ABSENT else value, problems=tuple(form.problems))


def _most_columns(field: Field, value: JsonValue) -> int:
    if isinstance(field, NullableField):
        return _most_columns(field.inner, value)
    if isinstance(field, ObjectField) and isinstance(value, dict):
        inner = (_most_columns(member.field, value.get(member.name)) for member in field.members)
        return max(inner, default=0)
    item = field.item if isinstance(field, ArrayField) else None
    if not isinstance(item, ObjectField) or item.others is None or not isinstance(value, list):
        return 0
    named = {name for row in value if isinstance(row, dict) for name in row}
    return len(named.union(member.name for member in item.members))


class SchemaForm:
    """One JSON value, edited in a form or as text; what was done in one is carried to the other.

    Args:
        kept: Keeps the inputs.
        name: The name of the text's input; the form's inputs begin with it.
        schema: What the value should look like.
        value: What is there at first; None for an empty form.
        text: The text that is there at first; by default the value's.
        tables: Flat lists of records are tables.
    """

    def __init__(
        self,
        kept: KeptInputs,
        name: str,
        schema: JsonObject,
        value: JsonValue = None,
        text: str | None = None,
        *,
        tables: bool = False,
    ) -> None:
        self.kept = kept
        self.name = name
        self.schema = schema
        self._field = _field_of(json.dumps(schema), tables=tables)
        self._value = value
        self._text = text

    def initial_text(self) -> str:
        """Return the text that is there at first."""
        if self._text is not None:
            return self._text
        return write_json(self._at_first(ABSENT if self._value is None else self._value).value)

    def reading(self) -> FormReading:
        """Read the form's inputs, whether they are drawn in this run or not."""
        return form_reading(self.kept, self._field, self._seed(), self.input_name)

    def touched(self, now: FormReading) -> frozenset[str]:
        """Return the names of the fields whose inputs hold something else than at first, also what says nothing usable."""
        first = self._at_first(self._seed())
        wrong = {str(problem.path[0]) for problem in {*now.problems} ^ {*first.problems} if problem.path}
        if not (isinstance(now.value, dict) and isinstance(first.value, dict)):
            return frozenset()
        said, before = now.value, first.value
        return frozenset(wrong).union(
            name
            for name in {**said, **before}
            if write_json(said.get(name)) != write_json(before.get(name))
            or (name in said) != (name in before)
        )

    def _at_first(self, seed: Any) -> FormReading:
        return form_reading(UntouchedInputs(), self._field, seed)

    def result(self) -> FormResult:
        """Read the form's inputs, and check the value against the schema."""
        return form_result(self.reading(), self.schema)

    def draw(
        self,
        *,
        tried: bool,
        misfits: Sequence[Problem] = (),
        live: bool = False,
        marks: Mapping[Path, Badge] = MappingProxyType({}),
        on_remove: Callable[[Path], None] | None = None,
        reading: FormReading | None = None,
    ) -> None:
        """Draw the form.

        Args:
            tried: Somebody wanted to send it, so that empty inputs are named too; so they are beside a text that was filled in from
                here, but for those of a row that was just added. What was typed and cannot be read is always named.
            misfits: Where the value breaks its schema: each is said at its field.
            live: Draw the page anew with each input that is left.
            marks: Where the value of a field comes from.
            on_remove: Is called with the way to a field that is to be removed; without it none can be.
            reading: What the inputs say, where that was read already.
        """
        problems = (reading or self.reading()).problems
        wrong = [one for one in problems if tried or not (one.is_new if self.is_last else one.is_missing)]
        notes = _by_path(wrong, misfits)
        label = "Kind of value" if isinstance(self._field, UnionField) else "Value"
        form = FormInputs(self.kept, notes, live=live, marks=marks, on_remove=on_remove)
        form.draw(self._field, self._seed(), InputPlace(self.input_name, (), label))
        field = self._field
        if isinstance(field, ObjectField) and not field.members and field.others is None:
            st.caption("No fields to fill in.")

    @property
    def most_columns(self) -> int:
        """How many columns the widest table has."""
        return _most_columns(self._field, self.reading().value)

    @property
    def is_being_added(self) -> bool:
        """Whether all that cannot be read is in rows that were just added."""
        problems = self.reading().problems
        return bool(problems) and all(one.is_new for one in problems)

    @property
    def is_last(self) -> bool:
        """Whether what stands in the text was filled into the form, and not typed."""
        return bool(self.kept.value(f"{self.name}:by_form", initial=False))

    @property
    def shows_text(self) -> bool:
        """Whether the form shows what the text says, and not what it said when it last was JSON."""
        return bool(self.kept.value(self.name, self.initial_text()) == self._agreed())

    def sync(self) -> str | None:
        """Let the text and the form say the same: what was changed in one since they last did is carried to the other.

        Call it before either is drawn. A text that is no JSON stays as it is, until the form is changed.

        Returns:
            The text that was given up for the form's value because it was no JSON; None where nothing was.
        """
        text, agreed = self.kept.value(self.name, self.initial_text()), self._agreed()
        if agreed is None:
            self._take(text if _is_json(text) else self.initial_text())
            return None
        if text != agreed and _is_json(text):
            self._take(text)
            return None
        before, found = parse_json(agreed), self.reading()
        if same(found.value, before):
            if text == agreed and found.problems not in {(), self._at_first(before).problems}:
                self.kept.put(f"{self.name}:by_form", value=True)  # what was typed there cannot be read
            return None
        new = write_json(found.value)
        for name, value in (("", new), (":both", new), (":by_form", True)):
            self.kept.put(f"{self.name}{name}", value)
        return text if text != agreed else None

    def _take(self, text: str) -> None:
        """Show a text's value in the form."""
        self.begin(text)
        self.kept.put(f"{self.name}:both", text)
        self.kept.put(f"{self.name}:by_form", value=False)

    def _agreed(self) -> str | None:
        agreed: str | None = self.kept.value(f"{self.name}:both")
        return agreed

    def to_text(self) -> None:
        """Carry what the form says to the text."""
        text = write_json(self.reading().value)
        self.kept.put(self.name, text)
        self.kept.put(f"{self.name}:carried", text)

    def result_of_text(self) -> FormResult:
        """Read the text; what the form could not carry to it is a problem until the text is changed."""
        text = self.kept.value(self.name, self.initial_text())
        if text == self.kept.value(f"{self.name}:carried") and not self.is_filled():
            return FormResult(value=None, problems=(FieldProblem(path=(), message=UNREAD_FIELD),))
        return text_result(text, self.schema)

    def to_form(self) -> bool:
        """Carry the text to the form; False where it is no JSON, and then nothing changes."""
        text = self.kept.value(self.name, self.initial_text())
        if text == self.kept.value(f"{self.name}:carried"):
            return True
        try:
            parse_json(text)
        except TypedJsonError:
            return False
        self.kept.put(f"{self.name}:carried", text)
        self.begin(text)
        return True

    def begin(self, text: str) -> None:
        """Let the inputs begin anew with the value of a text that is JSON; only before they are drawn, or in a callback."""
        self.kept.put(f"{self.name}:base", text)
        self.kept.renew(self.input_name, f"json:{self.input_name}")

    def is_filled(self, but: Path | None = None) -> bool:
        """Return whether each input says something usable, those at or below the way `but` aside."""
        problems = self.reading().problems
        return all(but is not None and problem.path[: len(but)] == but for problem in problems)

    @property
    def input_name(self) -> str:
        """What the inputs' names begin with; the number is of earlier versions, whose unsent texts may be there."""
        return f"form{int(self.kept.value(f'{self.name}:number', 0))}:{self.name}"

    def _seed(self) -> Any:
        """Return the value that the inputs begin with; `ABSENT` where there is none."""
        base = self.kept.value(f"{self.name}:base")
        if base is not None:
            return parse_json(base)
        return ABSENT if self._value is None else self._value


def schema_form(
    kept: KeptInputs,
    name: str,
    schema: JsonObject,
    value: JsonValue = None,
    *,
    tried: bool = False,
    marks: Callable[[JsonValue, Collection[str]], Mapping[Path, Badge]] | None = None,
) -> FormResult:
    """Draw a form with a switch to edit its value as JSON; return what it says.

    Args:
        kept: Keeps the inputs.
        name: The form's name among this owner's inputs.
        schema: What the value should look like.
        value: What is there at first; None for an empty form.
        tried: Somebody wanted to send the form: name every input that says nothing usable.
        marks: Says of the form's value, and the names of the fields that were changed, where each field's comes from. The page is then drawn anew with each input that is left.
    """
    form = SchemaForm(kept, f"json:{name}", schema, value)
    switch = f"{name}:as"
    as_json = bool(kept.value(switch, initial=False))
    if as_json:
        result = form.result_of_text()
        with st.container(key=f"json_line_{slug(name)}"):
            if result.problems:
                problem_line(result.problems[0].message)
        key = kept.widget(form.name, form.initial_text())
        st.text_area("JSON", key=key, height="content", on_change="ignore")
    else:
        reading = form.reading()
        with place():
            shown = marks(reading.value, form.touched(reading)) if marks else {}
            form.draw(tried=tried, live=marks is not None, marks=shown, reading=reading)
        result = form_result(reading, schema)
    key = kept.widget(switch, initial=False)
    st.toggle("Edit as JSON", key=key, on_change=_switch, args=(form, kept, switch))
    return result


def _switch(form: SchemaForm, kept: KeptInputs, switch: str) -> None:
    if kept.value(switch):
        form.to_text()
    elif not form.to_form():
        kept.put(switch, value=True)


def text_result(text: str, schema: JsonObject) -> FormResult:
    """Read a text as JSON, and check the value against the schema."""
    try:
        return form_result(FormReading(value=parse_json(text)), schema)
    except TypedJsonError as error:
        return FormResult(value=None, problems=(FieldProblem(path=(), message=str(error)),))


def form_result(reading: FormReading, schema: JsonObject) -> FormResult:
    """Check what a form says against the schema."""
    if reading.problems:
        return FormResult(value=None, problems=reading.problems)
    return FormResult(value=reading.value, misfits=check(reading.value, schema))


def _by_path(problems: Sequence[FieldProblem], misfits: Sequence[Problem]) -> Mapping[Path, Sequence[str]]:
    notes: dict[Path, list[str]] = defaultdict(list)
    for problem in problems:
        notes[problem.path].append(problem.message)
    for misfit in misfits:
        notes[path_of(misfit.path)].append(misfit.message)
    return notes


def path_of(place: str) -> Path:
    """Read a place as schema problems name it: `$.items[0].price`, or `$['a b']`."""
    return tuple(
        int(index) if index else (name or quoted).replace("\\'", "'")
        for name, index, quoted in _STEP.findall(place)
    )


def _is_json(text: str) -> bool:
    try:
        parse_json(text)
    except TypedJsonError:
        return False
    return True


@lru_cache(maxsize=256)
def _field_of(schema_text: str, *, tables: bool) -> Field:
    return parse_schema(json.loads(schema_text), tables=tables)
