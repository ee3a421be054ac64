"""The kinds of field that are made of others: what may be null, one of several kinds of value, lists and objects.

A list whose objects may have any fields is drawn as a table. A row keeps its number when others are removed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import streamlit as st
from pydantic import JsonValue
from typing_extensions import override

from app.forms.common_panel import place
from app.forms.field_widgets import (
    Field,
    FormInputs,
    InputPlace,
    JsonField,
    TextField,
    close_button,
    problem_line,
)
from app.forms.safe_labels import literal, safe_label
from app.forms.typed_json import TypedJsonError, parse_object
from app.forms.value_shapes import name_problem
from app.forms.widget_store import KeptInputs, UntouchedInputs, slug
from simulator.base.json_paths import ABSENT

_MOST_NAMED = 40
"""So many further fields have a row each; more are JSON."""
_MOST_ROWS = 10
"""So many rows that must be there are drawn at first."""
_END = 0.25
"""How wide the end of a table's row is, which removes it, beside a cell."""


def misfits(field: Field, value: Any) -> int:
    """Count what in a value does not look like a field."""
    return field.misfits(value) if field.fits(value) else 1


@dataclass(frozen=True, kw_only=True)
class NullableField(Field):
    """Something, or null."""

    kind, beside, is_simple = "nullable", "top", False
    inner: Field

    @override
    def fits(self, value: Any) -> bool:
        return value is None or self.inner.fits(value)

    @override
    def misfits(self, value: Any) -> int:
        return 0 if value is None else self.inner.misfits(value)

    @override
    def read(self, form: FormInputs, seed: Any, at: InputPlace) -> Any:
        if form.kept.value(f"{at.name}:null", seed is None):
            return None
        return form.read(self.inner, ABSENT if seed is None else seed, at)

    @override
    def draw(self, form: FormInputs, seed: Any, at: InputPlace) -> None:
        is_null, name = seed is None, f"{at.name}:null"
        inner, value = self.inner.shown(ABSENT if is_null else seed)
        with st.container(horizontal=inner.is_simple, vertical_alignment="bottom"):
            if form.kept.value(name, is_null):
                self._draw_null(form.kept, at, is_text=isinstance(inner, TextField))
            else:
                with st.container():
                    inner.draw(form, value, at)
            st.checkbox("null", key=form.kept.widget(name, is_null))

    def _draw_null(self, kept: KeptInputs, at: InputPlace, *, is_text: bool) -> None:
        """Draw null as an input; what is typed over it, where that is one text, is its value."""
        key = kept.key(f"{at.name}:nothing")

        def take() -> None:
            kept.put(f"{at.name}:null", value=False)
            kept.put(at.name, st.session_state[key])

        if is_text:
            st.text_input(**self.named(at), key=key, placeholder="null", on_change=take)
        else:
            st.text_input(**self.named(at), value="null", key=key, disabled=True)


@dataclass(frozen=True, kw_only=True)
class UnionField(Field):
    """One of several kinds of value."""

    kind, beside, is_simple = "union", "top", False
    variants: tuple[Field, ...]

    @override
    def fits(self, value: Any) -> bool:
        return any(variant.fits(value) for variant in self.variants)

    @override
    def misfits(self, value: Any) -> int:
        return self.variants[self._best(value)].misfits(value)

    def _best(self, value: Any) -> int:
        """Return the place of the variant that a value looks like."""
        if value is ABSENT:
            return 0
        fitting = [at for at, variant in enumerate(self.variants) if variant.fits(value)]
        return min(fitting, key=lambda at: self.variants[at].misfits(value))

    def _chosen(self, kept: KeptInputs, name: str, seed: Any) -> tuple[Field, Any, str]:
        """Return the variant that is chosen, with what it begins with, and its name."""
        best = self._best(seed)
        at = int(kept.value(f"{name}:kind", best) or 0)
        return self.variants[at], seed if at == best else ABSENT, f"{name}:v{at}"

    @override
    def read(self, form: FormInputs, seed: Any, at: InputPlace) -> Any:
        variant, value, name = self._chosen(form.kept, at.name, seed)
        return form.read(variant, value, at._replace(name=name))

    @override
    def draw(self, form: FormInputs, seed: Any, at: InputPlace) -> None:
        variant, value, name = self._chosen(form.kept, at.name, seed)
        words = [
            literal(each.title) or f"{number}: {each.kind}" for number, each in enumerate(self.variants, 1)
        ]
        with st.container(border=True):
            st.selectbox(
                **self.named(at),
                options=range(len(words)),
                format_func=words.__getitem__,
                key=form.kept.widget(f"{at.name}:kind", self._best(seed)),
            )
            variant, value = variant.shown(value)
            variant.draw(form, value, InputPlace(name, at.path, at.label, shows_label=False))


