"""Draws the inputs of a form, one kind of field after the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from types import MappingProxyType
from typing import Literal, TypedDict, assert_never

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app.forms.common_panel import badge
from app.forms.common_panel import place as _place
from app.forms.form_raw import (
    NO_FIELDS,
    Raw,
    RawArray,
    RawChoice,
    RawConst,
    RawFlag,
    RawJson,
    RawMember,
    RawNullable,
    RawObject,
    RawText,
    RawUnion,
    is_format,
)
from app.forms.form_reading import Path, name_in
from app.forms.form_state import (
    AS_TEXT,
    BY_PAGE,
    collect,
    column_kinds,
    member_name,
    read_open,
    row_seed,
    rows_of,
    table_columns,
    value_field,
)
from app.forms.form_tree import (
    ANY_FIELDS,
    ArrayField,
    ChoiceField,
    ConstField,
    Field,
    FormMember,
    JsonField,
    NullableField,
    NumberField,
    ObjectField,
    TextField,
    UnionField,
)
from app.forms.safe_labels import Badge, literal, safe_label
from app.forms.typed_in_language import example_date, in_words, number_in_words, read_amount
from app.forms.typed_json import parse_number, reads_as, show_json
from app.forms.value_shapes import name_problem
from app.forms.widget_store import KeptInputs, slug

LONG = 60
"""A longer text gets an input of several lines."""
_HELP = 300
_FIRST_DAY, _LAST_DAY = date(1900, 1, 1), date(2100, 12, 31)
"""What a calendar shows; other dates are typed."""
_END = 0.25
"""How wide the end of a table's row is, which removes it, beside a cell."""
_SIMPLE = (RawText, RawFlag, RawChoice, RawConst)


@dataclass(frozen=True)
class InputPlace:
    """The place of an input: its name, its way from the form's value, its label, and whether that is shown.

    Where `by_words` is set, a truth value is chosen by the words `true` and `false`: a switch is near that is no value. `kind` is what
    the other cells of its column are.
    """

    name: str
    path: Path
    label: str
    shows_label: bool = True
    by_words: bool = False
    kind: str = ""


class _Named(TypedDict):
    label: str
    help: str | None
    label_visibility: Literal["visible", "collapsed"]


