"""Which arguments may differ from the recorded ones: each kind of tolerance, at any place, and that a file keeps them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from evalset.recorded.recording import RecordedCase, RecordedEnvironment, RecordedTurn
from evalset.recorded.recording_files import environment_text, parsed
from evalset.recorded.tolerances import Tolerance, tolerated
from simulator.base.json_values import same
from tests.evalset.recorded.test_files import json_values, objects

READER: TypeAdapter[Tolerance] = TypeAdapter(Tolerance)


def tolerance(kind: str, path: str = "", tool: str = "find", **more: Any) -> Tolerance:
    """Make a tolerance as a file says it."""
    return READER.validate_python({"kind": kind, "tool": tool, "path": path, **more})


def allows(recorded: Any, asked: Any, *tolerances: Tolerance) -> bool:
    """Compare one argument."""
    return tolerated("find", {"x": recorded}, {"x": asked}, tolerances)


@pytest.mark.parametrize(
    ("one", "recorded", "right", "wrong"),
    [
        (tolerance("ignore", "x"), 1, [2, None, {"deep": [1]}], []),
        (tolerance("one_of", "x", values=["a", 2]), "z", ["a", 2, 2.0, "z"], ["b", "2", None]),
        (tolerance("regex", "x", pattern="A-[0-9]+"), "A-1", ["A-22"], ["A-", "xA-1", "A-1x", 1]),
        (tolerance("range", "x", low=1, high=3), 2, [1, 2.5, 3, 2], [0, 3.1, True, "2"]),
        (tolerance("range", "x", distance=0.5), 2, [1.5, 2.5], [1.4, 3, None]),
        (tolerance("range", "x", distance=5, high=4), 2, [4, -3], [5, -4]),
        (
            tolerance("case_insensitive", "x"),
            ["Ada", {"k": "B"}],
            [["ADA", {"k": "b"}]],
            [["Bob", {"k": "B"}], "Ada"],
        ),
        (
            tolerance("unordered", "x"),
            [1, 2, 2],
            [[2, 1, 2], [2, 2, 1]],
            [[1, 2], [1, 1, 2], [1, 2, 2, 3], 1],
        ),
    ],
    ids=lambda value: value.kind if hasattr(value, "kind") else "",
)
def test_each_kind(one: Tolerance, recorded: Any, right: list[Any], wrong: list[Any]) -> None:
    """What it lets be, and what not; the recorded value always may be."""
    assert [each for each in [recorded, *right] if not allows(recorded, each, one)] == []
    assert [each for each in wrong if allows(recorded, each, one)] == []


def test_a_place_deep_inside_is_compared_by_its_own_tolerance() -> None:
    """With all else as it was; a number names one item, a star each of them."""
    recorded: Any = {"items": [{"id": "a", "price": 1}, {"id": "b", "price": 2}], "note": "x"}
    dearer: Any = {"items": [{"id": "a", "price": 9}, {"id": "b", "price": 9}], "note": "x"}
    other: Any = {"items": [{"id": "a", "price": 9}, {"id": "c", "price": 9}], "note": "x"}
    every, first = tolerance("ignore", "items[*].price"), tolerance("ignore", "items[0].price")
    assert tolerated("find", recorded, dearer, [every])
    assert not tolerated("find", recorded, other, [every])
    assert not tolerated("find", recorded, dearer, [first])
    assert not tolerated("other", recorded, dearer, [every])
    assert tolerated("other", recorded, dearer, [tolerance("ignore", "items[*].price", tool="*")])


def test_what_may_be_anything_may_be_missing() -> None:
    """On either side; with another tolerance it has to be there."""
    assert tolerated("find", {"x": 1, "note": "a"}, {"x": 1}, [tolerance("ignore", "note")])
    assert tolerated("find", {"x": 1}, {"x": 1, "note": "a"}, [tolerance("ignore", "note")])
    assert not tolerated("find", {"x": 1}, {"x": 1, "note": "a"}, [tolerance("case_insensitive", "note")])


def test_items_in_any_order_may_have_tolerances_of_their_own() -> None:
    """The items are paired so that all fit, if they can be."""
    tolerances = [tolerance("unordered", "x"), tolerance("range", "x[*]", distance=1)]
    assert allows([1, 2, 3], [4, 2, 1], *tolerances)
    assert allows([1, 2], [2, 3], *tolerances)
    assert not allows([1, 2], [3, 4], *tolerances)


def test_the_narrower_tolerance_counts() -> None:
    """Fewer stars before more, the tool's own before that of all, and the later one of two for one place."""
    anything = tolerance("ignore", "*")
    assert allows(1, 2, anything)
    assert not allows(1, 2, anything, tolerance("exact", "x"))
    assert not allows(1, 2, tolerance("exact", "x"), anything)
    assert not allows(1, 2, tolerance("ignore", "x", tool="*"), tolerance("exact", "x"))
    assert not allows(1, 2, tolerance("exact", "x"), tolerance("ignore", "x", tool="*"))
    assert allows(1, 2, tolerance("exact", "x"), tolerance("ignore", "x"))
    assert not allows(1, 2, tolerance("ignore", "x"), tolerance("exact", "x"))