# ---------------------------------------------------------------- rows


def _rows(kept: KeptInputs, array: str, first: Sequence[Any], new: Any = ABSENT) -> list[tuple[int, Any]]:
    """Return the numbers of some rows, each with what it begins with: those of the value, and `new` ones that were added."""
    numbers = kept.value(f"{array}:rows", [*range(len(first))])
    return [(row, first[row] if row < len(first) else new) for row in numbers]


def _add_row(kept: KeptInputs, array: str, count: int) -> int:
    """Add a row to some that were so many at first; return its number."""
    row = int(kept.value(f"{array}:next", count))
    kept.put(f"{array}:rows", [*kept.value(f"{array}:rows", [*range(count)]), row])
    kept.put(f"{array}:next", row + 1)
    return row


def _row_button(kept: KeptInputs, what: str, array: str, rows: Sequence[tuple[int, Any]], row: int) -> None:
    others = [other for other, _ in rows if other != row]
    close_button(kept.key(f"{array}:{row}:remove"), f"Remove this {what}", kept.put, f"{array}:rows", others)


# ---------------------------------------------------------------- objects


class FormMember(NamedTuple):
    """A member of an object in a form: a field with its name."""

    name: str
    field: Field
    required: bool


class Cell(NamedTuple):
    """A field of an object that no schema names: its row, its name, and the value that it begins with; `at` is the name of its input."""

    row: int
    name: str
    seed: Any
    at: str


