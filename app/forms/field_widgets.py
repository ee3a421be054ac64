"""The kinds of field that hold one value. Each shows a value in an input, reads what the input holds now, and says what is wrong with that.

A field begins with a value, its seed, or with `ABSENT` where it has none. A value that its input cannot hold, such as a text where a number
belongs, is JSON in that place, so nothing of it is lost. What inputs hold is read whether they are drawn in this run or not.

An input is called after the way to its field: `order.lines:0.qty`. A colon begins what is no field: `:null` and `:given` are
switches, `:kind` chooses a variant, `:as_text` whether words are a text, where a person has chosen,
`:rows` lists the rows of an array, `:others` are fields that no schema names. JSON by hand begins with `json:`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from types import MappingProxyType
from typing import Any, ClassVar, Literal, NamedTuple, TypedDict

import streamlit as st
from pydantic import JsonValue
from streamlit.delta_generator import DeltaGenerator
from typing_extensions import override

from app.forms.common_panel import badge, place
from app.forms.form_reading import FieldProblem, Path
from app.forms.safe_labels import Badge, literal, safe_label
from app.forms.typed_in_language import (
    LARGEST_WHOLE,
    Typed,
    as_day,
    example_date,
    in_words,
    is_amount,
    number_form,
    number_in_words,
    number_read,
    read_amount,
    read_date,
    read_number,
    read_time,
    read_yes_no,
)
from app.forms.typed_json import (
    TypedJsonError,
    parse_any,
    parse_json,
    parse_number,
    reads_as,
    show_json,
    write_any,
    write_json,
)
from app.forms.widget_store import KeptInputs
from simulator.base.json_paths import ABSENT
from simulator.base.json_values import same
from simulator.environment.drafts.docstrings import asks_for_date

LONG = 60
"""A longer text gets an input of several lines."""
_HELP = 300
_FIRST_DAY, _LAST_DAY = date(1900, 1, 1), date(2100, 12, 31)
"""What a calendar shows; other dates are typed."""
_SIDE_BY_SIDE = 5
"""More suggestions open below their field."""
_AS_TEXT = ":as_text"
"""Ends the name under which is kept whether words are a text, or what they look like, where a person has chosen."""


class InputPlace(NamedTuple):
    """The place of an input: its name, its way from the form's value, its label, and whether that is shown.

    Where `by_words` is set, a truth value is chosen by the words `true` and `false`: a switch is near that is no value. `kind` is what
    the other cells of its column are, and `kinds` are those of the columns of a row.
    """

    name: str
    path: Path
    label: str = ""
    shows_label: bool = True
    by_words: bool = False
    kind: str = ""
    kinds: Mapping[str, str] = MappingProxyType({})


class FormInputs:
    """The inputs of a form while it is read or drawn; `problems` are what was found wrong, `notes` what is said of it below each field.

    Where it is `live`, the page is drawn anew with each input that is left; else with the next click. `marks` say of a field where
    its value comes from. `on_remove` is called with the way to a field that is to be removed; without it none can be.
    """

    def __init__(
        self,
        kept: KeptInputs,
        notes: Mapping[Path, Sequence[str]] = MappingProxyType({}),
        *,
        live: bool = False,
        marks: Mapping[Path, Badge] = MappingProxyType({}),
        on_remove: Callable[[Path], None] | None = None,
    ) -> None:
        self.kept, self.notes, self.marks, self.on_remove = kept, notes, marks, on_remove
        self.on_change: Literal["rerun", "ignore"] = "rerun" if live else "ignore"
        self.problems: list[FieldProblem] = []

    def refuse(self, path: Path, message: str, *, is_missing: bool = False) -> Any:
        """Note what is wrong with a field, which has no value then."""
        self.problems.append(FieldProblem(path=path, message=message, is_missing=is_missing))
        return ABSENT

    def read(self, field: Field, seed: Any, at: InputPlace) -> Any:
        """Return what a field's inputs hold; `ABSENT` where they say nothing usable."""
        shown, seed = field.shown(seed)
        return shown.read(self, seed, at)

    def draw(self, field: Field, seed: Any, at: InputPlace) -> None:
        """Draw a field with its mark, and what is wrong with it."""
        shown, seed = field.shown(seed)
        shown.draw(self, seed, at)
        if at.path in self.marks:
            badge(self.marks[at.path])
        self.say(at.path)

    def say(self, path: Path) -> None:
        """Say what is wrong with a field."""
        for note in self.notes.get(path, ()):
            problem_line(note)

    def line(self, name: str) -> DeltaGenerator:
        """Return a line of inputs with a button at its end, which stays beside them when one gets a message below it."""
        return st.container(horizontal=True, gap="xsmall", key=self.kept.key(f"field_line:{name}"))


