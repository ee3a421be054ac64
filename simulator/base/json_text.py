"""Reads JSON text in C, with Python's search for garbage kept away from what is large, and looks up where something stands only when that is asked for.

An object or a list is only looked through when a place in it is asked for. A file that is too large to be held is stepped through by
`evalset.files.json_streams`; where the next case of an eval set goes, `evalset.files.set_outline` finds from the end of its text.
"""

from __future__ import annotations

import gc
import json
import re
import sys
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from itertools import islice
from json.decoder import scanstring  # type: ignore[attr-defined] # its stubs leave it out
from json.scanner import make_scanner
from threading import Lock
from typing import Any, AnyStr, Generic, NamedTuple, NoReturn, TypeAlias

from simulator.base.json_values import is_deep
from simulator.base.validation_words import InputError

_lock = Lock()
_reading = 0
_holding = 0
_was_on = False


@contextmanager
def reading_large() -> Iterator[None]:
    """Search for no garbage within this block; for a second or two of reading, in any number of threads at once."""
    global _reading, _was_on  # noqa: PLW0603 - the collector is the process's own
    with _lock:
        if _reading == 0:
            _was_on = gc.isenabled()
            gc.disable()
        _reading += 1
    try:
        yield
    finally:
        with _lock:
            _reading -= 1
            if _holding:
                gc.freeze()
            if _reading == 0 and _was_on:
                gc.enable()


@contextmanager
def holding_large() -> Iterator[None]:
    """Leave out of the search, within this block, what was read in it; with the end of the last such block all is searched again."""
    global _holding  # noqa: PLW0603 - as above
    with _lock:
        _holding += 1
    try:
        yield
    finally:
        with _lock:
            _holding -= 1
            if _holding == 0:
                gc.unfreeze()


_SELDOM = (50_000, 20, 100)
_working = 0
_thresholds = gc.get_threshold()


@contextmanager
def collecting_seldom() -> Iterator[None]:
    """Search seldom within this block: for work that leaves little garbage, while each search looks at all that ADK has imported."""
    global _working, _thresholds  # noqa: PLW0603 - as above
    with _lock:
        if _working == 0:
            _thresholds = gc.get_threshold()
            gc.set_threshold(*_SELDOM)
        _working += 1
    try:
        yield
    finally:
        with _lock:
            _working -= 1
            if _working == 0:
                gc.set_threshold(*_thresholds)


JsonPath: TypeAlias = tuple[str | int, ...]
"""The way to a value, from the top: names of members and numbers of items."""

Span: TypeAlias = tuple[int, int]

_BLANKS = re.compile(r"[ \t\r\n]*+")
_TIGHT = frozenset(',:]}"[{-0123456789tfn')
"""What ends blanks in JSON: where it stands at once, there are none, and no pattern has to look."""
# Reads a value and says where it ends, many times faster than looking for its brackets. What it reads is thrown away.
_SCAN: Any = make_scanner(json.JSONDecoder(strict=False, parse_int=len, parse_float=len, parse_constant=len))  # type: ignore[arg-type] # it is typed as its own argument


class Member(NamedTuple):
    """A member of an object, or an item of a list: its name or number, the span of its key (none in a list) and of its value."""

    name: str | int
    key: Span | None
    value: Span

    @property
    def start(self) -> int:
        """Where it begins, with its key."""
        return self.key[0] if self.key else self.value[0]


