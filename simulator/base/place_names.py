"""Names places in a JSON value for a person, as paths that `simulator.environment.expressions.json_paths` reads: `orders[0].total`. Pure."""

from __future__ import annotations

import re

from simulator.base.json_places import JsonPath

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