class _Named(TypedDict):
    label: str
    help: str | None
    label_visibility: Literal["visible", "collapsed"]


@dataclass(frozen=True, kw_only=True)
class Field:
    """A field of a form; `default` is what it shows where it has no value.

    Attributes:
        kind: What it is called where its schema has no title.
        beside: How the way to remove it stands beside it.
        is_simple: Whether it is one input.
    """

    kind: ClassVar[str]
    beside: ClassVar[Literal["line", "center", "top"]] = "line"
    is_simple: ClassVar[bool] = True
    title: str = ""
    description: str = ""
    default: Any = ABSENT

    def fits(self, value: Any) -> bool:
        """Return whether its inputs can hold a value."""
        raise NotImplementedError

    def misfits(self, value: Any) -> int:  # noqa: ARG002 - one value is as good as another
        """Count what in a value that its inputs can hold does not look like it; 0 fits best."""
        return 0

    def read(self, form: FormInputs, seed: Any, at: InputPlace) -> Any:
        """Return the value that the inputs hold; `ABSENT` where they say nothing usable."""
        raise NotImplementedError

    def draw(self, form: FormInputs, seed: Any, at: InputPlace) -> None:
        """Draw the inputs."""
        raise NotImplementedError

    def shown(self, seed: Any) -> tuple[Field, Any]:
        """Return the field that can show a value, and the value: JSON where this one cannot, and its default where there is none."""
        if seed is not ABSENT:
            return (self if self.fits(seed) else JsonField(description=self.description)), seed
        return self, self.default if self.default is ABSENT or self.fits(self.default) else ABSENT

    def named(self, at: InputPlace) -> _Named:
        """Return what each input says of itself."""
        return {
            "label": at.label,
            "help": self.help,
            "label_visibility": "visible" if at.shows_label else "collapsed",
        }

    @property
    def help(self) -> str | None:
        """Its description, for a label."""
        return safe_label(self.description, _HELP) if self.description else None


@dataclass(frozen=True, kw_only=True)
class TextField(Field):
    """A text; `suggestions` are values that its schema gives as examples, or its description as choices; any other may be typed.

    `asks_day`: its schema or description asks for a date as `YYYY-MM-DD`, or it is named like a date.
    """

    kind = "text"
    is_long: bool = False
    suggestions: tuple[str, ...] = ()
    asks_day: bool = False

    @override
    def fits(self, value: Any) -> bool:
        return isinstance(value, str)

    def first(self, seed: Any) -> str:
        """Return what the input holds at first."""
        return "" if seed is ABSENT else str(seed)

    def typed(self, kept: KeptInputs, seed: Any, name: str) -> Typed:
        """Return what the input holds."""
        return Typed(str(kept.value(name, self.first(seed)) or ""))

    @override
    def read(self, form: FormInputs, seed: Any, at: InputPlace) -> Any:
        held = self.typed(form.kept, seed, at.name)
        try:
            return form.refuse(at.path, held.problem) if held.problem else self.value(held.text)
        except ValueError as error:
            return form.refuse(at.path, str(error), is_missing=not held.text.strip())

    def value(self, text: str) -> JsonValue:
        """Return the value of a text; raise ValueError where it is none."""
        return text

    @override
    def draw(self, form: FormInputs, seed: Any, at: InputPlace) -> None:
        named, kept, text = self.named(at), form.kept, self.first(seed)
        if self.is_long or is_long(text):
            st.text_area(**named, key=kept.widget(at.name, text), on_change=form.on_change)
        else:
            on_change = "rerun" if self.asks_day else form.on_change
            st.text_input(**named, key=kept.widget(at.name, text, str), on_change=on_change)
        if self.asks_day:
            with place("xxsmall"):
                typed = str(kept.value(at.name, text) or "")
                offer_day(kept, at.name, typed, kept.put, at.name)
        suggested(kept, at.name, at.label, self.suggestions, most=_SIDE_BY_SIDE if at.shows_label else 0)