@dataclass(frozen=True, kw_only=True)
class ObjectField(Field):
    """Named fields; `others` is the field of further ones, each a row of its name and its value, where the schema invites them."""

    kind, beside, is_simple = "object", "top", False
    members: tuple[FormMember, ...] = ()
    others: Field | None = None

    @override
    def fits(self, value: Any) -> bool:
        return isinstance(value, dict)

    @override
    def misfits(self, value: Any) -> int:
        unlike = sum(
            misfits(member.field, value[member.name]) if member.name in value else 2 * member.required
            for member in self.members
        )
        return unlike + bool(self.further(value))

    def further(self, seed: Any) -> dict[str, JsonValue]:
        """Return what of a value has no field of its own."""
        if seed is ABSENT:
            return {}
        names = {member.name for member in self.members}
        return {name: item for name, item in seed.items() if name not in names}

    @property
    def other(self) -> Field:
        """The field of values that no schema names, also where it does not invite them."""
        return self.others or JsonField(is_open=True)

    def has_rows(self, seed: Any) -> bool:
        """Whether what no schema names has a row each, and is not written as JSON, because inputs cannot hold the names or so many."""
        others = self.further(seed)
        return len(others) <= _MOST_NAMED and all(name.strip() and name.isprintable() for name in others)

    def cells(self, kept: KeptInputs, name: str, seed: Any) -> list[Cell]:
        """Return the rows of what no schema names, with the names that they have now."""
        array, first = f"{name}:others", [*self.further(seed).items()]
        return [
            Cell(row, str(kept.value(f"{array}:{row}.name", known) or ""), value, f"{array}:{row}")
            for row, (known, value) in _rows(kept, array, first, ("", ABSENT))
        ]

    def begun(self, seed: Any, name: str) -> Iterator[tuple[FormMember, Any, bool, str]]:
        """Yield each member with what it begins with, whether it is given then, and the name of its input."""
        for member in self.members:
            given = member.required if seed is ABSENT else member.name in seed
            value = seed[member.name] if given and seed is not ABSENT else ABSENT
            yield member, value, given, f"{name}.{slug(member.name)}"

    # ------------------------------------------------------------ reading

    @override
    def read(self, form: FormInputs, seed: Any, at: InputPlace) -> Any:
        made: dict[str, Any] = {}
        for member, value, given, name in self.begun(seed, at.name):
            inside = InputPlace(name, (*at.path, member.name), kind=at.kinds.get(member.name, ""))
            if _is_set(form, member, inside, given=given):
                made[member.name] = form.read(member.field, value, inside)
        known = {member.name for member in self.members}
        if self.has_rows(seed):
            self._read_rows(form, seed, at, made, known)
        else:
            self._read_text(form, seed, at, made, known)
        return {name: value for name, value in made.items() if value is not ABSENT}

    def _read_rows(
        self, form: FormInputs, seed: Any, at: InputPlace, made: dict[str, Any], known: set[str]
    ) -> None:
        for row, cell in enumerate(self.cells(form.kept, at.name, seed)):
            name, is_missing = cell.name, not cell.name.strip()
            if is_missing or name in known:
                words = "enter a name" if is_missing else f"another field is named {name}"
                form.refuse((*at.path, "", row), words, is_missing=is_missing)
                continue
            known.add(name)
            inside = InputPlace(f"{cell.at}.value", (*at.path, name), kind=at.kinds.get(name, ""))
            made[name] = form.read(self.other, cell.seed, inside)

    def _read_text(
        self, form: FormInputs, seed: Any, at: InputPlace, made: dict[str, Any], known: set[str]
    ) -> None:
        try:
            others = parse_object(JsonField().typed(form.kept, self.further(seed), f"{at.name}:others").text)
        except TypedJsonError as error:
            form.refuse(at.path, f"Other fields: {error}")
            return
        for name, value in others.items():
            if name in known:
                form.refuse((*at.path, name), "is set twice: here and in the other fields")
            else:
                made[name] = value

    # ------------------------------------------------------------ drawing

    @override
    def draw(self, form: FormInputs, seed: Any, at: InputPlace) -> None:
        if not (at.path and at.shows_label):
            self._draw_members(form, seed, at)
            return
        with st.container(border=True, gap="small"):
            st.markdown(f"**{at.label}**", help=self.help)
            if not self.members and not form.kept.value(f"{at.name}:others:rows", bool(self.further(seed))):
                st.caption("No fields yet.")
            self._draw_members(form, seed, at)

    def _draw_members(self, form: FormInputs, seed: Any, at: InputPlace) -> None:
        for member, value, given, name in self.begun(seed, at.name):
            inside = InputPlace(name, (*at.path, member.name), safe_label(member.name))
            self._draw_member(form, member, (value, given), inside)
        if not self.has_rows(seed):
            text = InputPlace(f"{at.name}:others", at.path, "Other fields")
            JsonField().draw(form, self.further(seed), text)
        elif self.others or self.further(seed):
            self._draw_others(form, seed, at)

    def _draw_member(
        self, form: FormInputs, member: FormMember, begun: tuple[Any, bool], at: InputPlace
    ) -> None:
        value, given = begun
        if not (member.required and given) or form.on_remove is None:
            _draw_input(form, member, begun, at)
        else:
            beside = member.field.shown(value)[0].beside
            line = (
                form.line(at.name)
                if beside == "line"
                else st.container(horizontal=True, gap="xsmall", vertical_alignment=beside)
            )
            with line:
                with st.container():
                    form.draw(member.field, value, at)
                words = f"Remove {at.label}"
                close_button(form.kept.key(f"{at.name}:drop"), words, form.on_remove, at.path)

    def _draw_others(self, form: FormInputs, seed: Any, at: InputPlace) -> None:
        """Draw fields that no schema names: of each its name and its value."""
        array, kept, first = f"{at.name}:others", form.kept, [*self.further(seed).items()]
        rows = _rows(kept, array, first, ("", ABSENT))
        for number, (cell, (row, (known, value))) in enumerate(
            zip(self.cells(kept, at.name, seed), rows, strict=True)
        ):
            with form.line(cell.at):
                with st.container():
                    named = InputPlace(f"{cell.at}.name", (*at.path, "", number), "Field name")
                    form.draw(TextField(), known, named)
                with st.container():
                    form.draw(
                        self.other, value, InputPlace(f"{cell.at}.value", (*at.path, cell.name), "Value")
                    )
                _row_button(kept, "field", array, rows, row)
        if form.on_remove is None:  # where fields can be removed, "Add field" stands below the form
            st.button(
                "Add name and value",
                key=kept.key(f"{array}:add"),
                icon=":material/add:",
                type="tertiary",
                on_click=_add_row,  # type: ignore[arg-type] # its number is for others
                args=(kept, array, len(first)),
            )

    def add_named(self, kept: KeptInputs, name: str, seed: Any, named: str) -> None:
        """Add a field with a name to an object, in a callback."""
        array = f"{name}:others"
        row = _add_row(kept, array, len(self.further(seed)))
        kept.put(f"{array}:{row}.name", named)

    def draw_cell(self, form: FormInputs, seed: Any, name: str, row: InputPlace) -> None:
        """Draw the input of one column in a row of a table; where the row has no such field, the way to add it."""
        path = (*row.path, name)
        for member, value, given, inside in self.begun(seed, row.name):
            if member.name == name:
                at = row._replace(name=inside, path=path, kind=row.kinds.get(name, ""))
                _draw_input(form, member, (value, given), at)
                return
        for cell in self.cells(form.kept, row.name, seed):
            if cell.name == name:
                at = row._replace(name=f"{cell.at}.value", path=path, kind=row.kinds.get(name, ""))
                form.draw(self.other, cell.seed, at)
                return
        st.button(
            ":material/add:",
            key=form.kept.key(f"{row.name}:others:add:{slug(name)}"),
            type="tertiary",
            help=f"Add {safe_label(name)} to this row",
            on_click=self.add_named,
            args=(form.kept, row.name, seed, name),
        )


