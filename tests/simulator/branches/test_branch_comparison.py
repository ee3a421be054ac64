"""Two branches side by side: nothing is lost, what is the same stands together, and what differs is named by its place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator import branches
from simulator.base.json_paths import ABSENT, differing, parse
from simulator.base.json_values import same
from simulator.branches import (
    ComparedRow,
    compared,
    shared_entries,
)
from simulator.facts import Fact, Failed, Returned
from simulator.session import HistoryEntry
from tests.simulator.base.drawn_json import nested
from tests.simulator.session.making import asked, ended, event, journal_of, model, tool

_leaves = st.none() | st.booleans() | st.integers(-3, 3) | st.floats(-3, 3) | st.text("ab.[ ]", max_size=3)
_json = nested(_leaves, st.text("ab.", max_size=2))


def _facts(answers: Sequence[tuple[str, Any]], said: str) -> list[Fact]:
    """A turn whose calls are named and answered like this."""
    facts: list[Fact] = [asked()]
    for place, (name, value) in enumerate(answers):
        part = {"function_call": {"id": f"c{place}", "name": name, "args": {}}}
        answered = tool(f"c{place}", outcome=Returned(value=value))
        facts += [model(part, key=f"m{place}"), answered.model_copy(update={"tool_name": name})]
    return [*facts, model({"text": said}, key="m"), ended(event({"text": said}))]


def _history(answers: Sequence[tuple[str, Any]], said: str = "done") -> tuple[HistoryEntry, ...]:
    return journal_of(*_facts(answers, said)).session().history


_answers = st.lists(st.tuples(st.sampled_from(["find", "cancel"]), st.integers(0, 2)), max_size=8)


@given(_answers, _answers)
def test_both_sides_are_there_whole_and_in_order(left: list[Any], right: list[Any]) -> None:
    """Each column, read from above, is its history from where they part; a branch beside itself leaves nothing."""
    ours, theirs = _history(left), _history(right)
    rows = compared(ours, theirs)
    shared = shared_entries(ours, theirs)
    assert ours[:shared] == theirs[:shared]
    assert tuple(row.left for row in rows if row.left) == ours[shared:]
    assert tuple(row.right for row in rows if row.right) == theirs[shared:]
    for row in rows:
        _check(row)
    assert compared(ours, ours) == ()


def _check(row: ComparedRow) -> None:
    sides = (row.left is not None, row.right is not None)
    assert sides == {"only_left": (True, False), "only_right": (False, True)}.get(row.kind, (True, True))
    assert bool(row.differences) == (row.kind == "changed")


@given(_answers, _answers)
def test_the_other_way_round_only_the_sides_change(left: list[Any], right: list[Any]) -> None:
    """Each pair that says the same is one that says the same from the other side too."""
    rows = compared(_history(left), _history(right))
    for row in rows:
        if row.kind == "same" and row.left and row.right:
            (mirrored,) = compared([row.right], [row.left]) or (row,)
            assert mirrored.kind == "same"


@given(_json, _json)
def test_each_place_that_differs_is_named_once(left: Any, right: Any) -> None:
    """Values that are the same differ nowhere; else each path leads to just what each side has there."""
    found = list(differing({"value": left}, {"value": right}))
    assert bool(found) != same(left, right)
    assert len({place.place for place in found}) == len(found)
    for place in found:
        for whole, side in (({"value": left}, place.left), ({"value": right}, place.right)):
            there = parse(place.place).found(whole)
            assert [inner for _, inner in there] == ([] if side is ABSENT else [side])


def test_a_changed_answer_is_named_by_its_path() -> None:
    """The call stands beside the same call, its answers differ in one field, and what follows is aligned again."""
    left = _history([("find", {"order": {"status": "shipped"}}), ("cancel", {"ok": True})])
    right = _history([("find", {"order": {"status": "lost"}}), ("cancel", {"ok": True})], "sorry")
    rows = compared(left, right)
    assert [row.kind for row in rows] == ["changed", "same", "same", "changed"]
    (place,) = rows[0].differences
    assert place == ("result.order.status", "shipped", "lost")
    assert [place.place for place in rows[3].differences] == ["content"]


def test_what_only_one_side_did_stands_alone() -> None:
    """A call that the other branch has not made has nothing beside it, and what both did after is the same."""
    rows = compared(
        _history([("find", 1), ("cancel", 2)]), _history([("find", 1), ("find", 3), ("cancel", 2)])
    )
    assert [row.kind for row in rows] == ["only_right", "only_right", "same", "same", "same"]


def test_an_error_stands_beside_the_answer_of_the_same_tool() -> None:
    """Both are what came back from the one call."""
    made = _history([("find", 1)])
    before = _facts([("find", 1)], "done")[:2]
    failed = journal_of(*before, tool("c0", outcome=Failed(error_code=503, error_message="busy")))
    row = compared(made, failed.session().history)[0]
    assert row.kind == "changed"
    assert [(place.place, place.left is ABSENT) for place in row.differences] == [
        ("result", False),
        ("error", True),
    ]


def test_what_is_too_long_to_be_aligned_stands_place_by_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """Patched because histories that long would take the test seconds: nothing of the rest is lost."""
    monkeypatch.setattr(branches, "MOST_ALIGNED", 2)
    left, right = _history([("find", 1), ("find", 2), ("find", 3)]), _history([("cancel", 1), ("find", 3)])
    rows = compared(left, right)
    assert tuple(row.left for row in rows if row.left) == left[1:]
    assert tuple(row.right for row in rows if row.right) == right[1:]
