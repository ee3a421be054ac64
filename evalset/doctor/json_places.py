"""Finds the places of a JSON text: which bytes a member takes, and on which line it stands.

Works on bytes that are known to be valid JSON. An object or a list is only looked through when a place in it is asked for.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Iterator
from functools import cache, cached_property
from json.scanner import make_scanner
from typing import Any, NamedTuple, TypeAlias

from evalset.doctor.model import JsonPath
from evalset.files.garbage_pauses import reading_large
from simulator.environment.expressions.json_paths import field_place, item_place

Span: TypeAlias = tuple[int, int]

_BLANKS = re.compile(rb"[ \t\r\n]*+")
_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
_SCALAR = re.compile(rb"[^ \t\r\n,\]}]++")
# Reads a value and says where it ends, many times faster than looking for its brackets. What it reads is thrown away.
_SCAN: Any = make_scanner(json.JSONDecoder(strict=False, parse_int=len, parse_float=len, parse_constant=len))  # type: ignore[arg-type] # it is typed as its own argument
_OPENING = frozenset({b"[", b"{"})


class Member(NamedTuple):
    """A member of an object, or an item of a list: its name or number, the bytes of its key (none in a list) and value."""

    name: str | int
    key: Span | None
    value: Span

    @property
    def start(self) -> int:
        """Where it begins, with its key."""
        return self.key[0] if self.key else self.value[0]


class Places:
    """The places of one text.

    Args:
        text: Valid JSON in UTF-8, without a byte order mark.
    """

    def __init__(self, text: bytes) -> None:
        self.text = text
        self._members: dict[int, tuple[Member, ...]] = {}
        self._numbered: dict[int, dict[str | int, Member]] = {}
        self._breaks: list[int] | None = None

    def value(self, path: JsonPath) -> Span:
        """Return the bytes of the value at a path; of members of the same name that of the last, as every parser takes it.

        Raises:
            KeyError: There is no such place.
        """
        if not path:
            start = self._blanks(0)
            return start, self._skip(start)
        return self.member(path).value

    def member(self, path: JsonPath) -> Member:
        """Return the member at a path that is not empty.

        Raises:
            KeyError: There is no such place.
        """
        start = self._blanks(0)
        found: Member | None = None
        for step in path:
            self.members(start)
            found = self._numbered[start].get(step)
            if found is None:
                raise KeyError(path)
            start = found.value[0]
        if found is None:
            raise KeyError(path)
        return found

    def members(self, start: int) -> tuple[Member, ...]:
        """Return the members of the object, or the items of the list, that begins there; none where it is neither."""
        known = self._members.get(start)
        if known is None:
            known = self._members[start] = tuple(self._read(start))
            self._numbered[start] = {member.name: member for member in known}
        return known

    def at(self, offset: int) -> tuple[int, int]:
        """Return the line and the column of a byte, both from 1."""
        if self._breaks is None:
            self._breaks = [found.start() for found in re.finditer(rb"\n", self.text)]
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

    def _blanks(self, start: int) -> int:
        found = _BLANKS.match(self.text, start)
        return found.end() if found else start

    def _read(self, start: int) -> list[Member]:
        opening = self.text[start : start + 1]
        if opening not in _OPENING:
            return []
        members: list[Member] = []
        place = self._blanks(start + 1)
        while self.text[place : place + 1] not in {b"]", b"}", b""}:
            key: Span | None = None
            name: str | int = len(members)
            if opening == b"{":
                key = (place, self._string_end(place))
                name = json.loads(self.text[slice(*key)])
                place = self._blanks(self._blanks(key[1]) + 1)
            value = (place, self._skip(place))
            members.append(Member(name, key, value))
            place = self._blanks(value[1])
            if self.text[place : place + 1] == b",":
                place = self._blanks(place + 1)
        return members

    def _string_end(self, start: int) -> int:
        found = _STRING.match(self.text, start)
        if found is None:
            raise ValueError(f"not valid JSON at byte {start}")
        return found.end()

    def _skip(self, start: int) -> int:
        """Return the end of the value that begins there."""
        first = self.text[start : start + 1]
        if first == b'"':
            return self._string_end(start)
        if first not in _OPENING:
            found = _SCALAR.match(self.text, start)
            if found is None:
                raise ValueError(f"not valid JSON at byte {start}")
            return found.end()
        try:
            with reading_large():
                end: int = _SCAN(self._letters, start)[1]
        except (StopIteration, ValueError) as error:
            raise ValueError(f"not valid JSON from byte {start} on") from error
        return end

    @cached_property
    def _letters(self) -> str:
        """The text with a letter for each byte, so that the parser's places are those of the bytes."""
        return self.text.decode("latin-1")


# Walks a JSON document by names in either spelling, and knows at each step where it is.


@cache
def camel(name: str) -> str:
    """Spell a name of ADK in camel case: `eval_id` is `evalId`."""
    first, *rest = name.split("_")
    return first + "".join(word[:1].upper() + word[1:] for word in rest)


def place_of(path: JsonPath) -> str:
    """Write a path for a person: `eval_cases[0].conversation[1]`."""
    place = ""
    for step in path:
        place = item_place(place, step) if isinstance(step, int) else field_place(place, step)
    return place


class Node(NamedTuple):
    """A value and where it stands."""

    value: Any
    path: JsonPath = ()

    def field(self, name: str) -> Node | None:
        """Return the member of this name, in snake or camel case; None where it is missing, null, or this is no object."""
        held, path = self
        if not isinstance(held, dict):
            return None
        if (found := held.get(name)) is not None:
            return Node(found, (*path, name))
        spelled = camel(name)
        if spelled != name and (found := held.get(spelled)) is not None:
            return Node(found, (*path, spelled))
        return None

    def items(self, name: str = "") -> Iterator[Node]:
        """Yield the items of this list, or of the list under this name; none where there is no list."""
        node = self.field(name) if name else self
        if node is not None and isinstance(node.value, list):
            path = node.path
            for index, each in enumerate(node.value):
                yield Node(each, (*path, index))

    def text(self, name: str) -> str:
        """Return the text under this name; an empty one where there is none."""
        found = self.field(name)
        return found.value if found and isinstance(found.value, str) else ""

    @property
    def members(self) -> dict[str, Any]:
        """The members of this object; none where it is no object."""
        return self.value if isinstance(self.value, dict) else {}
