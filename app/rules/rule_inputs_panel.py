"""Draws the inputs of the rule editor: each keeps what was typed, and says beside itself what is wrong with it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app.forms.safe_labels import literal
from app.forms.typed_fields import Fields
from app.forms.widget_store import KeptInputs


class Inputs:
    """The inputs of one form, as a panel draws them.

    Args:
        kept: Where what was typed is kept.
        fields: The same inputs, read; with what is wrong with them.
        tried: Whether it was tried to save; from then on what is still missing is named too.
    """

    def __init__(self, kept: KeptInputs, fields: Fields, *, tried: bool = False) -> None:
        self.kept, self.fields, self.tried = kept, fields, tried

    def key(self, name: str) -> str:
        """Begin an input: it holds its value from here on; return its key."""
        return self.kept.widget(name, self.fields.initial(name))

    def line(self, label: str, name: str, **options: Any) -> str:
        """Draw a line of text."""
        with _box(options):
            value = st.text_input(label, key=self.key(name), **options)
            self.say(name)
        return value or ""

    def area(self, label: str, name: str, *, height: int = 120, **options: Any) -> str:
        """Draw several lines of text."""
        with _box(options):
            value = st.text_area(label, key=self.key(name), height=height, **options)
            self.say(name)
        return value or ""

    def number(self, label: str, name: str, **options: Any) -> None:
        """Draw a number, which may be left out."""
        with _box(options):
            st.number_input(label, key=self.key(name), value=None, **options)
            self.say(name)

    def flag(self, label: str, name: str, **options: Any) -> bool:
        """Draw a switch."""
        return st.checkbox(label, key=self.key(name), **options)

    def choice(self, label: str, name: str, words: Mapping[str, str], **options: Any) -> str:
        """Draw a choice between a few things, which our own words name."""
        if self.fields.get(name) not in words:
            self.kept.put(name, next(iter(words)))
        with _box(options):
            chosen = st.selectbox(
                label, list(words), format_func=words.__getitem__, key=self.key(name), **options
            )
            self.say(name)
        return str(chosen)

    def ways(self, label: str, name: str, words: Mapping[str, str], **options: Any) -> str:
        """Draw a choice between a few words that stand side by side."""
        if self.fields.get(name) not in words:
            self.kept.put(name, next(iter(words)))
        chosen = st.segmented_control(
            label, list(words), format_func=words.__getitem__, required=True, key=self.key(name), **options
        )
        return str(chosen)

    def suggested(
        self, label: str, name: str, suggestions: Iterable[str], *, placeholder: str, **options: Any
    ) -> str:
        """Draw a text with suggestions; any other text may be typed too."""
        now = self.fields.get(name) or None
        with _box(options):
            st.selectbox(
                label,
                list(dict.fromkeys((*suggestions, *((str(now),) if now else ())))),
                index=None,
                key=self.kept.widget(name, self.fields.initial(name) or None),
                accept_new_options=True,
                placeholder=placeholder,
                **{"format_func": literal, **options},
            )
            self.say(name)
        return self.fields.line(name)

    def say(self, name: str) -> None:
        """Name what is wrong with an input; what is only missing, once it was tried to save."""
        problem = self.fields.problems.get(name)
        if problem and (self.tried or name not in self.fields.missing):
            with st.container(key=self.kept.key(f"wrong:{name}"), gap=None):
                st.text(literal(problem))

    # ------------------------------------------------------------ rows

    def add_row(self, group: str, counter: str, **values: Any) -> None:
        """Add a row to a list, in a callback; `values` are those of its inputs."""
        row = int(self.fields.get(f"{counter}:next") or 0)
        self.kept.put(f"{counter}:next", row + 1)
        self.kept.put(f"{group}:rows", [*self.fields.rows(group), row])
        for name, value in values.items():
            self.kept.put(f"{counter}{row}.{name}", value)

    def remove_row(self, group: str, row: int) -> None:
        """Take a row out of a list, in a callback."""
        self.kept.put(f"{group}:rows", [each for each in self.fields.rows(group) if each != row])

    def move_row(self, group: str, row: int, by: int) -> None:
        """Move a row of a list up (-1) or down (1), in a callback."""
        rows: list[Any] = [each for each in self.fields.rows(group) if each != row]
        rows.insert(max(self.fields.rows(group).index(row) + by, 0), row)
        self.kept.put(f"{group}:rows", rows)

    def row_buttons(self, group: str, row: int, name: str, what: str, *, movable: Sequence[int] = ()) -> None:
        """Draw the ways to move and remove a row; `what` names it for a screen reader."""
        if len(movable) > 1:
            for by, icon, words in ((-1, "arrow_upward", "Move up"), (1, "arrow_downward", "Move down")):
                place = movable.index(row) + by
                st.button(
                    f":material/{icon}:",
                    key=self.kept.key(f"{name}:{'up' if by < 0 else 'down'}"),
                    type="tertiary",
                    help=f"{words}: {what}",
                    disabled=not 0 <= place < len(movable),
                    on_click=self.move_row,
                    args=(group, row, by),
                )
        st.button(
            "Remove",
            key=self.kept.key(f"{name}:remove"),
            icon=":material/close:",
            type="tertiary",
            help=f"Remove: {what}",
            on_click=self.remove_row,
            args=(group, row),
        )


def _box(options: dict[str, Any]) -> DeltaGenerator:
    """Return the frame of an input and of what is wrong with it; it takes over the input's width."""
    return st.container(gap="xxsmall", width=options.pop("width", "stretch"))
