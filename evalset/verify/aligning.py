"""Sets the calls of two turns side by side, as they are compared: exactly, in order, or in any order. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import zip_longest
from typing import NamedTuple, TypeAlias

from evalset.recorded.pairing import paired
from evalset.verify.criteria import Match

Alike: TypeAlias = Callable[[int, int], bool]
"""Tells whether the golden call of a place and the actual one of a place are the same."""


class Beside(NamedTuple):
    """The places of a golden and of an actual call that stand side by side; None where there is none."""

    golden: int | None
    actual: int | None
    alike: bool


def aligned(golden: int, actual: int, alike: Alike, match: Match) -> list[Beside]:
    """Set calls side by side.

    Args:
        golden: How many golden calls there are.
        actual: How many actual ones.
        alike: Tells which are the same.
        match: How they are compared. `in_order` and `any_order` let calls be that the golden does not have.

    Returns:
        Every call of both once; `alike` is false where a call differs, is missing, or is one too many.
    """
    if match == "any_order":
        return _in_any_order(golden, actual, alike)
    rows = _in_order(golden, actual, alike)
    if match == "exact":
        return rows
    return [row._replace(alike=row.alike or row.golden is None) for row in rows]


def _in_order(golden: int, actual: int, alike: Alike) -> list[Beside]:
    rows: list[Beside] = []
    g = a = 0
    for next_g, next_a in [*_longest(golden, actual, alike), (golden, actual)]:
        gap = zip_longest(range(g, next_g), range(a, next_a))
        rows += [Beside(left, right, alike=False) for left, right in gap]
        if next_g < golden and next_a < actual:
            rows.append(Beside(next_g, next_a, alike=True))
        g, a = next_g + 1, next_a + 1
    return rows


def _longest(golden: int, actual: int, alike: Alike) -> list[tuple[int, int]]:
    """Find a longest common subsequence; what is common at both ends is part of one."""
    start = 0
    while start < min(golden, actual) and alike(start, start):
        start += 1
    end = 0
    while end < min(golden, actual) - start and alike(golden - 1 - end, actual - 1 - end):
        end += 1
    head = [(place, place) for place in range(start)]
    tail = [(golden - place, actual - place) for place in range(end, 0, -1)]
    return [*head, *_middle(range(start, golden - end), range(start, actual - end), alike), *tail]


def _middle(golden: range, actual: range, alike: Alike) -> list[tuple[int, int]]:
    lengths = [[0] * (len(actual) + 1) for _ in range(len(golden) + 1)]
    same = {(g, a) for g in golden for a in actual if alike(g, a)}
    for row in reversed(range(len(golden))):
        for column in reversed(range(len(actual))):
            lengths[row][column] = (
                lengths[row + 1][column + 1] + 1
                if (golden[row], actual[column]) in same
                else max(lengths[row + 1][column], lengths[row][column + 1])
            )
    found: list[tuple[int, int]] = []
    row = column = 0
    while row < len(golden) and column < len(actual):
        if (golden[row], actual[column]) in same:
            found.append((golden[row], actual[column]))
            row, column = row + 1, column + 1
        elif lengths[row + 1][column] >= lengths[row][column + 1]:
            row += 1
        else:
            column += 1
    return found


def _in_any_order(golden: int, actual: int, alike: Alike) -> list[Beside]:
    partners = matched(golden, actual, alike)
    free = [place for place in range(actual) if place not in partners.values()]
    rows: list[Beside] = []
    for place in range(golden):
        if place in partners:
            rows.append(Beside(place, partners[place], alike=True))
        else:
            rows.append(Beside(place, free.pop(0) if free else None, alike=False))
    return [*rows, *(Beside(None, place, alike=True) for place in free)]


def matched(golden: int, actual: int, alike: Alike) -> dict[int, int]:
    """Give as many golden places as can be an actual one of their own; the nearest first."""
    return paired([[a for a in _nearest_first(g, actual) if alike(g, a)] for g in range(golden)])


def _nearest_first(place: int, count: int) -> Sequence[int]:
    return sorted(range(count), key=lambda other: abs(other - place))
