"""Tests of paths into JSON values."""

from __future__ import annotations

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from simulator.base.place_names import field_place, item_place
from simulator.environment.expressions.json_paths import PathError, parse
from tests.simulator.base.rows import for_each
from tests.simulator.environment.drawn_json import json_values

ORDER: JsonValue = {
    "order": {"id": "o-1", "items": [{"sku": "A", "n": 1}, {"sku": "B", "n": 2}], "first name": "Ada"},
    "tags": ["x", "y", "z"],
}

JSON = json_values(names=st.text(max_size=4) | st.sampled_from(["$", "$a", "*", "a.b", "[0]"]), max_leaves=12)


def places(value: JsonValue, place: str = "") -> list[tuple[str, JsonValue]]:
    """Return every place of a value."""
    inner: list[tuple[str, JsonValue]] = []
    if isinstance(value, dict):
        inner = [(field_place(place, name), item) for name, item in value.items()]
    elif isinstance(value, list):
        inner = [(item_place(place, index), item) for index, item in enumerate(value)]
    return [(place, value)] + [found for name, item in inner for found in places(item, name)]


@for_each(
    ("path", "expected"),
    [
        ("order.id", [("order.id", "o-1")]),
        ("$.order.id", [("order.id", "o-1")]),
        (" order.items[*].sku ", [("order.items[0].sku", "A"), ("order.items[1].sku", "B")]),
        ("order.items[0].n", [("order.items[0].n", 1)]),
        ("order.items[-1].n", [("order.items[1].n", 2)]),
        ("order.items.*", []),
        ('order["first name"]', [('order["first name"]', "Ada")]),
        ("order['first name']", [('order["first name"]', "Ada")]),
        ("order.items[0].*", [("order.items[0].sku", "A"), ("order.items[0].n", 1)]),
        ("*[2]", [("tags[2]", "z")]),
        ("tags[3]", []),
        ("order.nothing.at.all", []),
        ("order[0]", []),
        ("", [("", ORDER)]),
        ("$", [("", ORDER)]),
    ],
)
def test_a_path_finds_every_place_it_names(path: str, expected: list[tuple[str, JsonValue]]) -> None:
    """Fields, items, counted from either end, `[*]` and `.*` are followed; what is not there is not found."""
    assert parse(path).found(ORDER) == expected


@for_each(
    ("path", "reason"),
    [
        ("a..b", "at character 3"),
        (".a", "at character 1"),
        ("a.", "at character 3"),
        ("a[", "is not [0], [*] or"),
        ("a[x]", "is not [0], [*] or"),
        ("a[1.5]", "is not [0], [*] or"),
        ('a["x]', "is not [0], [*] or"),
        ("a b", "'.' or '['"),
        ("a[0]b", "at character 5"),
        ("a]", "at character 2"),
        ("a" * 1001, "the maximum is 1000"),
    ],
)
def test_what_is_no_path_is_refused_with_its_place(path: str, reason: str) -> None:
    """The error names the path and the character where it goes wrong."""
    with pytest.raises(PathError, match="path '") as caught:
        parse(path)
    assert reason in str(caught.value)


@given(value=JSON)
def test_each_place_that_is_named_can_be_read_again(value: JsonValue) -> None:
    """The name of any place, whatever its fields are called, is a path to just that place."""
    for place, inner in places(value):
        found = parse(place).found(value) if len(place) <= 1_000 else [(place, inner)]
        assert found == [(place, inner)]


@given(value=JSON, data=st.data())
def test_a_place_is_set_in_a_copy(value: JsonValue, data: st.DataObject) -> None:
    """What is put at a place is found there, and the value itself stays as it was."""
    place, _ = data.draw(st.sampled_from(places(value)))
    before = copy.deepcopy(value)
    after = parse(place).put(value, {"new": [1]})
    assert parse(place).found(after) == [(place, {"new": [1]})]
    assert value == before


def test_a_missing_field_is_added_and_a_missing_parent_is_an_error() -> None:
    """The last field of a path may be new; everything before it has to be there."""
    added = parse("order.items[*].price").put(ORDER, 5)
    assert parse("order.items[*].price").found(added) == [
        ("order.items[0].price", 5),
        ("order.items[1].price", 5),
    ]
    for path in ("order.customer.name", "tags[7]", "tags[*].x", "tags.x"):
        with pytest.raises(PathError, match="no such path"):
            parse(path).put(ORDER, 5)


def test_places_are_changed_by_what_stands_there() -> None:
    """Each place named gets what the change makes of it; others stay."""
    changed = parse("order.items[*].n").replaced(ORDER, lambda place, there: f"{place}={there}")
    assert [found for _, found in parse("order.items[*].n").found(changed)] == [
        "order.items[0].n=1",
        "order.items[1].n=2",
    ]
    assert parse("tags").found(changed) == [("tags", ["x", "y", "z"])]