def _is_unset(kept: KeptInputs, field: Field, at: InputPlace) -> bool:
    """Return whether nothing is typed in a field that has no value."""
    form = FormInputs(kept)
    value = form.read(field, ABSENT, at)
    return value == "" or (value is ABSENT and all(problem.is_missing for problem in form.problems))


def _is_set_by_typing(member: FormMember, at: InputPlace, *, given: bool) -> bool:
    """Return whether a required field that the value lacks is set by what is typed: its empty input is no value."""
    return member.required and not given and _is_unset(UntouchedInputs(), member.field, at)


def _is_set(form: FormInputs, member: FormMember, at: InputPlace, *, given: bool) -> bool:
    """Return whether a member has a value now."""
    if (member.required and given) or form.kept.value(f"{at.name}:given", given):
        return True
    return _is_set_by_typing(member, at, given=given) and not _is_unset(form.kept, member.field, at)


def _draw_input(form: FormInputs, member: FormMember, begun: tuple[Any, bool], at: InputPlace) -> None:
    """Draw a member, with the switch that leaves it out where it is not required, or its empty input would be a value."""
    value, given = begun
    is_typed = _is_set_by_typing(member, at, given=given)
    if not (is_typed or (member.required and given)):
        optional(form, member.field, value, at, given=given)
        return
    form.draw(member.field, value, at)
    if is_typed:
        with place("xxsmall"):
            if not _is_set(form, member, at, given=given):
                problem_line("This field is required, and is not set.")


def optional(form: FormInputs, field: Field, seed: Any, at: InputPlace, *, given: bool) -> None:
    """Draw a field that may be left out, with its switch."""
    name = f"{at.name}:given"
    is_given = form.kept.value(name, given)
    with st.container(gap="xxsmall"):
        st.toggle(f"Include {at.label}", key=form.kept.widget(name, given))
        with place("xxsmall"):
            if is_given:
                form.draw(field, seed, at._replace(by_words=True))


# ---------------------------------------------------------------- lists


