"""Draws a flat list of records as a table that can be edited; what was done there is kept as the records that it makes."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any, NamedTuple

import streamlit as st
from typing_extensions import override

from app.forms.common_panel import place
from app.forms.field_group_widgets import ObjectField
from app.forms.field_widgets import Field, FormInputs, InputPlace, offer_day, problem_line
from app.forms.form_reading import FieldProblem, way_in_words
from app.forms.record_tables import (
    Record,
    RecordColumn,
    cell_of,
    cell_problems,
    columns_of,
    edited_rows,
    typed_cells,
)
from app.forms.safe_labels import literal, safe_label
from app.forms.typed_in_language import number_read
from app.forms.widget_store import KeptInputs, slug
from simulator.base.json_paths import ABSENT
from simulator.environment.conventions import names_day

_LOW = 8
"""So many rows are shown at once; a table of more scrolls."""
_ROW, _HEAD = 35, 38


class _Begun(NamedTuple):
    """The table on the screen: the value that it is about, the records that it began with, and its widget's key."""

    about: list[Record]
    rows: list[Record]
    key: str


class RecordTable:
    """The table of one list of records.

    Streamlit's editor says what was done since it was drawn first, and forgets that when it is hidden. So the records are
    kept, and an editor that comes again begins with them.

    Args:
        kept: Keeps the records.
        name: The table's name among this owner's inputs.
        rows: The records that are there at first; `columns_of` gives them columns.
        days: The columns for which the tool asks for dates as `YYYY-MM-DD`, or which are named like dates.
    """

    def __init__(
        self, kept: KeptInputs, name: str, rows: list[Record], days: AbstractSet[str] = frozenset()
    ) -> None:
        self._kept, self._name, self._first, self._days = kept, name, rows, days
        self._mark = f"table of {kept.key(name)}"

    def rows(self) -> list[Record]:
        """Return the records as they are now, whether the table is drawn in this run or not."""
        return edited_rows(*self._typed(), self._kept.language)

    def _typed(self) -> tuple[list[Record], tuple[RecordColumn, ...], Any]:
        """Return the records that the table began with, its columns, and what was done there."""
        begun = self._begun()
        rows, done = (self._stored(), {}) if begun is None else (begun.rows, st.session_state[begun.key])
        return rows, columns_of(self._first), done

    def problems(self) -> tuple[FieldProblem, ...]:
        """Return what in the records is no sure number, by the row and the column."""
        return tuple(cell_problems(self.rows(), columns_of(self._first), self._kept.language))

    def draw(self, label: str) -> None:
        """Draw the table; `label` says to a screen reader what it is."""
        begun = self._begun() or self._begin()
        columns = columns_of(self._first)
        lines = len(begun.rows) + 1  # the last one is empty, and adds a record
        st.data_editor(
            _frame(begun.rows, columns),
            key=begun.key,
            num_rows="dynamic",
            hide_index=True,
            height="auto" if lines <= _LOW else _HEAD + _LOW * _ROW,
            column_config={column.name: _config(column) for column in columns},
            alt=label,
        )
        rows = self.rows()
        if repr(rows) != repr(self._stored()):
            self._kept.put(self._name, rows)  # type: ignore[arg-type] # records are JSON
        with place("xxsmall"):
            for found in self.problems():
                problem_line(f"{way_in_words(found.path)}: {found.message}")
            self._say_read()

    def _say_read(self) -> None:
        """Say which numbers were read, and which dates are meant, where they were typed otherwise."""
        rows, columns, done = self._typed()
        for at, (_, cells) in enumerate(typed_cells(rows, done)):
            for column in columns:
                if column.holds_numbers and (
                    said := number_read(str(cells.get(column.name) or ""), self._kept.language)
                ):
                    st.caption(f"{_where(at, column.name)}{said}")
        for at, row in enumerate(self.rows()):
            for name in (one for one in row if one in self._days):
                key, where = f"{self._name}:{at}:{name}", _where(at, name)
                offer_day(self._kept, key, str(row[name]), self._put_day, at, name, where=where)

    def _put_day(self, at: int, name: str, day: str) -> None:
        """Put a date into a cell, in a callback: the table begins again with it."""
        rows = self.rows()
        rows[at][name] = day
        self._kept.put(self._name, rows)  # type: ignore[arg-type] # records are JSON
        self._begin()

    def _stored(self) -> list[Record]:
        stored = self._kept.value(self._name)
        return stored if isinstance(stored, list) else self._first

    def _begun(self) -> _Begun | None:
        """Return the table that is on the screen; None where none is, or another one under the same name."""
        begun: _Begun | None = st.session_state.get(self._mark)
        is_mine = begun is not None and begun.key in st.session_state and begun.about == self._first
        return begun if is_mine else None

    def _begin(self) -> _Begun:
        last: _Begun | None = st.session_state.get(self._mark)
        number = 1 + int(last.key.rpartition("__")[2]) if last is not None else 0
        begun = _Begun(self._first, self._stored(), f"{self._kept.key(self._name)}__{number}")
        st.session_state[self._mark] = begun
        return begun


