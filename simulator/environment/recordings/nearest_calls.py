"""Goes along recorded answers: which were given already, and which recorded call is nearest to one that is made now.

A `Cursor` keeps which were given: in a replay, where each answer is given once, and in a session without a case of its own, where the last one is given again. The
recorded player and what goes along a script know that from their journal, and ask `nearest` with it.
"""

from __future__ import annotations

import heapq
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Generic, TypeVar

from simulator.base.frozen_value import FiniteValue
from simulator.base.json_paths import field_place
from simulator.base.json_values import JsonObject, same
from simulator.environment.recordings.recorded_calls import ObservedCall

_LONGEST_COMPARED = 2_000
_SHOWN = 60
_BEFORE = 20
"""How much is shown before the place at which two long values differ."""
_WORD = re.compile(r"\w+")
_ABSENT: Any = object()

# The distance of two values of one type that have nothing in common; values of two types are 1 apart.
_SAME_TYPE = 0.9


class Near(FiniteValue):
    """A recorded call that is near.

    Attributes:
        index: Its number among the recorded calls.
        call: The call.
        distance: 0 is a call with equal arguments, 1 one that has nothing in common but the tool.
        differs: What is not as it was, in words: "args.city was 'Oslo' and is now 'Rome'".
    """

    index: int
    call: ObservedCall
    distance: float
    differs: tuple[str, ...]


Entry = TypeVar("Entry")


class Cursor(Generic[Entry]):
    """How far one has come along recorded answers.

    Args:
        entries: The answers, in the order in which they were recorded.

    Attributes:
        used: The places of those that were given already.
    """

    def __init__(self, entries: Sequence[Entry]) -> None:
        self.entries = entries
        self.used: set[int] = set()

    def left(self, fits: Callable[[Entry], bool] = lambda _: True) -> Iterator[int]:
        """Yield the places of the answers that fit and were not given yet, in their order."""
        for place, entry in enumerate(self.entries):
            if place not in self.used and fits(entry):
                yield place

    def use(self, place: int) -> Entry:
        """Give the answer of a place: it counts as given."""
        self.used.add(place)
        return self.entries[place]


def turn_of(place: int, *, is_used: bool) -> tuple[bool, int]:
    """Return by what recorded answers to the same call are ordered: those not given yet in their order, and then the last one, which is given again."""
    return is_used, -place if is_used else place


def nearest(
    calls: Sequence[ObservedCall],
    tool_name: str,
    arguments: JsonObject,
    *,
    n: int = 5,
    used: Mapping[int, int] | None = None,
) -> tuple[Near, ...]:
    """Yield the recorded calls of a tool that are nearest to a call, the nearest first.

    Of calls that are equally near, those not given yet come first, in their order, and then the one recorded last:
    the same call asked twice gives the first and then the second recorded answer, and stays at the last.

    Args:
        calls: The recorded calls.
        tool_name: The tool that is called.
        arguments: The call's arguments.
        n: How many are given at most.
        used: How often each recorded call, by its number, was given before.
    """
    given = used or {}

    def ranked() -> Iterator[tuple[float, bool, int]]:
        for index, call in enumerate(calls):
            if call.tool_name == tool_name:
                yield (
                    _distance(call.arguments, arguments),
                    *turn_of(index, is_used=given.get(index, 0) > 0),
                )

    return tuple(
        Near(
            index=abs(order),
            call=calls[abs(order)],
            distance=distance,
            differs=tuple(_differences("args", calls[abs(order)].arguments, arguments)),
        )
        for distance, _, order in heapq.nsmallest(n, ranked())
    )


def _distance(there: Any, here: Any) -> float:
    """Return how far two values are from each other, from 0 to 1."""
    if isinstance(there, dict) and isinstance(here, dict):
        names = there.keys() | here.keys()
        if not names:
            return 0.0
        # Sorted, as sums of floats depend on their order and sets have none.
        return sum(_field_distance(there, here, name) for name in sorted(names)) / len(names)
    return 0.0 if same(there, here) else _unlikeness(there, here)


def _unlikeness(there: Any, here: Any) -> float:
    """Return how far two values are from each other that are not the same."""
    if _is_number(there) and _is_number(here):
        return _SAME_TYPE * _apart(there, here)
    if isinstance(there, str) and isinstance(here, str):
        return _SAME_TYPE * max(1.0 - _likeness(_features(there), _features(here)), 0.01)
    if isinstance(there, list) and isinstance(here, list):
        return _SAME_TYPE * max(1.0 - _likeness(_items(there), _items(here)), 0.01)
    return 1.0


def _field_distance(there: dict[str, Any], here: dict[str, Any], name: str) -> float:
    if name in there and name in here:
        return _distance(there[name], here[name])
    return 1.0


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _apart(there: float, here: float) -> float:
    """Return how far two different numbers are apart, in proportion to the larger one."""
    try:
        return min(1.0, max(float(abs(there - here) / max(abs(there), abs(here))), 1e-9))
    except OverflowError:  # one of them is a whole number that no float can hold
        return 1.0


def _likeness(there: frozenset[str], here: frozenset[str]) -> float:
    together = len(there | here)
    return len(there & here) / together if together else 1.0


@lru_cache(maxsize=32_768)
def _features(text: str) -> frozenset[str]:
    """Return a text's words and its pieces of three characters, without regard to case."""
    lower = text[:_LONGEST_COMPARED].casefold()
    padded = f" {lower} "
    return frozenset(_WORD.findall(lower)) | frozenset(padded[at : at + 3] for at in range(len(padded) - 2))


def _items(items: list[Any]) -> frozenset[str]:
    return frozenset(json.dumps(item, sort_keys=True) for item in items[:_LONGEST_COMPARED])


def _differences(place: str, there: Any, here: Any) -> Iterator[str]:
    if isinstance(there, dict) and isinstance(here, dict):
        for name in dict.fromkeys((*here, *there)):
            yield from _differences(
                field_place(place, name), there.get(name, _ABSENT), here.get(name, _ABSENT)
            )
    elif here is _ABSENT:
        yield f"{place} was {_shown(there)} and is now missing"
    elif there is _ABSENT:
        yield f"{place} was missing and is now {_shown(here)}"
    elif not same(there, here):
        texts = _written(there), _written(here)
        same_start = next(
            (at for at, (one, other) in enumerate(zip(*texts, strict=False)) if one != other), 0
        )
        start = max(0, same_start - _BEFORE) if same_start > _SHOWN // 2 else 0
        was, now = (_cut(text, start) for text in texts)
        yield f"{place} was {was} and is now {now}"


def _shown(value: Any) -> str:
    return _cut(_written(value))


def _written(value: Any) -> str:
    return repr(value) if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _cut(text: str, start: int = 0) -> str:
    """Return a text as far as it is shown; `start` is where that begins in one that is too long."""
    if len(text) <= _SHOWN:
        return text
    shown = f"...{text[start:]}" if start else text
    return shown if len(shown) <= _SHOWN else shown[: _SHOWN - 3] + "..."
