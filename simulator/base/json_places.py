"""Finds the places of a JSON text that is held: what a member takes of it, and on which line that stands.

An object or a list is only looked through when a place in it is asked for. A file that is too large to be held is stepped through by
`evalset.files.json_streams`; where the next case of an eval set goes, `evalset.files.set_outline` finds from the end of its text.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from itertools import islice
from json.decoder import scanstring  # type: ignore[attr-defined] # its stubs leave it out
from json.scanner import make_scanner
from typing import Any, AnyStr, Generic, NamedTuple, TypeAlias

from simulator.base.garbage_pauses import reading_large

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
