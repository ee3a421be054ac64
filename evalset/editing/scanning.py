"""Finds the entries of one member of a large JSON object: where each stands in the text, and what it says. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

_BLANKS = re.compile(r"[ \t\r\n]*+")
_BETWEEN = re.compile(r"[ \t\r\n]*+,?[ \t\r\n]*+")
_decode = json.JSONDecoder().raw_decode


class Entry(NamedTuple):
    """An entry of a list or of an object: its name (empty in a list), its value, and its place in characters."""

    name: str
    value: Any
    start: int
    stop: int


def members(text: str, start: int = 0) -> Iterator[Entry]:
    """Give the members of the object that begins there, one after the other, so that none has to be held.

    The text is known to be valid JSON.
    """
    place = _after(_BLANKS, text, start) + 1
    while text[place := _after(_BETWEEN, text, place)] != "}":
        name, place = _decode(text, place)
        place = _after(_BLANKS, text, _after(_BLANKS, text, place) + 1)
        value, stop = _decode(text, place)
        yield Entry(name, value, place, stop)
        place = stop


def entries(text: str, start: int) -> Iterator[Entry]:
    """Give the entries of the list that begins there. The text is known to be valid JSON."""
    place = _after(_BLANKS, text, start) + 1
    while text[place := _after(_BETWEEN, text, place)] != "]":
        value, stop = _decode(text, place)
        yield Entry("", value, place, stop)
        place = stop


def value_of(text: str, name: str) -> int | None:
    """Give where the value of a member of the object begins; None where there is none. No value is held."""
    place = _after(_BLANKS, text, 0) + 1
    while text[place := _after(_BETWEEN, text, place)] != "}":
        found, place = _decode(text, place)
        place = _after(_BLANKS, text, _after(_BLANKS, text, place) + 1)
        if found == name:
            return place
        _, place = _decode(text, place)
    return None


def _after(pattern: re.Pattern[str], text: str, place: int) -> int:
    found = pattern.match(text, place)
    return found.end() if found else place


class Bytes:
    """Counts bytes in a text: the places of a text in UTF-8 that belong to its characters, asked for in order."""

    def __init__(self, text: str) -> None:
        self._text = None if text.isascii() else text
        self._at = self._bytes = 0

    def before(self, place: int) -> int:
        """Give how many bytes stand before a character; `place` must not be smaller than the one before."""
        if self._text is None:
            return place
        self._bytes += len(self._text[self._at : place].encode())
        self._at = place
        return self._bytes
