"""Finds the entries of one member of a large JSON object: where each stands in the text, and what it says. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

_BLANKS = re.compile(r"[ \t\r\n]*+")
_decode = json.JSONDecoder().raw_decode


class Entry(NamedTuple):
    """An entry of a list or of an object: its name (empty in a list), its value, and its place in characters."""

    name: str
    value: Any
    start: int
    stop: int


def members(text: str, start: int = 0) -> Iterator[Entry]:
    """Give the members of the object that begins there, one after the other, so that none has to be held.

    Raises:
        ValueError: It is no object, or no valid JSON.
    """
    place = _opened(text, start, "{")
    while text[place] != "}":
        name, value_at = _name(text, place)
        value, stop = _decode(text, value_at)
        yield Entry(name, value, value_at, stop)
        place = _next(text, stop, "}")


def entries(text: str, start: int) -> Iterator[Entry]:
    """Give the entries of the list that begins there.

    Raises:
        ValueError: It is no list, or no valid JSON.
    """
    place = _opened(text, start, "[")
    while text[place] != "]":
        value, stop = _decode(text, place)
        yield Entry("", value, place, stop)
        place = _next(text, stop, "]")


def value_of(text: str, name: str) -> int | None:
    """Give where the value of a member of the object begins; None where there is none. No value is held.

    Raises:
        ValueError: What stands before it is no valid JSON.
    """
    place = _opened(text, 0, "{")
    while text[place] != "}":
        found, place = _name(text, place)
        if found == name:
            return place
        _, stop = _decode(text, place)
        place = _next(text, stop, "}")
    return None


def rest_of(text: str, stop: int) -> dict[str, Any]:
    """Read the members of the object that follow the value that ends there, to the very end of the text.

    Raises:
        ValueError: It is no valid JSON.
    """
    found: dict[str, Any] = {}
    place = _next(text, stop, "}")
    while text[place] != "}":
        name, place = _name(text, place)
        found[name], stop = _decode(text, place)
        place = _next(text, stop, "}")
    if _after(_BLANKS, text, place + 1) != len(text):
        raise ValueError("something follows after the end of the object")
    return found


def end_of(text: str, place: int) -> int:
    """Give the place behind the bracket that closes a list behind its last entry, which ends at `place`."""
    return _after(_BLANKS, text, place) + 1


def _opened(text: str, start: int, bracket: str) -> int:
    place = _after(_BLANKS, text, start)
    if text[place : place + 1] != bracket:
        raise ValueError(f"{bracket} is expected at character {place}")
    return _there(text, place + 1)


def _name(text: str, place: int) -> tuple[str, int]:
    """Read the name of a member; give it, and where its value begins."""
    name, stop = _decode(text, place)
    colon = _there(text, stop)
    if not isinstance(name, str) or text[colon] != ":":
        raise ValueError(f"no member begins at character {place}")
    return name, _there(text, colon + 1)


def _next(text: str, stop: int, closing: str) -> int:
    """Give where the next entry begins behind the one that ends there, or the closing bracket."""
    place = _there(text, stop)
    if text[place] == closing:
        return place
    if text[place] != ",":
        raise ValueError(f", or {closing} is expected at character {place}")
    place = _there(text, place + 1)
    if text[place] == closing:
        raise ValueError(f"another entry is expected at character {place}")
    return place


def _there(text: str, place: int) -> int:
    found = _after(_BLANKS, text, place)
    if found >= len(text):
        raise ValueError("the text ends too early")
    return found


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