class FieldDrawer:
    """Draws the fields of one form; `notes` are the problems by the way to their field.

    Where it is `live`, the page is drawn anew with each input that is left; else with the next click. `marks` say of a field where
    its value comes from. `on_remove` is called with the way to a field that is to be removed; without it none can be.
    """

    def __init__(
        self,
        kept: KeptInputs,
        notes: Mapping[Path, Sequence[str]],
        *,
        live: bool = False,
        marks: Mapping[Path, Badge] = MappingProxyType({}),
        on_remove: Callable[[Path], None] | None = None,
    ) -> None:
        self._kept, self._on_remove = kept, on_remove
        self._notes = notes
        self._marks = marks
        self._on_change: Literal["rerun", "ignore"] = "rerun" if live else "ignore"

    def draw(self, field: Field, seed: Raw, place: InputPlace) -> None:
        """Draw a field, which at first shows `seed`, and what is wrong with it."""
        self._input(field, seed, place)
        if place.path in self._marks:
            badge(self._marks[place.path])
        self._problems(place.path)

    def _problems(self, path: Path) -> None:
        for note in self._notes.get(path, ()):
            problem_line(note)

    def _input(self, field: Field, seed: Raw, place: InputPlace) -> None:
        match seed:
            case RawText() | RawFlag() | RawChoice() | RawConst():
                self._simple(field, seed, place)
            case RawJson():
                self._json(f"json:{place.name}", seed, place, field)
            case RawNullable():
                self._nullable(field, seed, place)
            case RawUnion():
                self._union(field, seed, place)
            case RawArray():
                self._array(field, seed, place)
            case RawObject():
                self._object(field, seed, place)
            case _:
                assert_never(seed)

    def _simple(
        self, field: Field, seed: RawText | RawFlag | RawChoice | RawConst, place: InputPlace
    ) -> None:
        match seed:
            case RawText():
                self._text(field, seed.text, place)
            case RawFlag():
                self._flag(field, seed, place)
            case RawChoice():
                self._choice(field, seed.index, place)
            case RawConst():
                value = field.value if isinstance(field, ConstField) else None
                key = self._kept.key(place.name)
                st.text_input(**_named(field, place), value=show_json(value), key=key, disabled=True)
            case _:
                assert_never(seed)

    def _flag(self, field: Field, seed: RawFlag, place: InputPlace) -> None:
        """Draw a truth value: as a switch beside its name, and where another switch is near, by its two words."""
        key = self._kept.widget(place.name, seed.on)
        if place.shows_label and not place.by_words:
            st.toggle(**_named(field, place), key=key, on_change=self._on_change)
        else:
            st.radio(
                **_named(field, place),
                options=(True, False),
                format_func=lambda on: "true" if on else "false",
                horizontal=True,
                key=key,
                on_change=self._on_change,
            )

    def _text(self, field: Field, text: str, place: InputPlace) -> None:
        named = _named(field, place)
        if isinstance(field, TextField) and field.format != "plain":
            self._time(field, text, place)
        elif isinstance(field, TextField) and field.suggestions and not is_long(text):
            self._suggested(field, text, place)
        elif (isinstance(field, TextField) and field.is_long) or is_long(text):
            st.text_area(**named, key=self._kept.widget(place.name, text), on_change=self._on_change)
        else:
            key = self._kept.widget(place.name, text, str)
            st.text_input(**named, key=key, on_change=self._on_change)
            if isinstance(field, NumberField):
                self._understood(field, text, place.name)

    def _understood(self, field: NumberField, text: str, name: str) -> None:
        """Say what a number is that was typed as the browser's language writes it."""
        held = self._held(field, text, name)
        with _place("xxsmall"):
            if held.text != str(self._kept.value(name, text) or ""):
                st.caption(number_in_words(held.text))

    def _time(self, field: TextField, text: str, place: InputPlace) -> None:
        """Draw a date or a time, and below it in words what was read. It is read and written as JSON does once it is left."""
        example = example_date(self._kept.language)
        line = self._line(f"{place.name}:date") if place.shows_label else st.container(horizontal=True)
        with line:
            st.text_input(
                **_named(field, place),
                key=self._kept.widget(place.name, text),
                on_change=self._settle,
                args=(field, text, place.name),
                placeholder=example if field.format == "date" else f"{example} 09:30",
            )
            held = self._held(field, text, place.name)
            if field.format == "date":
                self._calendar(field, held, place)
        with _place("xxsmall"):
            if not held.unread and (words := in_words(held.text)):
                st.caption(words)

    def _calendar(self, field: TextField, held: RawText, place: InputPlace) -> None:
        """Draw the calendar of a date, which fills its input; it shows the date that was typed."""
        key, is_date = self._kept.key(f"{place.name}:calendar"), is_format(field, held.text)
        day = date.fromisoformat(held.text) if is_date and not held.unread else None
        st.session_state[key] = day if day is not None and _FIRST_DAY <= day <= _LAST_DAY else None

        def take() -> None:
            if (chosen := st.session_state[key]) is not None:
                self._write_date(place.name, chosen.isoformat())

        with st.popover(
            ":material/calendar_month:",
            type="tertiary",
            help="Open a calendar",
            key=self._kept.key(f"{place.name}:calendar_menu"),
        ):
            st.date_input("Date", key=key, min_value=_FIRST_DAY, max_value=_LAST_DAY, on_change=take)

    def _held(self, field: TextField | NumberField, text: str, name: str) -> RawText:
        held = collect(self._kept, name, field, RawText(text=text))
        return held if isinstance(held, RawText) else RawText(text=text)

    def _settle(self, field: TextField, text: str, name: str) -> None:
        """Write a date as JSON does, so that no one reads it in another language as another one."""
        held = self._held(field, text, name)
        if not held.unread:
            self._write_date(name, held.text)

    def _write_date(self, name: str, text: str) -> None:
        self._kept.put(name, text)
        self._kept.put(f"{name}{BY_PAGE}", text)

    def _suggested(self, field: TextField, text: str, place: InputPlace) -> None:
        now = str(self._kept.value(place.name, text) or "")
        options = field.suggestions if now in field.suggestions or not now else (now, *field.suggestions)
        st.selectbox(
            **_named(field, place),
            options=options,
            index=None,
            format_func=literal,
            key=self._kept.widget(place.name, text or None),
            on_change=self._on_change,
            accept_new_options=True,
            placeholder="Choose or type a value",
        )

    def _choice(self, field: Field, index: int | None, place: InputPlace) -> None:
        options = field.options if isinstance(field, ChoiceField) else ()
        st.selectbox(
            **_named(field, place),
            options=range(len(options)),
            index=None,
            format_func=lambda at: (
                literal(option) if isinstance(option := options[at], str) else show_json(option)
            ),
            key=self._kept.widget(place.name, index),
            on_change=self._on_change,
            placeholder="Choose a value",
        )

    def _json(self, name: str, seed: RawJson, place: InputPlace, field: Field | None) -> None:
        shown: Literal["visible", "collapsed"] = "visible" if place.shows_label else "collapsed"
        key, about = self._kept.widget(name, seed.text), _help(field) if field else None
        if isinstance(field, JsonField) and field.is_open and not is_long(seed.text):
            st.text_input(
                place.label,
                help=about,
                label_visibility=shown,
                key=key,
                on_change="rerun",
                placeholder="Text, number or JSON",
            )
            with _place():
                read = collect(self._kept, place.name, field, seed)
                if isinstance(read, RawJson):
                    self._kind(read, name, place.kind)
        else:
            st.text_area(
                f"{place.label} (JSON)",
                help=about,
                label_visibility=shown,
                key=key,
                height="content",
                on_change=self._on_change,
            )

    def _kind(self, read: RawJson, name: str, column: str) -> None:
        """Say what words are that could be something else, with the way to make them that; `column` is what its other cells are."""
        language, typed = self._kept.language, str(self._kept.value(name, read.text))
        if read.is_free:
            read = read_open(read.text, language, column, is_free=True)
        if read.unread:
            problem_line(f"Kept as text: {read.unread}.")
        kind = reads_as(read.text, is_text=read.is_text)
        number = parse_number(read_amount(read.text, language).text)
        looks = "number" if number is not None else "" if read.unread else reads_as(read.text)
        ways = [
            way
            for way in ("text", looks)
            if kind and way and (way != kind or (read.unread and way == "text"))
        ]
        if ways:
            with st.container(horizontal=True, gap="xsmall", vertical_alignment="center"):
                more = "" if typed == read.text else f": {number_in_words(read.text)}"
                st.caption(f"{kind.capitalize()}{more}", width="content")
                for way in ways:
                    st.button(
                        f"Use as {way}",
                        key=self._kept.key(f"{name}:use_as_{way.split()[0]}"),
                        type="tertiary",
                        on_click=self._kept.put,
                        args=(f"{name}{AS_TEXT}", way == "text"),
                    )

    def _nullable(self, field: Field, seed: RawNullable, place: InputPlace) -> None:
        inner = field.inner if isinstance(field, NullableField) else field
        name = f"{place.name}:null"
        is_null = bool(self._kept.value(name, seed.is_null))
        with st.container(horizontal=isinstance(seed.raw, _SIMPLE), vertical_alignment="bottom"):
            if is_null:
                key = self._kept.key(f"{place.name}:nothing")
                st.text_input(**_named(field, place), value="null", key=key, disabled=True)
            else:
                with st.container():
                    self._input(inner, seed.raw, place)
            st.checkbox("null", key=self._kept.widget(name, seed.is_null))

    def _union(self, field: Field, seed: RawUnion, place: InputPlace) -> None:
        variants = field.variants if isinstance(field, UnionField) else ()
        name = f"{place.name}:kind"
        chosen = int(self._kept.value(name, seed.chosen) or 0)
        with st.container(border=True):
            st.selectbox(
                **_named(field, place),
                options=range(len(variants)),
                format_func=lambda at: literal(variants[at].title) or f"{at + 1}: {variants[at].kind}",
                key=self._kept.widget(name, seed.chosen),
            )
            inside = InputPlace(f"{place.name}:v{chosen}", place.path, place.label, shows_label=False)
            self._input(variants[chosen], seed.variants[chosen], inside)

    def _array(self, field: Field, seed: RawArray, place: InputPlace) -> None:
        rows = rows_of(self._kept, place.name, seed)
        held = collect(self._kept, place.name, field, seed)
        columns = table_columns(field, held)
        with st.container(border=True, gap="small"):
            self._heading(field, place, f"{len(rows)}")
            if columns is None:
                self._rows(field, seed, place, rows)
            else:
                self._table(field, seed, place, {name: column_kinds(held).get(name, "") for name in columns})
            with st.container(horizontal=True, gap="xsmall"):
                st.button(
                    "Add row",
                    key=self._kept.key(f"{place.name}:add"),
                    icon=":material/add:",
                    on_click=self._add_like_above,
                    args=(field, seed, place.name),
                )
                if columns is not None:
                    self._column_menu(field, seed, place.name, columns)

    def _rows(self, field: Field, seed: RawArray, place: InputPlace, rows: list[int]) -> None:
        """Draw each row with its inputs below each other."""
        item = field.item if isinstance(field, ArrayField) else field
        for at, row in enumerate(rows):
            inside = InputPlace(
                f"{place.name}:{row}", (*place.path, at), f"{place.label} {at + 1}", shows_label=False
            )
            held = row_seed(field, seed, row)
            with st.container(horizontal=True, vertical_alignment="top"):
                with st.container(border=isinstance(held, RawObject)):
                    self.draw(item, held, inside)
                self._remove_button("row", place.name, rows, row)

    def _table(self, field: Field, seed: RawArray, place: InputPlace, columns: Mapping[str, str]) -> None:
        """Draw a row of cells for each object of a list; `columns` have what their cells are, where no schema says it."""
        rows, widths = rows_of(self._kept, place.name, seed), [*[1.0] * len(columns), _END]
        if not columns:
            st.caption("No columns yet.")
            for at, row in enumerate(rows):
                with st.container(horizontal=True, gap="xsmall", vertical_alignment="center"):
                    st.caption(f"Row {at + 1}", width="content")
                    self._remove_button("row", place.name, rows, row)
            return
        with st.container(key=self._kept.key(f"open_table:{place.name}"), gap="xsmall"):
            for name, cell in zip(columns, st.columns(widths, gap="xsmall"), strict=False):
                with cell.container(horizontal=True, gap="xsmall", wrap=False, vertical_alignment="center"):
                    self._column_head(field, seed, place.name, name)
            for at, row in enumerate(rows):
                held, path = row_seed(field, seed, row), (*place.path, at)
                *cells, end = st.columns(widths, gap="xsmall")
                for (name, kind), cell in zip(columns.items(), cells, strict=True):
                    label = f"{safe_label(name)} {at + 1}"
                    inside = InputPlace(f"{place.name}:{row}", path, label, shows_label=False, kind=kind)
                    with cell:
                        self._cell(field, held, name, inside)
                with end:
                    self._remove_button("row", place.name, rows, row)
                self._problems(path)

    def _column_head(self, field: Field, seed: RawArray, array: str, name: str) -> None:
        """Draw a column's name, and the way to remove one that is not declared."""
        st.text(literal(name))
        item = field.item if isinstance(field, ArrayField) else field
        if isinstance(item, ObjectField) and name in {member.name for member in item.members}:
            return
        st.button(
            ":material/close:",
            key=self._kept.key(f"{array}:drop:{slug(name)}"),
            type="tertiary",
            help=f"Remove column {safe_label(name)}",
            on_click=self._drop_column,
            args=(field, seed, array, name),
        )

    def _cell(self, field: Field, held: Raw, name: str, row: InputPlace) -> None:
        """Draw the input of one column in a row; where the row has no such field, the way to add it."""
        item = field.item if isinstance(field, ArrayField) else field
        if not (isinstance(item, ObjectField) and isinstance(held, RawObject)):
            return
        path = (*row.path, name)
        for member, seed in zip(item.members, held.members, strict=True):
            if member.name == name:
                place = replace(row, name=member_name(row.name, name), path=path)
                is_sure = member.required and seed.given
                self.draw(member.field, seed.raw, place) if is_sure else self._optional(member, seed, place)
                return
        others, rows = f"{row.name}:others", item.others or ANY_FIELDS
        for number, cell in self._others_of(rows, held.others, others):
            if name_in(collect(self._kept, f"{others}:{number}", rows.item, cell)) == name:
                value = member_name(f"{others}:{number}", "value")
                if isinstance(cell, RawObject):
                    self.draw(value_field(rows), cell.members[1].raw, replace(row, name=value, path=path))
                return
        st.button(
            ":material/add:",
            key=self._kept.key(f"{others}:add:{slug(name)}"),
            type="tertiary",
            help=f"Add {safe_label(name)} to this row",
            on_click=self._add_named,
            args=(held.others, others, name),
        )

    def _others_of(self, field: ArrayField, seed: Raw, array: str) -> list[tuple[int, Raw]]:
        """Return the fields of an object that no schema names, each with its number and what it holds at first."""
        rows = seed if isinstance(seed, RawArray) else NO_FIELDS
        return [(row, row_seed(field, rows, row)) for row in rows_of(self._kept, array, rows)]

    def _column_menu(self, field: Field, seed: RawArray, array: str, columns: Sequence[str]) -> None:
        """Draw the way to add a column; the menu closes when it has one more."""
        name, tried = f"{array}:column", f"{array}:column_tried"
        menu = st.popover(
            "Add column",
            icon=":material/add:",
            type="tertiary",
            key=self._kept.key(f"{array}:column_menu{len(columns)}"),
        )
        with (
            menu,
            st.form(self._kept.key(f"{array}:column_form"), border=False),
        ):  # Enter in the field adds it
            st.text_input("Column name", key=self._kept.widget(name, ""))
            with _place():
                wrong = name_problem(str(self._kept.value(name) or ""), columns)
                if wrong and self._kept.value(tried):
                    problem_line(wrong)
            st.form_submit_button(
                "Add column",
                key=self._kept.key(f"{array}:column_add"),
                icon=":material/add:",
                on_click=self._add_column,
                args=(field, seed, array, columns),
            )

    def _add_column(self, field: Field, seed: RawArray, array: str, columns: Sequence[str]) -> None:
        name = str(self._kept.value(f"{array}:column") or "").strip()
        wrong = bool(name_problem(name, columns))
        self._kept.put(f"{array}:column_tried", wrong)
        if wrong:
            return
        self._kept.put(f"{array}:column", "")
        if not rows_of(self._kept, array, seed):
            self._add_row(seed, array)
        for row in rows_of(self._kept, array, seed):
            held = row_seed(field, seed, row)
            others = held.others if isinstance(held, RawObject) else NO_FIELDS
            self._add_named(others, f"{array}:{row}:others", name)

    def _drop_column(self, field: Field, seed: RawArray, array: str, name: str) -> None:
        item = field.item if isinstance(field, ArrayField) else field
        rows = (item.others if isinstance(item, ObjectField) else None) or ANY_FIELDS
        for row in rows_of(self._kept, array, seed):
            held, others = row_seed(field, seed, row), f"{array}:{row}:others"
            cells = self._others_of(rows, held.others if isinstance(held, RawObject) else NO_FIELDS, others)
            named = {
                number: name_in(collect(self._kept, f"{others}:{number}", rows.item, cell))
                for number, cell in cells
            }
            self._kept.put(f"{others}:rows", [number for number, known in named.items() if known != name])

    def _add_named(self, seed: Raw, others: str, name: str) -> None:
        """Add a field with a name to an object, whose further fields were `seed` at first."""
        rows = seed if isinstance(seed, RawArray) else NO_FIELDS
        row = self._next(rows, others)
        self._add_row(rows, others)
        self._kept.put(member_name(f"{others}:{row}", "name"), name)

    def _remove_button(self, what: str, array: str, rows: list[int], row: int) -> None:
        st.button(
            ":material/close:",
            key=self._kept.key(f"{array}:{row}:remove"),
            type="tertiary",
            help=f"Remove this {what}",
            on_click=self._kept.put,
            args=(f"{array}:rows", [other for other in rows if other != row]),
        )

    def _add_like_above(self, field: Field, seed: RawArray, array: str) -> None:
        """Add a row; where no schema names its fields, they have the names that those of the other rows have."""
        rows = collect(self._kept, array, field, seed)
        found = [
            row.others
            for row in (rows.items if isinstance(rows, RawArray) else ())
            if isinstance(row, RawObject)
        ]
        names = [name_in(other) for others in found if isinstance(others, RawArray) for other in others.items]
        inside = f"{array}:{self._next(seed, array)}:others"
        self._add_row(seed, array)
        for name in dict.fromkeys(names):
            self._add_named(NO_FIELDS, inside, name)

    def _next(self, seed: RawArray, array: str) -> int:
        """Return the number of the next row of an array that held `seed` at first."""
        return int(self._kept.value(f"{array}:next", len(seed.items)))

    def _add_row(self, seed: RawArray, array: str) -> None:
        row = self._next(seed, array)
        self._kept.put(f"{array}:rows", [*rows_of(self._kept, array, seed), row])
        self._kept.put(f"{array}:next", row + 1)

    def _heading(self, field: Field, place: InputPlace, count: str = "") -> None:
        if place.shows_label:
            words = f"**{place.label}**" + (f" :gray-badge[{count}]" if count else "")
            st.markdown(words, help=_help(field))

    def _object(self, field: Field, seed: RawObject, place: InputPlace) -> None:
        if not (place.path and place.shows_label):
            self._members(field, seed, place)
            return
        with st.container(border=True, gap="small"):
            self._heading(field, place)
            if not seed.members and not self._kept.value(
                f"{place.name}:others:rows", seed.others != NO_FIELDS
            ):
                st.caption("No fields yet.")
            self._members(field, seed, place)

    def _members(self, field: Field, seed: RawObject, place: InputPlace) -> None:
        members = field.members if isinstance(field, ObjectField) else ()
        for member, held in zip(members, seed.members, strict=True):
            inside = InputPlace(
                member_name(place.name, member.name), (*place.path, member.name), safe_label(member.name)
            )
            if member.required and held.given:
                self._required(member, held, inside)
            else:
                self._optional(member, held, inside)
        others = field.others if isinstance(field, ObjectField) else None
        if isinstance(seed.others, RawJson):
            label = InputPlace(place.name, place.path, "Other fields")
            self._json(f"json:{place.name}:others", seed.others, label, None)
        elif others or seed.others.items:
            self._others(others or ANY_FIELDS, seed.others, place)

    def _others(self, field: ArrayField, seed: RawArray, place: InputPlace) -> None:
        """Draw fields that no schema names: of each its name and its value."""
        array = f"{place.name}:others"
        rows = rows_of(self._kept, array, seed)
        for at, row in enumerate(rows):
            with self._line(f"{array}:{row}"):
                self._other(field, row_seed(field, seed, row), f"{array}:{row}", (*place.path, "", at))
                self._remove_button("field", array, rows, row)
        if self._on_remove is not None:  # where fields can be removed, "Add field" stands below the form
            return
        st.button(
            "Add name and value",
            key=self._kept.key(f"{array}:add"),
            icon=":material/add:",
            type="tertiary",
            on_click=self._add_row,
            args=(seed, array),
        )

    def _other(self, field: ArrayField, seed: Raw, name: str, path: Path) -> None:
        item = field.item
        if not (isinstance(item, ObjectField) and isinstance(seed, RawObject)):
            return
        for member, held in zip(item.members, seed.members, strict=True):
            with st.container():
                inside = member_name(name, member.name)
                if member.name == "name":
                    self.draw(member.field, held.raw, InputPlace(inside, path, "Field name"))
                else:
                    named = name_in(collect(self._kept, name, item, seed))
                    self.draw(member.field, held.raw, InputPlace(inside, (*path[:-2], named), "Value"))

    def _required(self, member: FormMember, held: RawMember, place: InputPlace) -> None:
        if self._on_remove is None:
            self.draw(member.field, held.raw, place)
            return
        is_below_label = isinstance(held.raw, (RawText, RawChoice, RawConst, RawJson))
        alignment: Literal["center", "top"] = "center" if isinstance(held.raw, RawFlag) else "top"
        beside = (
            None
            if is_below_label
            else st.container(horizontal=True, gap="xsmall", vertical_alignment=alignment)
        )
        with beside or self._line(place.name):
            with st.container():
                self.draw(member.field, held.raw, place)
            remove_button(self._kept.key(f"{place.name}:drop"), place.label, self._on_remove, place.path)

    def _line(self, name: str) -> DeltaGenerator:
        """Return a line of inputs with a button at its end, which stays beside them when one gets a message below it."""
        return st.container(horizontal=True, gap="xsmall", key=self._kept.key(f"field_line:{name}"))

    def _optional(self, member: FormMember, held: RawMember, place: InputPlace) -> None:
        name = f"{place.name}:given"
        given = bool(self._kept.value(name, held.given))
        with st.container(gap="xxsmall"):
            st.toggle(f"Include {place.label}", key=self._kept.widget(name, held.given))
            with _place("xxsmall"):
                if given:
                    self.draw(member.field, held.raw, replace(place, by_words=True))


def is_long(text: str) -> bool:
    """Return whether a text has an input of several lines."""
    return len(text) > LONG or "\n" in text


def remove_button(key: str, label: str, on_remove: Callable[[Path], None], path: Path) -> None:
    """Draw the way to remove a field; `label` is its name, safe in a label."""
    st.button(
        ":material/close:",
        key=key,
        type="tertiary",
        help=f"Remove {label}",
        on_click=on_remove,
        args=(path,),
    )


def problem_line(text: str) -> None:
    """Show what is wrong with an input, as plain text."""
    with st.container(horizontal=True, gap="xsmall", vertical_alignment="center"):
        st.badge("Fix", icon=":material/error:", color="red")
        st.text(literal(text))


def _named(field: Field, place: InputPlace) -> _Named:
    return {
        "label": place.label,
        "help": _help(field),
        "label_visibility": "visible" if place.shows_label else "collapsed",
    }


def _help(field: Field) -> str | None:
    return safe_label(field.description, _HELP) if field.description else None