class JsonPlaces(Generic[AnyStr]):
    """The places of one text: in characters, or in bytes where it is given as such.

    Each method raises ValueError where it meets what is no JSON.

    Args:
        text: Valid JSON; bytes are UTF-8 without a byte order mark.
    """

    def __init__(self, text: AnyStr) -> None:
        self.text: AnyStr = text
        self._known: dict[int, tuple[Member, ...]] = {}
        self._named: dict[int, Mapping[str | int, Member]] = {}
        self._lists: dict[int, tuple[list[Member], Iterator[Member]]] = {}

    def value(self, path: JsonPath) -> Span:
        """Return the span of the value at a path; of members of the same name that of the last, as every parser takes it.

        Raises:
            KeyError: There is no such place.
        """
        if not path:
            start = self._blanks(0)
            return start, self._end(start)
        return self.member(path).value

    def member(self, path: JsonPath) -> Member:
        """Return the member at a path that is not empty.

        Raises:
            KeyError: There is no such place.
        """
        start = self._blanks(0)
        found: Member | None = None
        for step in path:
            found = self._step(start, step)
            if found is None:
                raise KeyError(path)
            start = found.value[0]
        if found is None:
            raise KeyError(path)
        return found

    def members(self, start: int) -> tuple[Member, ...]:
        """Return the members of the object, or the items of the list, that begins there; none where it is neither."""
        known = self._known.get(start)
        if known is None:
            known = self._known[start] = tuple(self._read(start))
        return known

    def at(self, offset: int) -> tuple[int, int]:
        """Return the line and the column of a place in the text, both from 1."""
        line = bisect_left(self._breaks, offset)
        return line + 1, offset - (self._breaks[line - 1] if line else -1)

    def where(self, path: JsonPath) -> tuple[int, int]:
        """Return the line and the column of a place; of the nearest one around it where there is no such place."""
        while path:
            try:
                return self.at(self.member(path).start)
            except KeyError:
                path = path[:-1]
        return self.at(self._blanks(0))

    def line(self, steps: Iterable[str | int]) -> int:
        """Return the line of a place, from 1. Steps that are not there are left out."""
        found = value = self._blanks(0)
        for step in steps:
            member = self._step(value, step)
            if member is not None:
                found, value = member.start, member.value[0]
        return self.at(found)[0]

    def _step(self, start: int, step: str | int) -> Member | None:
        """Return a member. Of a list nothing is read after it: the places that are asked for are mostly at its beginning."""
        if not isinstance(step, int) or start in self._known or self._letters[start : start + 1] != "[":
            return self._by_name(start).get(step)
        if start not in self._lists:
            self._lists[start] = [], self._read(start)
        items, others = self._lists[start]
        items += islice(others, max(step + 1 - len(items), 0))
        return items[step] if 0 <= step < len(items) else None

    def _by_name(self, start: int) -> Mapping[str | int, Member]:
        named = self._named.get(start)
        if named is None:
            named = self._named[start] = {member.name: member for member in self.members(start)}
        return named

    def _blanks(self, start: int) -> int:
        if self._letters[start : start + 1] in _TIGHT:
            return start
        found = _BLANKS.match(self._letters, start)
        return found.end() if found else start

    def _read(self, start: int) -> Iterator[Member]:
        letters = self._letters
        opening = letters[start : start + 1]
        if opening not in {"[", "{"}:
            return
        number = 0
        place = self._blanks(start + 1)
        while letters[place : place + 1] not in {"]", "}", ""}:
            key: Span | None = None
            name: str | int = number
            if opening == "{":
                name, key = self._key(place)
                place = self._blanks(self._blanks(key[1]) + 1)
            value = (place, self._end(place))
            number += 1
            yield Member(name, key, value)
            place = self._blanks(value[1])
            if letters[place : place + 1] == ",":
                place = self._blanks(place + 1)

    def _key(self, start: int) -> tuple[str, Span]:
        if self._letters[start : start + 1] != '"':
            raise ValueError(f"not valid JSON at offset {start}")
        name, end = scanstring(self._letters, start + 1, False)
        if not isinstance(self.text, str) and not name.isascii():  # its letters stand for bytes
            name = json.loads(self.text[start:end], strict=False)
        return name, (start, end)

    def _end(self, start: int) -> int:
        """Return the end of the value that begins there."""
        try:
            if self._letters[start : start + 1] not in {"[", "{"}:
                return int(_SCAN(self._letters, start)[1])
            with reading_large():
                return int(_SCAN(self._letters, start)[1])
        except (StopIteration, ValueError) as error:
            raise ValueError(f"not valid JSON from offset {start}") from error

    @cached_property
    def _letters(self) -> str:
        """The text; of bytes with a letter for each, so that the parser's places are those of the bytes."""
        return self.text if isinstance(self.text, str) else self.text.decode("latin-1")

    @cached_property
    def _breaks(self) -> list[int]:
        sign = "\n" if isinstance(self.text, str) else b"\n"
        return [found.start() for found in re.finditer(sign, self.text)]


_TOO_DEEP = "nested too deeply"
MOST_LEVELS = 240
"""So many levels are read anywhere; more is refused. A journal holds values of up to 200 levels, within some of its own."""

MOST_CHARACTERS = 64 << 20
"""As many as an upload has bytes."""
MOST_VALUES = 2_000_000
"""Of one text. What Python makes of a value takes up to 300 bytes, however short it is written."""