class _LanguageField(TextField):
    """What is typed in the browser's language, as no input of a browser's own reads it: one for numbers makes 30000 of `300,00`."""

    @override
    def fits(self, value: Any) -> bool:
        raise NotImplementedError

    def typed(self, kept: KeptInputs, seed: Any, name: str) -> Typed:
        """Return what the input holds, as JSON writes it; what it held at first is that already."""
        text = str(kept.value(name, first := self.first(seed)) or "")
        if not text.strip() or text == first:
            return Typed(text)
        read = self.reads(text, kept.language)
        return Typed(read.text or text, read.problem)

    def reads(self, text: str, language: str | None) -> Typed:
        """Read a text in a language."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class NumberField(_LanguageField):
    """A number, or a whole number."""

    kind = "number"
    is_integer: bool = False

    @override
    def fits(self, value: Any) -> bool:
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        return is_number and abs(value) <= LARGEST_WHOLE and not (self.is_integer and value != int(value))

    @override
    def first(self, seed: Any) -> str:
        return "" if seed is ABSENT else write_json(int(seed) if self.is_integer else seed)

    @override
    def reads(self, text: str, language: str | None) -> Typed:
        try:
            return Typed(write_json(read_number(text, language, is_whole=self.is_integer)))
        except ValueError as error:
            return Typed(problem=str(error))

    @override
    def value(self, text: str) -> JsonValue:
        return read_number(text, is_whole=self.is_integer)

    @override
    def draw(self, form: FormInputs, seed: Any, at: InputPlace) -> None:
        """Draw it, and below it what was typed as the browser's language writes it."""
        super().draw(form, seed, at)
        with place("xxsmall"):
            if said := number_read(str(form.kept.value(at.name, "") or ""), form.kept.language):
                st.caption(said)


@dataclass(frozen=True, kw_only=True)
class TimeField(_LanguageField):
    """A date, or a date with a time."""

    format: Literal["date", "date-time"]

    @override
    def fits(self, value: Any) -> bool:
        try:
            return isinstance(value, str) and bool(self._parse(value))
        except ValueError:
            return False

    def _parse(self, text: str) -> date:
        return (date if self.format == "date" else datetime).fromisoformat(text)

    @override
    def reads(self, text: str, language: str | None) -> Typed:
        return (read_date if self.format == "date" else read_time)(text, language)

    @override
    def value(self, text: str) -> JsonValue:
        if not self.fits(text):
            example = "2025-12-31" if self.format == "date" else "2025-12-31T09:30:00Z"
            raise ValueError(f"enter a {self.format}, for example {example}")
        return text

    @override
    def draw(self, form: FormInputs, seed: Any, at: InputPlace) -> None:
        """Draw it, and below it in words what was read. It is read and written as JSON does once it is left."""
        kept, example = form.kept, example_date(form.kept.language)
        with form.line(f"{at.name}:date") if at.shows_label else st.container(horizontal=True):
            st.text_input(
                **self.named(at),
                key=kept.widget(at.name, self.first(seed)),
                on_change=self._settle,
                args=(kept, seed, at.name),
                placeholder=example if self.format == "date" else f"{example} 09:30",
            )
            held = self.typed(kept, seed, at.name)
            if self.format == "date":
                self._calendar(kept, held, at.name)
        with place("xxsmall"):
            if not held.problem and (words := in_words(held.text)):
                st.caption(words)

    def _calendar(self, kept: KeptInputs, held: Typed, name: str) -> None:
        """Draw the calendar of a date, which fills its input; it shows the date that was typed."""
        key = kept.key(f"{name}:calendar")
        day = self._parse(held.text) if not held.problem and self.fits(held.text) else None
        st.session_state[key] = day if day is not None and _FIRST_DAY <= day <= _LAST_DAY else None

        def take() -> None:
            if (chosen := st.session_state[key]) is not None:
                kept.put(name, chosen.isoformat())

        menu = st.popover(
            ":material/calendar_month:",
            type="tertiary",
            help="Open a calendar",
            key=kept.key(f"{name}:calendar_menu"),
        )
        menu.date_input("Date", key=key, min_value=_FIRST_DAY, max_value=_LAST_DAY, on_change=take)

    def _settle(self, kept: KeptInputs, seed: Any, name: str) -> None:
        """Write a date as JSON does, so that no one reads it in another language as another one."""
        held = self.typed(kept, seed, name)
        if not held.problem:
            kept.put(name, held.text)