drawn = st.lists(
    st.one_of(
        st.builds(
            tolerance,
            st.sampled_from(["ignore", "exact", "unordered", "case_insensitive"]),
            st.sampled_from(["", "x", "*", "x[*]", "x[0]"]),
        ),
        st.builds(lambda value: tolerance("one_of", "x", values=[value]), json_values),
        st.just(tolerance("range", "x", low=0)),
    ),
    max_size=4,
)


@given(objects, objects, drawn)
def test_what_was_recorded_is_right_and_ignoring_all_lets_all_be(
    recorded: dict[str, Any], asked: dict[str, Any], tolerances: list[Tolerance]
) -> None:
    """With any tolerances at all; and without any, only the same is right."""
    assert tolerated("find", recorded, recorded, tolerances)
    assert tolerated("find", recorded, asked, [tolerance("ignore")])
    assert tolerated("find", recorded, asked) == same(recorded, asked)


@given(st.lists(json_values, max_size=5), st.randoms(use_true_random=False))
def test_any_order_is_any_order(items: list[Any], random: Any) -> None:
    """Of whatever items; and one more or less is not."""
    shuffled = [*items]
    random.shuffle(shuffled)
    assert allows(items, shuffled, tolerance("unordered", "x"))
    assert not allows(items, [*shuffled, 1], tolerance("unordered", "x"))
    words = [f"w{items.index(item)}" for item in items]
    assert allows(
        ", ".join(words), " ".join(f"w{items.index(item)}" for item in shuffled), tolerance("unordered", "x")
    )
    assert not allows(" ".join(words), " ".join([*words, "more"]), tolerance("unordered", "x"))
    assert not allows("it is 5, or 7.", "it is 7, or -5.", tolerance("unordered", "x"))


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"kind": "regex", "pattern": "("}, "cannot be read"),
        ({"kind": "range"}, "low.*high.*distance"),
        ({"kind": "range", "low": 2, "high": 1}, r"low \(2\) .*high \(1\)"),
        ({"kind": "one_of", "values": []}, "at least 1 item"),
        ({"kind": "ignore", "path": "x["}, "path 'x\\['"),
        ({"kind": "some"}, "union_tag_invalid"),
    ],
)
def test_one_that_cannot_be_meant_is_refused(wrong: dict[str, Any], words: str) -> None:
    """With what is wrong with it."""
    with pytest.raises(ValidationError, match=words):
        READER.validate_python({"tool": "find", **wrong})


@given(drawn)
def test_a_file_keeps_them_and_is_of_the_newer_version_only_then(tolerances: list[Tolerance]) -> None:
    """A reader of before reads what says nothing new."""
    case = RecordedCase(
        agent="a", app_name="a", tolerances=tuple(tolerances), turns=(RecordedTurn(query={}),)
    )
    environment = RecordedEnvironment(cases={"one": case})
    text = environment_text(environment)
    assert parsed(Path("x"), text.encode()) == environment
    assert json.loads(text)["version"] == (2 if tolerances else 1)
    assert ("tolerances" in text) == bool(tolerances)