@dataclass(frozen=True, kw_only=True)
class TableField(Field):
    """A field whose value is a table where it is a flat list of records; any other is shown as the field `inner`."""

    kind, beside, is_simple = "array", "top", False
    inner: Field

    @override
    def fits(self, value: Any) -> bool:
        return self.inner.fits(value)

    @override
    def shown(self, seed: Any) -> tuple[Field, Any]:
        return (self, seed) if seed is not ABSENT and columns_of(seed) else self.inner.shown(seed)

    @override
    def read(self, form: FormInputs, seed: Any, at: InputPlace) -> Any:
        table = self._table(form, seed, at)
        for problem in table.problems():
            form.refuse((*at.path, *problem.path), problem.message)
        return table.rows()

    @override
    def draw(self, form: FormInputs, seed: Any, at: InputPlace) -> None:
        label = at.label if at.path else "Records"
        with st.container(gap="xsmall"):
            st.markdown(f"**{label}**")
            self._table(form, seed, at).draw(label)

    def _table(self, form: FormInputs, seed: Any, at: InputPlace) -> RecordTable:
        item = getattr(self.inner, "item", None)
        members = item.members if isinstance(item, ObjectField) else ()
        asked = {each.name: getattr(each.field, "inner", each.field) for each in members}
        names = {name for row in seed for name in row}
        days = {name for name in names if getattr(asked.get(name), "asks_day", names_day(name))}
        return RecordTable(form.kept, _name(at), seed, days)


def _where(at: int, name: str) -> str:
    return f"{safe_label(way_in_words((at, name)))}: "


def _name(at: InputPlace) -> str:
    """Return the name under which a table keeps its records: that of its form, and the way to it."""
    names = [str(name) for name in at.path]
    form = at.name.removesuffix("".join(f".{slug(name)}" for name in names)).partition(":")[2]
    return f"{form}:table:{slug('.'.join(names))}"


def _frame(rows: Sequence[Record], columns: Sequence[RecordColumn]) -> Any:
    import pandas as pd  # type: ignore[import-untyped]  # noqa: PLC0415 - its import takes a quarter of a second; its stubs are a package of their own

    held: dict[str, Any] = {
        column.name: pd.array(
            [cell_of(row.get(column.name), column) for row in rows],
            dtype="boolean" if column.kind == "boolean" else "string",
        )
        for column in columns
    }
    return pd.DataFrame(held)


def _config(column: RecordColumn) -> Any:
    label = literal(column.name)
    match column.kind:
        case "integer" | "number":
            return st.column_config.TextColumn(label, alignment="right")
        case "boolean":
            return st.column_config.CheckboxColumn(label)
        case "text":
            return st.column_config.TextColumn(label)
