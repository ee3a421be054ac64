"""Marks the places of a draft for which nothing is known, and says what stands there meanwhile."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import JsonValue

from simulator.environment.environment_value import FiniteValue
from simulator.environment.evidence.sketch import Kind

_EMPTY: dict[Kind, JsonValue] = {
    "integer": 0,
    "number": 0,
    "boolean": False,
    "": None,
    "null": None,
    "array": [],
    "object": {},
}


class Blank(FiniteValue):
    """A place of a draft for which no source gives a value.

    Attributes:
        path: Where it is, from the value's root: `$.rows[0].total`.
        kind: The JSON type of what belongs there; empty where nothing says so.
        name: What the field is called.
        drawn: Whether a value that the tool's schema allows, or that goes with the field's name, was drawn for it.
    """

    path: str
    kind: str = ""
    name: str = ""
    drawn: bool = False


def is_guess(blanks: Iterable[Blank]) -> bool:
    """Return whether a draft with these blanks is a guess: for some place there is not even a value to draw."""
    return any(not blank.drawn for blank in blanks)


def placeholder(kind: Kind, name: str) -> JsonValue:
    """Return what stands in a blank of a type: `<city>`, 0, false, an empty list or object, and null where no type is known."""
    if kind == "string":
        return f"<{name or 'text'}>"
    empty = _EMPTY[kind]
    return empty.copy() if isinstance(empty, (list, dict)) else empty


def kind_of(value: JsonValue) -> Kind:
    """Return the JSON type of a value; none of null, which tells nothing."""
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer"
    if isinstance(value, float):
        return "number"
    return "string" if isinstance(value, str) else ""
