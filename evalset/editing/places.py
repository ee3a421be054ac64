"""Reaches into the raw JSON of an eval case, whose fields stand in snake case or in camel case, as ADK reads both. Pure."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from typing import Any, TypeAlias

from simulator.jsonvalue import copied

Case: TypeAlias = dict[str, Any]
"""An eval case as its file says it, in the order of its keys."""

Where: TypeAlias = tuple[str | int, ...]
"""The way to a value in a case: `("conversation", 0, "user_content")`; names of fields in snake case."""

ABSENT: Any = object()
"""Stands for a value that is not there."""


class EditError(ValueError):
    """An edit does not fit the eval set; the text names the case and the place, and nothing was changed."""


@cache
def camel(name: str) -> str:
    """Write a field's name as ADK's models do it with their aliases: `userContent`."""
    first, *rest = name.split("_")
    return first + "".join(word.title() for word in rest)


def key_of(held: dict[str, Any], name: str) -> str:
    """Give the key under which a field stands, in either spelling; where it is not there, as its neighbours are written."""
    if name in held:
        return name
    other = camel(name)
    if other in held:
        return other
    is_camel = any("_" not in key and key != key.lower() for key in held)
    return other if is_camel and not any("_" in key for key in held) else name


def field(held: Any, name: str, default: Any = None) -> Any:
    """Give the value of a field in either spelling; the default where it is not there, or null."""
    if not isinstance(held, dict):
        return default
    found = held.get(name)
    if found is None:
        found = held.get(camel(name))
    return default if found is None else found


def listed(held: Any, name: str) -> list[Any]:
    """Give a field that is a list; an empty one where it is something else."""
    if not isinstance(held, dict):
        return []
    found = held.get(name)
    if found is None:
        found = held.get(camel(name))
    return found if isinstance(found, list) else []


def at(case: Any, where: Where) -> Any:
    """Give the value at a place; `ABSENT` where there is none."""
    held = case
    for step in where:
        if isinstance(step, int):
            if not isinstance(held, list) or not -len(held) <= step < len(held):
                return ABSENT
            held = held[step]
        else:
            if not isinstance(held, dict) or (key := key_of(held, step)) not in held:
                return ABSENT
            held = held[key]
    return held


def put(case: Case, where: Where, value: Any) -> Case:
    """Give the case with a value put at a place; `ABSENT` takes it away. Objects on the way are made where they are not there.

    Raises:
        EditError: The way leads through something that is no object, or out of a list.
    """
    if not where:
        return dict(value)
    made: Case = copied(case)
    held: Any = made
    for depth, step in enumerate(where[:-1]):
        held = _step(held, step, where[: depth + 1])
    last = where[-1]
    if isinstance(last, int):
        _step(held, last, where)
        if value is ABSENT:
            del held[last]
        else:
            held[last] = value
    elif not isinstance(held, dict):
        raise EditError(f"{named(where[:-1])} is no object")
    elif value is ABSENT:
        held.pop(key_of(held, last), None)
    else:
        held[key_of(held, last)] = value
    return made


def _step(held: Any, step: str | int, so_far: Where) -> Any:
    if isinstance(step, int):
        if not isinstance(held, list) or not 0 <= step < len(held):
            raise EditError(f"there is no {named(so_far)}")
        return held[step]
    if not isinstance(held, dict):
        raise EditError(f"{named(so_far[:-1])} is no object")
    key = key_of(held, step)
    if held.get(key) is None:
        held[key] = {}
    return held[key]


def named(where: Sequence[str | int]) -> str:
    """Name a place for a person: `conversation[0].user_content`."""
    words = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in where)
    return words.lstrip(".") or "the case"


def written(value: Any) -> str:
    """Write a value so that two that say the same in the same order of keys are the same."""
    return json.dumps(value, ensure_ascii=False)


def is_same(one: Any, other: Any) -> bool:
    """Tell whether two values say the same in the same order of keys."""
    return one is other or written(one) == written(other)