@dataclass(frozen=True, kw_only=True)
class BooleanField(Field):
    """True or false."""

    kind, beside = "boolean", "center"

    @override
    def fits(self, value: Any) -> bool:
        return isinstance(value, bool)

    @override
    def read(self, form: FormInputs, seed: Any, at: InputPlace) -> Any:
        return bool(form.kept.value(at.name, seed is True))

    @override
    def draw(self, form: FormInputs, seed: Any, at: InputPlace) -> None:
        """Draw it as a switch beside its name, and where another switch is near, by its two words."""
        named, key = self.named(at), form.kept.widget(at.name, seed is True)
        if at.shows_label and not at.by_words:
            st.toggle(**named, key=key, on_change=form.on_change)
        else:
            st.radio(
                **named,
                options=(True, False),
                format_func=lambda on: "true" if on else "false",
                horizontal=True,
                key=key,
                on_change=form.on_change,
            )


@dataclass(frozen=True, kw_only=True)
class ChoiceField(Field):
    """One of several values."""

    kind = "choice"
    options: tuple[JsonValue, ...]

    @override
    def fits(self, value: Any) -> bool:
        return self._place(value) is not None

    def _place(self, value: Any) -> int | None:
        """Return the place of a value among the options; without a value that of the only one."""
        if value is ABSENT:
            return 0 if len(self.options) == 1 else None
        return next((at for at, option in enumerate(self.options) if same(option, value)), None)

    @override
    def read(self, form: FormInputs, seed: Any, at: InputPlace) -> Any:
        chosen = form.kept.value(at.name, self._place(seed))
        if chosen is None or not 0 <= chosen < len(self.options):
            return form.refuse(at.path, "choose one of the values", is_missing=True)
        return self.options[chosen]

    @override
    def draw(self, form: FormInputs, seed: Any, at: InputPlace) -> None:
        words = [literal(each) if isinstance(each, str) else show_json(each) for each in self.options]
        st.selectbox(
            **self.named(at),
            options=range(len(words)),
            index=None,
            format_func=words.__getitem__,
            key=form.kept.widget(at.name, self._place(seed)),
            on_change=form.on_change,
            placeholder="Choose a value",
        )


@dataclass(frozen=True, kw_only=True)
class ConstField(Field):
    """The one value that may stand here."""

    kind = "const"
    value: JsonValue

    @override
    def fits(self, value: Any) -> bool:
        return same(self.value, value)

    @override
    def read(self, form: FormInputs, seed: Any, at: InputPlace) -> Any:
        return self.value

    @override
    def draw(self, form: FormInputs, seed: Any, at: InputPlace) -> None:
        key = form.kept.key(at.name)
        st.text_input(**self.named(at), value=show_json(self.value), key=key, disabled=True)


class TypedWords(NamedTuple):
    """JSON as it was typed.

    Words that are a text (`is_text`) are one, also where they look like a number; `problem` says how to write the number that they may
    mean. Where nothing but the typed words says what they are (`is_free`), the other cells of their column do.
    """

    text: str
    problem: str = ""
    is_text: bool = False
    is_free: bool = False

    @property
    def kind(self) -> str:
        """What they are read as; empty where that is open."""
        return "" if self.problem else reads_as(self.text, is_text=self.is_text)


