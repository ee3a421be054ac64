"""The inputs of the rule editor: each keeps what was typed, and says beside itself what is wrong with it.

A kind of condition, of effect or of latency is a row of inputs, and an input is one field of its model: how it is drawn, read, and filled
from a rule. An input is called after its place, such as `c4.path` or `error.code`, and what it holds at first is found with the numbers left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn, TypeAlias

import streamlit as st
from pydantic import JsonValue, ValidationError
from streamlit.delta_generator import DeltaGenerator

from app.forms.field_widgets import suggested
from app.forms.safe_labels import literal
from app.forms.typed_json import TypedJsonError, parse_json, parse_object, write_json
from app.forms.widget_store import KeptInputs
from app.rules.argument_paths import CallHints
from simulator.base.json_values import place_words

Seeds: TypeAlias = dict[str, JsonValue]
_NUMBERED = re.compile(r"(?<=[a-z])\d+(?=\.)")


class UnreadableInputError(ValueError):
    """An input holds nothing usable; why is among the problems."""


class Inputs:
    """The inputs of one rule.

    Args:
        kept: Where what was typed is kept.
        seeds: What the inputs hold at first, by name.
        defaults: What those without a seed hold at first; the numbers in a name such as `c12.path` are left out.

    Attributes:
        problems: By the name of an input, what is wrong with it; filled by reading.
        missing: Those of them where nothing was typed yet.
        tried: Whether it was tried to save; from then on what is still missing is named too.
        hints: What is suggested; set before the inputs are drawn.
    """

    hints: CallHints

    def __init__(self, kept: KeptInputs, seeds: Mapping[str, JsonValue], defaults: Seeds) -> None:
        self.kept, self.tried = kept, False
        self._seeds, self._defaults = dict(seeds), numberless(defaults)
        self.problems: dict[str, str] = {}
        self.missing: set[str] = set()

    # ------------------------------------------------------------ reading

    def initial(self, name: str) -> Any:
        """Return what an input holds at first."""
        return self._seeds[name] if name in self._seeds else self._defaults.get(_NUMBERED.sub("", name))

    def suggest(self, name: str, value: JsonValue) -> None:
        """Set what an input holds at first, where the rule says nothing of it."""
        self._seeds.setdefault(name, value)

    def get(self, name: str) -> Any:
        """Return what an input holds."""
        return self.kept.value(name, self.initial(name))

    def written(self, name: str) -> str:
        """Return a text as it was typed."""
        return str(self.get(name) or "")

    def words(self, name: str) -> str:
        """Return a text, without the space around it."""
        return self.written(name).strip()

    def is_on(self, name: str) -> bool:
        """Return a switch."""
        return bool(self.get(name))

    def rows(self, name: str) -> list[int]:
        """Return the numbers of a list's rows, in order."""
        return list(self.get(f"{name}:rows") or [])

    def needed(self, name: str, words: str) -> str:
        """Return a text that must not be empty."""
        return self.words(name) or self.lack(name, words)

    def amount(self, name: str, words: str) -> float:
        """Return a number that must be there."""
        value = self.get(name)
        return float(value) if value is not None else self.lack(name, words)

    def json(self, name: str, parse: Callable[[str], Any] = parse_json) -> Any:
        """Return a JSON value."""
        try:
            return parse(self.written(name))
        except TypedJsonError as error:
            return self.refuse(name, str(error))

    def json_object(self, name: str) -> dict[str, JsonValue]:
        """Return a JSON object; nothing typed is an empty one."""
        found: dict[str, JsonValue] = self.json(name, parse_object)
        return found

    def share(self, name: str, words: str) -> float:
        """Return a share for a percentage that must be there; what it was read from, to the last digit, where that was not changed."""
        percent, seed = self.amount(name, words), self._seeds.get(f"{name}:exact")
        unchanged = isinstance(seed, (int, float)) and as_percent(float(seed)) == percent
        return float(seed) if unchanged and isinstance(seed, (int, float)) else percent / 100

    def refuse(self, name: str, words: str) -> NoReturn:
        """Note what is wrong with an input, and go no further with what it is part of."""
        self.problems.setdefault(name, words)
        raise UnreadableInputError(words)

    def lack(self, name: str, words: str) -> NoReturn:
        """Note that nothing was typed yet where something is needed."""
        self.missing.add(name)
        self.refuse(name, words)

    def each(self, rows: Iterable[int], read: Callable[[int], Any]) -> tuple[Any, ...]:
        """Read every row, so that each that says nothing usable is named."""
        found: list[Any] = []
        failed: UnreadableInputError | None = None
        for row in rows:
            try:
                found.append(read(row))
            except UnreadableInputError as error:
                failed = error
        if failed:
            raise failed
        return tuple(found)

    # ------------------------------------------------------------ drawing

    def key(self, name: str) -> str:
        """Begin an input: it holds its value from here on; return its key."""
        return self.kept.widget(name, self.initial(name))

    def draw(self, widget: Callable[..., Any], label: str, name: str, **options: Any) -> None:
        """Draw an input, and what is wrong with it."""
        with _box(options):
            widget(label, key=self.key(name), **options)
            self.say(name)

    def number(self, label: str, name: str, **options: Any) -> None:
        """Draw a number, which may be left out."""
        self.draw(st.number_input, label, name, value=None, **options)

    def area(self, label: str, name: str, height: int = 120, **options: Any) -> None:
        """Draw several lines of text."""
        self.draw(st.text_area, label, name, height=height, **options)

    def flag(self, label: str, name: str, **options: Any) -> bool:
        """Draw a switch."""
        return st.checkbox(label, key=self.key(name), **options)

    def choice(
        self,
        label: str,
        name: str,
        words: Mapping[str, str],
        widget: Callable[..., Any] = st.selectbox,
        **options: Any,
    ) -> str:
        """Draw a choice between a few things, which our own words name."""
        if self.get(name) not in words:
            self.kept.put(name, next(iter(words)))
        self.draw(widget, label, name, options=[*words], format_func=words.__getitem__, **options)
        return str(self.get(name))

    def suggested(
        self,
        label: str,
        name: str,
        suggestions: Iterable[str],
        words: Callable[[str], str] = str,
        **options: Any,
    ) -> None:
        """Draw a text with suggestions; any other text may be typed too."""
        with _box(options):
            st.text_input(label, key=self.kept.widget(name, self.initial(name) or None, str), **options)
            suggested(self.kept, name, label, suggestions, words, most=0)
            self.say(name)

    def say(self, name: str) -> None:
        """Name what is wrong with an input; what is only missing, once it was tried to save."""
        problem = self.problems.get(name)
        if problem and (self.tried or name not in self.missing):
            with st.container(key=self.kept.key(f"wrong:{name}"), gap=None):
                st.text(literal(problem))

    # ------------------------------------------------------------ rows

    def add_row(self, group: str, counter: str, **values: Any) -> None:
        """Add a row to a list, in a callback; `values` are those of its inputs."""
        row = int(self.get(f"{counter}:next") or 0)
        self.kept.put(f"{counter}:next", row + 1)
        self.kept.put(f"{group}:rows", [*self.rows(group), row])
        for name, value in values.items():
            self.kept.put(f"{counter}{row}.{name}", value)

    def adder(self, label: str, group: str, counter: str, **options: Any) -> None:
        """Draw the way to add a row to a list."""
        key = self.kept.key(f"{group}:add")
        st.button(
            label, key=key, icon=":material/add:", on_click=self.add_row, args=(group, counter), **options
        )

    def remove_row(self, group: str, row: int) -> None:
        """Take a row out of a list, in a callback."""
        self.kept.put(f"{group}:rows", [each for each in self.rows(group) if each != row])

    def move_row(self, group: str, row: int, by: int) -> None:
        """Move a row of a list up (-1) or down (1), in a callback."""
        rows: list[Any] = [each for each in self.rows(group) if each != row]
        rows.insert(max(self.rows(group).index(row) + by, 0), row)
        self.kept.put(f"{group}:rows", rows)

    def row_buttons(self, group: str, row: int, name: str, what: str, *, movable: Sequence[int] = ()) -> None:
        """Draw the ways to move and remove a row; `what` names it for a screen reader."""
        if len(movable) > 1:
            for by, icon, words in ((-1, "arrow_upward", "Move up"), (1, "arrow_downward", "Move down")):
                st.button(
                    f":material/{icon}:",
                    key=self.kept.key(f"{name}:{'up' if by < 0 else 'down'}"),
                    type="tertiary",
                    help=f"{words}: {what}",
                    disabled=not 0 <= movable.index(row) + by < len(movable),
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


def numberless(seeds: Seeds) -> Seeds:
    """Return what inputs hold by their names without numbers."""
    return {_NUMBERED.sub("", name): value for name, value in seeds.items()}


def as_percent(share: float) -> float:
    """Return a share in percent, as it stands in an input."""
    return round(share * 100, 10)


def complaints(error: ValidationError) -> str:
    """Say in a line what a model says of a value, with the place of each mistake."""
    found = error.errors(include_url=False)
    return "; ".join(
        ": ".join(filter(None, (place_words(each["loc"]), each["msg"].removeprefix("Value error, "))))
        for each in found
    )


# ---------------------------------------------------------------- kinds, each a row of inputs


class Input(NamedTuple):
    """An input for a field of a model, how it is drawn and read, and what it and those beside it hold for a value of the field.

    `name` is what its own name ends with, where that is not the field's. `unfit` stands for what the model says of a value that it refuses.
    """

    field: str
    draw: Callable[[Inputs, str], object]
    read: Callable[[Inputs, str], Any] = Inputs.get
    seed: Callable[[str, Any], Seeds] = lambda name, value: {name: value}
    name: str = ""
    unfit: str = ""


def json_seed(name: str, value: Any) -> Seeds:
    """Return what an input for JSON holds."""
    return {name: write_json(dict(value) if isinstance(value, Mapping) else value)}


def line(field: str, label: str, needed: str = "", *, name: str = "", **options: Any) -> Input:
    """Describe a line of text, which must not be empty where it says what is `needed`."""
    return Input(
        field, lambda each, at: each.draw(st.text_input, label, at, **options), text_read(needed), name=name
    )


def text_read(needed: str) -> Callable[[Inputs, str], str]:
    """Return how a text is read that must not be empty where it says what is `needed`."""
    return (lambda inputs, at: inputs.needed(at, needed)) if needed else Inputs.written


def switch(field: str, label: str) -> Input:
    """Describe a switch."""
    return Input(field, lambda inputs, at: inputs.flag(label, at), Inputs.is_on)


def chosen(field: str, label: str, words: Mapping[str, str], **options: Any) -> Input:
    """Describe a choice."""
    return Input(field, lambda inputs, at: inputs.choice(label, at, words, **options))


def number(field: str, label: str, needed: str = "", *, name: str = "", **options: Any) -> Input:
    """Describe a number, which must be there where it says what is `needed`; one with whole steps is whole."""
    kind = int if options.get("step") == 1 else float

    def read(inputs: Inputs, at: str) -> Any:
        return kind(inputs.amount(at, needed)) if needed else inputs.get(at)

    return Input(field, lambda each, at: each.number(label, at, **options), read, name=name)


class Kind(NamedTuple):
    """A kind of condition, effect or latency: what it is called, its model, and its inputs.

    What the model says of no one field is told at the input `whole`, by default the first. `start` fills the inputs that nobody has touched.
    """

    label: str
    model: Callable[..., Any]
    inputs: tuple[Input, ...] = ()
    whole: str = ""
    start: Any = None
    caption: str = ""

    def _names(self, at: str) -> dict[str, str]:
        names = {each.field: f"{at}.{each.name or each.field}" for each in self.inputs}
        return {"": f"{at}.{self.whole}", **names} if self.whole else names

    def seed(self, at: str, value: Any) -> Seeds:
        """Return what the inputs hold for a value."""
        names, made = self._names(at), Seeds()
        for each in self.inputs:
            made |= each.seed(names[each.field], getattr(value, each.field))
        return made

    def read(self, inputs: Inputs, at: str) -> Any:
        """Return the value that the inputs make; raise UnreadableInputError where one says nothing usable."""
        names = self._names(at)
        given = {each.field: each.read(inputs, names[each.field]) for each in self.inputs}
        try:
            return self.model(**given)
        except ValidationError as error:
            unfit = {each.field: each.unfit for each in self.inputs if each.unfit}
            for found in error.errors(include_url=False):
                field = next((str(part) for part in reversed(found["loc"]) if str(part) in names), "")
                words = unfit.get(field) or found["msg"].removeprefix("Value error, ")
                inputs.problems.setdefault(names.get(field) or next(iter(names.values())), words)
            raise UnreadableInputError(str(error)) from error

    def draw(self, inputs: Inputs, at: str) -> None:
        """Draw the inputs."""
        if self.caption:
            st.caption(self.caption)
        names = self._names(at)
        for each in self.inputs:
            each.draw(inputs, names[each.field])
