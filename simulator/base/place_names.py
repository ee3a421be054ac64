"""Names places in a JSON value for a person, as paths that `simulator.environment.expressions.json_paths` reads (`orders[0].total`), and says where two values differ. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from simulator.base.json_places import JsonPath
from simulator.base.json_values import same

WHOLE = "$"
"""The path of a value as a whole."""

PLAIN_NAME = re.compile(r"[^\s.\[\]\"'*]+")
"""A name that needs no quotes in a path."""


def field_place(place: str, name: str) -> str:
    """Name the field of the object at `place`; the name itself where `place` is empty, the whole value."""
    if PLAIN_NAME.fullmatch(name) and (
        place or not name.startswith("$")
    ):  # `$` begins a path and names nothing
        return f"{place}.{name}" if place else name
    quoted = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'{place}["{quoted}"]'


def item_place(place: str, index: int) -> str:
    """Name the item of the list at `place`, counted from 0."""
    return f"{place}[{index}]"


def path_place(path: JsonPath) -> str:
    """Name the place that a path leads to: `eval_cases[0].conversation[1]`."""
    place = ""
    for step in path:
        place = item_place(place, step) if isinstance(step, int) else field_place(place, step)
    return place


# ---------------------------------------------------------------- where two values differ


ABSENT: Any = object()
"""Stands for what one of two values does not have."""


class JsonDifference(NamedTuple):
    """A place, as `orders[0].total`, and what stands there in each of two values; `ABSENT` where one has none."""

    place: str
    left: Any
    right: Any


def differing(left: Any, right: Any, place: str = "") -> Iterator[JsonDifference]:
    """Yield each place in which two values differ, those that one of them lacks too; `place` is where the values stand."""
    waiting = [JsonDifference(place, left, right)]
    while waiting:  # not by calls of itself, as a value may be nested deeper than calls can
        found = waiting.pop()
        inner = _inside(*found)
        if inner is not None:
            waiting += reversed(inner)
        elif found.left is ABSENT or found.right is ABSENT or not same(found.left, found.right):
            yield found


def _inside(at: str, left: Any, right: Any) -> list[JsonDifference] | None:
    """Return the places inside of two objects, or two lists; None for anything else."""
    if isinstance(left, dict) and isinstance(right, dict):
        return [
            JsonDifference(field_place(at, name), left.get(name, ABSENT), right.get(name, ABSENT))
            for name in dict.fromkeys((*left, *right))
        ]
    if isinstance(left, list) and isinstance(right, list):
        return [
            JsonDifference(item_place(at, index), _item(left, index), _item(right, index))
            for index in range(max(len(left), len(right)))
        ]
    return None


def _item(values: list[Any], index: int) -> Any:
    return values[index] if index < len(values) else ABSENT
