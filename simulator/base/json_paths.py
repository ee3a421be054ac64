"""Paths such as `orders[*].total`: what they name in a JSON value, and how a person is told of one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, NamedTuple, TypeAlias

from pydantic import JsonValue

from simulator.base.json_text import JsonPath
from simulator.base.json_values import same

LONGEST_PATH = 1_000
"""Characters that a path may have."""


@dataclass(frozen=True, slots=True)
class _Each:
    """A step to every item of a list, or to every field of an object."""

    kind: Literal["[*]", ".*"]


_Step: TypeAlias = str | int | _Each

_QUOTED = re.compile(r"\[\s*(?:\"((?:[^\"\\]|\\.)*)\"|'((?:[^'\\]|\\.)*)')\s*\]", re.DOTALL)
_NUMBER = re.compile(r"\[\s*(-?[0-9]{1,9})\s*\]")
_ANY = re.compile(r"\[\s*\*\s*\]")
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)


class PathError(ValueError):
    """A path cannot be read. Says which path, and where in it."""


@dataclass(frozen=True, slots=True)
class Path:
    """A path that was read: names of fields, numbers of items (negative ones from the end), `[*]` and `.*`.

    The empty path names the whole value.
    """

    text: str
    steps: tuple[_Step, ...]

    def found(self, value: JsonValue) -> list[tuple[str, JsonValue]]:
        """Return each place that the path names in the value, as a path without `*`, and what stands there, in order."""
        level: list[tuple[str, JsonValue]] = [("", value)]
        for step in self.steps:
            level = [place for outer in level for place in _stepped(outer, step)]
        return level


@lru_cache(maxsize=4_096)
def parse(path: str) -> Path:
    """Read a path.

    Fields stand behind dots, odd names in brackets and quotes (`["first name"]`), numbers of items in brackets. A leading
    `$`, as JSONPath has it, is skipped.

    Raises:
        PathError: It is no path; says at which character.
    """
    if len(path) > LONGEST_PATH:
        raise PathError(
            f"path {path[:40]!r}...: it has {len(path)} characters; the maximum is {LONGEST_PATH}"
        )
    at = len(path) - len(path.lstrip())
    end = len(path.rstrip())
    if path[at : at + 1] == "$" and path[at + 1 : at + 2] in {"", ".", "["}:
        at += 1
    elif at < end and path[at] != "[":
        step, at = _name(path, at)
        return Path(path, (step, *_rest(path, at, end)))
    return Path(path, tuple(_rest(path, at, end)))


def _rest(path: str, at: int, end: int) -> Iterator[_Step]:
    while at < end:
        if path[at] == ".":
            step, at = _name(path, at + 1)
        elif path[at] == "[":
            step, at = _bracket(path, at)
        else:
            raise PathError(
                f"path {path!r}: '.' or '[' is missing before {path[at:]!r}, at character {at + 1}"
            )
        yield step


def _name(path: str, at: int) -> tuple[_Step, int]:
    if path[at : at + 1] == "*":
        return _Each(".*"), at + 1
    match = PLAIN_NAME.match(path, at)
    if not match:
        raise PathError(f"path {path!r}: a field name is missing at character {at + 1}")
    return match.group(), match.end()


def _bracket(path: str, at: int) -> tuple[_Step, int]:
    if match := _ANY.match(path, at):
        return _Each("[*]"), match.end()
    if match := _NUMBER.match(path, at):
        return int(match.group(1)), match.end()
    if match := _QUOTED.match(path, at):
        quoted = match.group(1) if match.group(1) is not None else match.group(2)
        return _ESCAPED.sub(r"\1", quoted), match.end()
    raise PathError(
        f'path {path!r}: {path[at : at + 20]!r} at character {at + 1} is not [0], [*] or ["name"]'
    )


def _stepped(outer: tuple[str, JsonValue], step: _Step) -> list[tuple[str, JsonValue]]:
    place, value = outer
    if isinstance(value, dict):
        if isinstance(step, str):
            return [(field_place(place, step), value[step])] if step in value else []
        if step == _Each(".*"):
            return [(field_place(place, name), inner) for name, inner in value.items()]
    elif isinstance(value, list):
        if step == _Each("[*]"):
            return [(item_place(place, index), inner) for index, inner in enumerate(value)]
        if isinstance(step, int) and -len(value) <= step < len(value):
            return [(item_place(place, step % len(value)), value[step])]
    return []


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