@dataclass(frozen=True, kw_only=True)
class ArrayField(Field):
    """Any number of values of one kind."""

    kind, beside, is_simple = "array", "top", False
    item: Field
    least: int = 0

    @override
    def fits(self, value: Any) -> bool:
        return isinstance(value, list)

    @override
    def misfits(self, value: Any) -> int:
        return sum(misfits(self.item, row) for row in value)

    def _first(self, seed: Any) -> list[Any]:
        return [ABSENT] * min(self.least, _MOST_ROWS) if seed is ABSENT else seed

    def _rows(self, kept: KeptInputs, name: str, seed: Any) -> list[tuple[int, Any]]:
        return _rows(kept, name, self._first(seed))

    @override
    def read(self, form: FormInputs, seed: Any, at: InputPlace) -> Any:
        rows = self._rows(form.kept, at.name, seed)
        kinds = self._kinds(form.kept, at.name, rows)
        found, first = list[Any](), len(self._first(seed))
        for number, (row, begun) in enumerate(rows):
            before = len(form.problems)
            inside = InputPlace(f"{at.name}:{row}", (*at.path, number), kinds=kinds)
            found.append(value := form.read(self.item, begun, inside))
            cells = [*value.values()] if isinstance(value, dict) else [value]
            if row >= first and not any(cell is not ABSENT and cell for cell in cells):
                form.problems[before:] = [
                    one.model_copy(update={"is_new": one.is_missing}) for one in form.problems[before:]
                ]
        return [value for value in found if value is not ABSENT]

    # ------------------------------------------------------------ what no schema names

    def _cells(
        self, kept: KeptInputs, name: str, rows: Sequence[tuple[int, Any]]
    ) -> Iterator[list[Cell] | None]:
        """Yield of each row what no schema names; None where it is no object, or has other fields as JSON."""
        for row, seed in rows:
            item, value = self.item.shown(seed)
            if isinstance(item, ObjectField) and item.has_rows(value):
                yield item.cells(kept, f"{name}:{row}", value)
            else:
                yield None

    def _kinds(self, kept: KeptInputs, name: str, rows: Sequence[tuple[int, Any]]) -> Mapping[str, str]:
        """Return what the cells of each column are of which no schema tells: text where one is, else number; empty where nothing tells."""
        if not isinstance(item := self.item, ObjectField):
            return {}
        held: dict[str, set[str]] = defaultdict(set)
        for (row, seed), cells in zip(rows, self._cells(kept, name, rows), strict=True):
            shown, value = item.shown(seed)
            begun = item.begun(value, f"{name}:{row}") if shown is item else ()
            inputs = [(member.name, member.field, first, at) for member, first, _, at in begun]
            inputs += [(cell.name, item.other, cell.seed, f"{cell.at}.value") for cell in cells or ()]
            for column, field, first, at in inputs:
                if isinstance(field, JsonField) and field.is_open:
                    held[column].add(field.typed(kept, first, at).kind)
        return {
            name: next((kind for kind in ("text", "number") if kind in kinds), "")
            for name, kinds in held.items()
        }

    def _columns(
        self, kept: KeptInputs, name: str, rows: Sequence[tuple[int, Any]]
    ) -> tuple[str, ...] | None:
        """Return the columns of the table for objects whose fields are not all declared; None where no table can show them.

        They are the declared fields, and then each name that a row has. A field that holds an object or a list has no cell.
        """
        item = self.item
        if not isinstance(item, ObjectField) or item.others is None:
            return None
        fields = (*(member.field for member in item.members), item.others)
        if any(
            isinstance(getattr(field, "inner", field), (ArrayField, ObjectField, UnionField))
            for field in fields
        ):
            return None
        declared = [member.name for member in item.members]
        columns = dict.fromkeys(declared)
        for cells in self._cells(kept, name, rows):
            names = [""] if cells is None else [*declared, *(cell.name for cell in cells)]
            if len(set(names)) < len(names) or not all(name.strip() for name in names):
                return None
            columns |= dict.fromkeys(names)
        return tuple(columns)

    # ------------------------------------------------------------ drawing

    @override
    def draw(self, form: FormInputs, seed: Any, at: InputPlace) -> None:
        kept, rows = form.kept, self._rows(form.kept, at.name, seed)
        columns = self._columns(kept, at.name, rows)
        with st.container(border=True, gap="small"):
            if at.shows_label:
                st.markdown(f"**{at.label}** :gray-badge[{len(rows)}]", help=self.help)
            if columns is None:
                self._draw_rows(form, rows, at)
            else:
                self._draw_table(form, rows, at, columns)
            with st.container(horizontal=True, gap="xsmall"):
                st.button(
                    "Add row",
                    key=kept.key(f"{at.name}:add"),
                    icon=":material/add:",
                    on_click=self._add_like_above,
                    args=(kept, seed, at.name),
                )
                if columns is not None:
                    self._column_menu(kept, seed, at.name, columns)

    def _draw_rows(self, form: FormInputs, rows: Sequence[tuple[int, Any]], at: InputPlace) -> None:
        """Draw each row with its inputs below each other."""
        for number, (row, value) in enumerate(rows):
            inside = InputPlace(
                f"{at.name}:{row}", (*at.path, number), f"{at.label} {number + 1}", shows_label=False
            )
            with st.container(horizontal=True, vertical_alignment="top"):
                with st.container(border=isinstance(self.item.shown(value)[0], ObjectField)):
                    form.draw(self.item, value, inside)
                _row_button(form.kept, "row", at.name, rows, row)

    def _draw_table(
        self, form: FormInputs, rows: Sequence[tuple[int, Any]], at: InputPlace, columns: tuple[str, ...]
    ) -> None:
        """Draw a row of cells for each object of a list."""
        kept, item, widths = form.kept, self.item, [*[1.0] * len(columns), _END]
        assert isinstance(item, ObjectField)  # noqa: S101 - else there are no columns
        if not columns:
            st.caption("No columns yet.")
            for number, (row, _) in enumerate(rows):
                with st.container(horizontal=True, gap="xsmall", vertical_alignment="center"):
                    st.caption(f"Row {number + 1}", width="content")
                    _row_button(kept, "row", at.name, rows, row)
            return
        kinds = self._kinds(kept, at.name, rows)
        declared = {member.name for member in item.members}
        with st.container(key=kept.key(f"open_table:{at.name}"), gap="xsmall"):
            for name, cell in zip(columns, st.columns(widths, gap="xsmall"), strict=False):
                with cell.container(horizontal=True, gap="xsmall", wrap=False, vertical_alignment="center"):
                    st.text(literal(name))
                    if name not in declared:
                        key, words = f"{at.name}:drop:{slug(name)}", f"Remove column {safe_label(name)}"
                        close_button(kept.key(key), words, self._drop_column, kept, rows, at.name, name)
            for number, (row, seed) in enumerate(rows):
                value = item.shown(seed)[1]
                inside = InputPlace(f"{at.name}:{row}", (*at.path, number), shows_label=False, kinds=kinds)
                *cells, end = st.columns(widths, gap="xsmall")
                for name, cell in zip(columns, cells, strict=True):
                    with cell:
                        label = f"{safe_label(name)} {number + 1}"
                        item.draw_cell(form, value, name, inside._replace(label=label))
                with end:
                    _row_button(kept, "row", at.name, rows, row)
                form.say(inside.path)

    def _column_menu(self, kept: KeptInputs, seed: Any, array: str, columns: Sequence[str]) -> None:
        """Draw the way to add a column; the menu closes when it has one more."""
        name, tried = f"{array}:column", f"{array}:column_tried"

        def add() -> None:
            named = str(kept.value(name) or "").strip()
            kept.put(tried, bool(name_problem(named, columns)))
            if not name_problem(named, columns):
                kept.put(name, "")
                self._add_column(kept, seed, array, named)

        menu = st.popover(
            "Add column", icon=":material/add:", type="tertiary", key=kept.key(f"{name}_menu{len(columns)}")
        )
        with menu, st.form(kept.key(f"{name}_form"), border=False):  # Enter in the field adds it
            st.text_input("Column name", key=kept.widget(name, ""))
            with place():
                wrong = name_problem(str(kept.value(name) or ""), columns)
                if wrong and kept.value(tried):
                    problem_line(wrong)
            st.form_submit_button(
                "Add column", key=kept.key(f"{name}_add"), icon=":material/add:", on_click=add
            )

    def _add_column(self, kept: KeptInputs, seed: Any, array: str, name: str) -> None:
        if not self._rows(kept, array, seed):
            _add_row(kept, array, len(self._first(seed)))
        for row, value in self._rows(kept, array, seed):
            item, first = self.item.shown(value)
            if isinstance(item, ObjectField):
                item.add_named(kept, f"{array}:{row}", first, name)

    def _drop_column(self, kept: KeptInputs, rows: Sequence[tuple[int, Any]], array: str, name: str) -> None:
        for (row, _), cells in zip(rows, self._cells(kept, array, rows), strict=True):
            if cells is not None:
                left: list[JsonValue] = [cell.row for cell in cells if cell.name != name]
                kept.put(f"{array}:{row}:others:rows", left)

    def _add_like_above(self, kept: KeptInputs, seed: Any, array: str) -> None:
        """Add a row; where no schema names its fields, they have the names that those of the other rows have."""
        rows = self._rows(kept, array, seed)
        found = filter(None, self._cells(kept, array, rows))
        names = dict.fromkeys(cell.name for cells in found for cell in cells)
        row = _add_row(kept, array, len(self._first(seed)))
        for name in names:
            ObjectField().add_named(kept, f"{array}:{row}", ABSENT, name)
