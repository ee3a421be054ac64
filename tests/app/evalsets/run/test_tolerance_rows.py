"""Tolerances as rows of texts: each kind comes back as it was, and what says none is named."""

from __future__ import annotations

import re

import pytest

from app.evalsets.run.tolerance_rows import HINTS, KINDS, Row, RowError, new_row, row_of, tolerances_from
from evalset.recorded.tolerances import (
    CaseInsensitive,
    Exact,
    Ignore,
    OneOfTolerance,
    PatternTolerance,
    Range,
    Tolerance,
    Unordered,
)

ALL: tuple[Tolerance, ...] = (
    Exact(tool="find", path="id"),
    Ignore(tool="*"),
    OneOfTolerance(tool="find", path="by[*].way", values=("express", 3, None)),
    PatternTolerance(tool="find", path="id", pattern=r"R-\d+ "),
    Range(tool="find", path="price", low=-1.5),
    Range(tool="find", path="price", high=5),
    Range(tool="find", path="price", low=1, high=5, distance=0.25),
    Range(tool="find", path="price", distance=1e-07),
    Unordered(tool="find", path="items"),
    CaseInsensitive(tool="find", path="name"),
)


def test_every_tolerance_comes_back_as_it_was() -> None:
    """Of every kind."""
    assert {tolerance.kind for tolerance in ALL} == set(KINDS)
    assert tolerances_from([row_of(tolerance) for tolerance in ALL]) == ALL


def test_a_new_row_lets_anything_be() -> None:
    """Which is a tolerance already."""
    assert tolerances_from([new_row()]) == (Ignore(tool="*"),)


@pytest.mark.parametrize("kind", HINTS)
def test_each_hint_is_an_example(kind: str) -> None:
    """What stands in an empty input can be typed there; a range as one of two."""
    for more in HINTS[kind].split(" or "):
        (made,) = tolerances_from([{"tool": "find", "path": "a", "kind": kind, "more": more}])
        assert made.kind == kind


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({"tool": ""}, "tool"),
        ({"path": "a["}, "path"),
        ({"kind": "one_of", "more": "express"}, "row 2"),
        ({"kind": "one_of", "more": "[]"}, "values"),
        ({"kind": "regex", "more": "("}, "row 2"),
        ({"kind": "range", "more": ""}, f"'' .*{re.escape(HINTS['range'])}"),
        ({"kind": "range", "more": "1..5 or so"}, r"'1\.\.5 or so'"),
        ({"kind": "range", "more": "5..1"}, "greater than high"),
        ({"kind": "range", "more": ".."}, "low, high"),
    ],
)
def test_what_says_no_tolerance_is_named(row: Row, reason: str) -> None:
    """By the number of its row and its field."""
    with pytest.raises(RowError, match=reason) as refused:
        tolerances_from([new_row(), {**new_row(), **row}])
    assert str(refused.value).startswith("row 2: ")