_STRINGS = re.compile(r'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)
_TOKENS = re.compile(r'"(?:[^"\\]|\\.)*"?|-?(?:NaN|Infinity)|-?[0-9]+|[\[\]{}]', re.DOTALL)


class JsonTextError(InputError):
    """A text is no JSON.

    Attributes:
        reason: What is wrong.
        line: Where, counted from 1.
        column: Where in the line, counted from 1.
    """

    def __init__(self, reason: str, line: int, column: int) -> None:
        super().__init__(f"{reason} at line {line}, column {column}")
        self.reason, self.line, self.column = reason, line, column


class JsonSyntaxError(JsonTextError):
    """A text is not written as JSON; it may be something else."""


class JsonSizeError(JsonTextError):
    """A text is too long, or holds too many values; whether it is JSON was not looked at."""


def read_json(
    text: str,
    *,
    pairs: Callable[[list[tuple[str, Any]]], Any] | None = None,
    constants: bool = False,
    most: int = MOST_CHARACTERS,
) -> Any:
    """Read JSON. What is too large is refused before it is parsed.

    Args:
        text: The text; a byte order mark before it is left out.
        pairs: Makes an object of its members.
        constants: Let NaN and Infinity pass, which JSON cannot represent.
        most: The longest text that is read, in characters.

    Raises:
        JsonTextError: It is no JSON, is too long, holds more than `MOST_VALUES`, is nested too deeply, or holds a number of more
            digits than Python reads.
    """
    text = text.removeprefix("\ufeff")
    if len(text) > most:
        raise JsonSizeError(f"the text has {len(text):,} characters; the limit is {most:,}", 1, 1)
    check_values(text)
    value = _read(text, pairs=pairs, constants=constants)
    if is_deep(value, MOST_LEVELS):
        raise JsonTextError(_TOO_DEEP, *line_and_column(text, _deepest(text) or 0))
    return value


def check_values(text: str, start: int = 0, most: int = MOST_VALUES) -> None:
    """Check how many values a text in JSON holds, from a place on; one with few commas and brackets is not looked through.

    Raises:
        JsonSizeError: There are more than `most`.
    """
    if sum(text.count(sign, start) for sign in ",[{") <= most:
        return
    bare = _STRINGS.sub("", text[start:] if start else text)
    if (found := sum(bare.count(sign) for sign in ",[{")) > most:
        raise JsonSizeError(
            f"the text has {found:,} values; the limit is {most:,}", *line_and_column(text, start)
        )


def _read(text: str, *, pairs: Callable[[list[tuple[str, Any]]], Any] | None, constants: bool) -> Any:
    try:
        return json.loads(text, object_pairs_hook=pairs, parse_constant=None if constants else _no_constant)
    except json.JSONDecodeError as error:
        raise JsonSyntaxError(error.msg, error.lineno, error.colno) from None
    except RecursionError:
        raise JsonTextError(_TOO_DEEP, *line_and_column(text, _deepest(text) or 0)) from None
    except _ConstantError as error:
        word = str(error)
        offset = _first(text, lambda token: token == word)
        raise JsonTextError(f"{word} is not a JSON number", *line_and_column(text, offset or 0)) from None
    except JsonTextError:
        raise
    except ValueError as error:
        most = sys.get_int_max_str_digits()
        offset = _first(text, lambda token: token[-1:].isdigit() and len(token.lstrip("-")) > most)
        if offset is None:
            raise
        digits = len(_TOKENS.match(text, offset).group().lstrip("-"))  # type: ignore[union-attr] # it was found so
        reason = f"a number has {digits:,} digits; the limit is {most:,}"
        raise JsonTextError(reason, *line_and_column(text, offset)) from error


class _ConstantError(ValueError):
    pass


def _no_constant(word: str) -> NoReturn:
    raise _ConstantError(word)


def _first(text: str, wanted: Callable[[str], bool]) -> int | None:
    """Return where the first token stands that is wanted; texts are none."""
    found = (each.start() for each in _TOKENS.finditer(text) if text[each.start()] != '"' and wanted(each[0]))
    return next(found, None)


def _deepest(text: str) -> int | None:
    """Return where the bracket stands that is one too many."""
    depth = 0
    for token in _TOKENS.finditer(text):
        if token[0] in "[{":
            depth += 1
            if depth > MOST_LEVELS:
                return token.start()
        elif token[0] in "]}":
            depth -= 1
    return None


def line_and_column(text: str, at: int) -> tuple[int, int]:
    """Return the line and the column of a character, both from 1; `simulator.base.json_text` knows those of many."""
    return text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)


def plain_parts(word: str) -> list[str]:
    """Return what of a word, in small letters, stands in each JSON text that says it: nothing of one with letters that may be escaped."""
    return re.findall(r"[a-z0-9]+", word) if word.isascii() else []
