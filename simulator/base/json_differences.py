"""Says where two JSON values differ. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from simulator.base.json_values import same
from simulator.base.place_names import field_place, item_place

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