@dataclass(frozen=True, kw_only=True)
class JsonField(Field):
    """Any JSON, written by hand; `blank` is what an empty field starts with. `is_open`: nobody has said what it holds, so words need no quotes.

    `suggestions` are texts to choose from where it is open.
    """

    kind, is_simple = "json", False
    blank: str = ""
    is_open: bool = False
    suggestions: tuple[str, ...] = ()

    @override
    def fits(self, value: Any) -> bool:
        return True

    @override
    def misfits(self, value: Any) -> int:
        return 1

    def _words(self, seed: Any) -> TypedWords:
        """Return what the input holds at first."""
        if seed is ABSENT or not self.is_open:
            return TypedWords(self.blank if seed is ABSENT else write_json(seed))
        text = "" if seed is None else write_any(seed)
        return TypedWords(text, is_text=text == seed and reads_as(text) != "text")

    def typed(self, kept: KeptInputs, seed: Any, name: str, column: str = "") -> TypedWords:
        """Return what the input holds; what was a text or a number stays one, unless a person has chosen. `column` is what other cells are."""
        name, first = f"json:{name}", self._words(seed)
        text = str(kept.value(name, first.text) or "")
        if not self.is_open:
            return TypedWords(text)
        chosen = kept.value(f"{name}{_AS_TEXT}")
        if chosen or (chosen is None and (not text.strip() or text == first.text)):
            is_words = reads_as(text) != "text" == reads_as(text, is_text=True)
            return TypedWords(text, is_text=is_words and bool(chosen or first.is_text))
        if chosen is False and (said := read_yes_no(text, kept.language)) is not None:
            return TypedWords(write_json(said))
        kind = "number" if chosen is False else first.kind
        is_free = kind not in {"text", "number"}
        read = _read_open(text, kept.language, column if is_free else kind, is_free=is_free)
        number = None if chosen is None or read.problem else parse_number(read.text)
        return read if number is None else TypedWords(write_json(number))

    @override
    def read(self, form: FormInputs, seed: Any, at: InputPlace) -> Any:
        held = self.typed(form.kept, seed, at.name, at.kind)
        if self.is_open and seed is None and not held.text.strip():
            return None
        try:
            return parse_any(held.text, is_text=held.is_text) if self.is_open else parse_json(held.text)
        except TypedJsonError as error:
            is_missing = not held.text.strip()
            words = "enter a text, a number or JSON" if self.is_open and is_missing else str(error)
            return form.refuse(at.path, words, is_missing=is_missing)

    @override
    def draw(self, form: FormInputs, seed: Any, at: InputPlace) -> None:
        named, text = self.named(at), self._words(seed).text
        key = form.kept.widget(f"json:{at.name}", text)
        if self.is_open and not is_long(text):
            st.text_input(**named, key=key, on_change="rerun", placeholder="Text, number or JSON")
            with place():
                self._say(form.kept, seed, at)
            most = _SIDE_BY_SIDE if at.shows_label else 0
            suggested(form.kept, f"json:{at.name}", at.label, self.suggestions, most=most)
        else:
            named["label"] = f"{at.label} (JSON)"
            st.text_area(**named, key=key, height="content", on_change=form.on_change)

    def _say(self, kept: KeptInputs, seed: Any, at: InputPlace) -> None:
        """Say what words are that could be something else, with the way to make them that."""
        read, name = self.typed(kept, seed, at.name, at.kind), f"json:{at.name}"
        typed = str(kept.value(name, read.text))
        if at.path and asks_for_date({}, self.description, str(at.path[-1])):
            offer_day(kept, name, typed, kept.put, name)
        if read.problem:
            problem_line(f"Read as text: {read.problem}.")
        kind = reads_as(read.text, is_text=read.is_text)
        number = parse_number(read_amount(read.text, kept.language).text)
        looks = "number" if number is not None else "" if read.problem else reads_as(read.text)
        is_known = self._words(seed).kind in {"text", "number"}
        if not is_known and read_yes_no(read.text, kept.language) is not None:
            looks = "yes or no"
        wanted = [way for way in ("text", looks) if way and (way != kind or (read.problem and way == "text"))]
        if not (kind and wanted):
            return
        with st.container(horizontal=True, gap="xsmall", vertical_alignment="center"):
            more = "" if typed == read.text else f": {number_in_words(read.text, kept.language)}"
            if not read.problem:
                st.caption(f"{kind.capitalize()}{more}", width="content")
            for way in wanted:
                st.button(
                    f"{'Keep' if way == kind else 'Use'} as {way}",
                    key=kept.key(f"{name}:use_as_{way.split()[0]}"),
                    type="tertiary",
                    on_click=kept.put,
                    args=(f"{name}{_AS_TEXT}", way == "text"),
                )


def _read_open(text: str, locale: str | None, kind: str, *, is_free: bool) -> TypedWords:
    """Read words of which no schema says what they are: as a text or a number, where that is their `kind`, else as they look."""
    read = Typed(text) if kind == "text" else read_amount(text, locale)
    text, problem = read.text or text, read.problem
    if kind != "text" and is_amount(text) and not problem:
        problem = f"a number is written {number_form(locale)}"
    is_text = kind == "text" and reads_as(text) in {"number", ""} and reads_as(text, is_text=True) == "text"
    return TypedWords(text, problem, is_text or bool(problem), is_free)


def is_long(text: str) -> bool:
    """Return whether a text has an input of several lines."""
    return len(text) > LONG or "\n" in text


def suggested(
    kept: KeptInputs,
    name: str,
    label: str,
    suggestions: Iterable[str],
    words: Callable[[str], str] = str,
    *,
    most: int = _SIDE_BY_SIDE,
) -> None:
    """Draw what a click puts into the text field above, which itself keeps whatever is typed.

    More suggestions than `most` open with a click. Where `words` call the field's text otherwise than it is written, they are said, too.
    """
    offered = list(dict.fromkeys(suggestions))
    key, menu, now = kept.key(f"{name}:suggested"), kept.key(f"{name}:suggestions"), kept.value(name)
    with place("xxsmall"):
        if now in offered and words(now) != now:
            st.caption(safe_label(words(now), _HELP))
        if not offered:
            return
        st.session_state[key] = None  # none is lit, so that a click always puts one in

        def take() -> None:
            if (chosen := st.session_state[key]) is not None:
                kept.put(name, chosen)
                st.session_state[menu] = False

        is_menu = len(offered) > most
        with st.popover("Suggestions", type="tertiary", key=menu, on_change="rerun") if is_menu else place():
            st.pills(
                f"Suggestions for {label}",
                offered,
                format_func=lambda one: safe_label(words(one), LONG),
                key=key,
                on_change=take,
                label_visibility="collapsed",
            )


def offer_day(
    kept: KeptInputs, name: str, typed: str, on_click: Callable[..., None], *args: Any, where: str = ""
) -> None:
    """Say which date a text means as JSON writes it; a click calls `on_click` with `args` and the date."""
    if day := as_day(typed, kept.language):
        with st.container(horizontal=True, gap="xsmall", vertical_alignment="center"):
            st.caption(f"{where}As YYYY-MM-DD: {day}", width="content")
            key = kept.key(f"{name}:use_day")
            st.button(f"Use {day}", key=key, type="tertiary", on_click=on_click, args=(*args, day))


def close_button(key: str, words: str, on_click: Callable[..., None], *args: Any) -> None:
    """Draw a cross that takes something away."""
    st.button(":material/close:", key=key, type="tertiary", help=words, on_click=on_click, args=args)


def problem_line(text: str) -> None:
    """Show what is wrong with an input, as plain text."""
    with st.container(horizontal=True, gap="xsmall", vertical_alignment="center"):
        st.badge("Fix", icon=":material/error:", color="red")
        st.text(literal(text))
