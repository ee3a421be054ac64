"""A form made of a value alone gives back what it got, to the last digit and key; what it cannot show is JSON, or no form at all."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.forms.form_raw import fill
from app.forms.form_reading import read
from app.forms.form_tree import ArrayField, ObjectField, parse_schema
from app.forms.record_tables import (
    columns_of,
    edited_rows,
    schema_without,
    table_places,
    value_at,
    with_tables,
    without,
)
from app.forms.value_shapes import (
    FIRST_VALUES,
    Way,
    as_before,
    filled,
    name_problem,
    shape_of,
    why_only_json,
    without_field,
)
from simulator.base.json_values import JsonObject, same

_NAMES = st.one_of(st.sampled_from(["id", "größe", "a b", "x.y", "$ref", "", "type"]), st.text(max_size=4))
_SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(-9, 9),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([1.0, 0.1, 1e22, "", "true", "a\r\nb", "two\nlines", "\u202e", "2025-01-02"]),
    st.text(max_size=8),
)
_RECORDS = st.lists(st.dictionaries(st.sampled_from(["id", "qty", "ok"]), _SCALARS), max_size=3)
JSON: st.SearchStrategy[Any] = st.recursive(
    st.one_of(_SCALARS, _RECORDS),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(_NAMES, inner, max_size=4)),
    max_leaves=12,
)


def shown(value: Any, schema: Any = None) -> Any:
    """Return what a form and its tables say of a value that nobody has changed."""
    places = table_places(value, schema)
    rest = without(value, places)
    field = parse_schema(shape_of(rest) if schema is None else schema_without(schema, places))
    found = read(field, fill(field, rest))
    assert not found.problems
    tables = {where: edited_rows(held := value_at(value, where), columns_of(held), {}) for where in places}
    return as_before(with_tables(found.value, tables), value)  # type: ignore[arg-type] # records are JSON


@given(st.dictionaries(_NAMES, JSON, max_size=5))
def test_a_form_of_a_value_gives_it_back_as_it_was(value: dict[str, Any]) -> None:
    """The same types, keys and order: 1.0 stays 1.0, null stays null, a key that is not there stays away."""
    if not why_only_json(value):
        assert json.dumps(shown(value)) == json.dumps(value)


@given(st.dictionaries(st.sampled_from(["id", "lines"]), JSON, max_size=3))
def test_a_form_of_a_declared_schema_gives_back_what_does_not_fit_it(value: dict[str, Any]) -> None:
    """Keys in another order than declared, numbers of the other kind, and what is not declared at all."""
    item = {"type": "object", "properties": {"qty": {"type": "number"}, "id": {"type": "string"}}}
    lines = {"type": "array", "items": item}
    schema = {"type": "object", "properties": {"lines": lines, "id": {"type": "number"}}}
    assert json.dumps(shown(value, schema)) == json.dumps(value)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({}, "empty"),
        ([], "empty"),
        ([1, "a"], "exactly"),
        ([[1], None], "exactly"),
        ("x", "neither"),
        (None, "neither"),
        ({"a": [{"n": list(range(30))}] * 5}, "150 fields"),
        ({"a": 1}, ""),
    ],
)
def test_what_has_no_form_says_why(value: Any, words: str) -> None:
    """Too many fields, none at all, or nothing that an input can hold."""
    assert words in why_only_json(value)
    assert bool(words) == bool(why_only_json(value))


def test_what_is_empty_inside_of_a_value_needs_no_json() -> None:
    """A list to which texts are added, a group to which fields are added, also beside others that hold something."""
    value: Any = {"tags": [], "home": {}, "legs": [{"to": [], "at": {}}, {"to": [1], "at": {"x": 1}}]}
    assert json.dumps(shown(value)) == json.dumps(value)
    assert '"kind":"json"' not in fill(parse_schema(shape_of(value)), value).model_dump_json()


def test_a_flat_list_of_records_is_a_table_and_others_are_none() -> None:
    """Scalars of one type in each column, and mostly the same keys."""
    flat: list[Any] = [
        {"id": "a", "qty": 1, "price": 2},
        {"id": "b", "qty": None, "price": 2.5, "gift": True},
    ]
    assert [column.kind for column in columns_of(flat)] == ["text", "integer", "number", "boolean"]
    assert table_places({"order": {"lines": flat}, "ids": ["a"]}) == (("order", "lines"),)
    schema: JsonObject = {"properties": {"order": {"properties": {"lines": {"type": "array"}}}}}
    assert table_places({"order": {"lines": flat}, "more": flat}, schema) == (("order", "lines"),)
    others: tuple[Any, ...] = (
        [],
        [1],
        [{}],
        [{"a": 1}, {"a": "x"}],
        [{"a": []}],
        [{"a": 1}, {"b": 1, "c": 1, "d": 1}],
        [{"_index": 1}],
    )
    assert [columns_of(other) for other in others] == [()] * len(others)


def test_what_is_done_in_a_table_changes_those_cells_alone() -> None:
    """Edited, emptied, added and deleted, as Streamlit's editor says it; no other number changes its type."""
    rows: list[dict[str, Any]] = [
        {"id": "a", "qty": 1, "price": 2.0, "note": None},
        {"id": "b", "qty": 2, "price": 3.5},
        {"id": "c", "qty": 3, "price": 4.0},
    ]
    done = {
        "edited_rows": {"0": {"price": 2, "note": "gift", "id": None}, 2: {"price": 5, "qty": 4.0}},
        "added_rows": [{"id": "d", "price": 1}],
        "deleted_rows": [1],
    }
    made = edited_rows(rows, columns_of(rows), done)
    assert json.dumps(made) == json.dumps(
        [
            {"id": None, "qty": 1, "price": 2.0, "note": "gift"},
            {"id": "c", "qty": 4, "price": 5.0},
            {"id": "d", "qty": None, "price": 1.0},
        ]
    )


@given(st.dictionaries(st.sampled_from(["id", "lines", "to"]), JSON, max_size=3), st.data())
def test_removing_a_field_leaves_all_others_as_they_were(value: dict[str, Any], data: st.DataObject) -> None:
    """At any depth; what a form makes of the rest is the rest, with the new field last."""
    ways = [way for way in _ways(value) if isinstance(way[-1], str)]
    way = data.draw(st.sampled_from(ways)) if ways else ("none",)
    left = without_field(value, way)
    assert set(_ways(left)) == {each for each in _ways(value) if each[: len(way)] != way}
    added: Any = {**left, "new": FIRST_VALUES[data.draw(st.sampled_from([*FIRST_VALUES]))]}  # type: ignore[dict-item] # an object
    if not why_only_json(added):
        assert json.dumps(shown(added)) == json.dumps(added)


def _ways(value: Any, way: Way = ()) -> Iterator[Way]:
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for at, one in inside:
        yield (*way, at)
        yield from _ways(one, (*way, at))


@pytest.mark.parametrize("name", ["", "  ", "id", "$ref", "a\x00"])
def test_a_field_needs_a_name_that_no_other_has_and_a_form_can_hold(name: str) -> None:
    """Why is said in words."""
    assert name_problem(name, {"id"})
    assert not name_problem("größe", {"id"})


ROWS: JsonObject = {"type": "array", "items": {"type": "object"}}


@pytest.mark.parametrize(
    ("schema", "value", "names"),
    [
        (ROWS, [{"sku": "A", "count": 1}, {"sku": "B"}], ["sku", "count"]),
        ({"type": "object"}, {"lines": [{"sku": "A"}]}, ["lines"]),
        ({"type": "object", "properties": {"lines": ROWS}}, {"lines": [{"sku": "A"}]}, ["lines"]),
    ],
)
def test_what_a_schema_leaves_open_gets_the_fields_of_the_value(
    schema: JsonObject, value: Any, names: list[str]
) -> None:
    """Rows have inputs with names, a new row has the same, and the value comes back as it was."""
    field = parse_schema(filled(schema, value))
    shown = field.item if isinstance(field, ArrayField) else field
    assert isinstance(shown, ObjectField)
    assert [member.name for member in shown.members] == names
    assert same(read(field, fill(field, value)).value, value)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "additionalProperties": False},
        {"type": "string"},
        {"$ref": "#/$defs/Order"},
        {"anyOf": [{"type": "object"}, {"type": "null"}]},
        {"enum": [{"a": 1}]},
    ],
)
def test_what_a_schema_decides_stays(schema: JsonObject) -> None:
    """Nothing is made up beside it."""
    assert filled(schema, {"a": 1}) == schema


@given(JSON)
def test_any_value_comes_back_from_the_inputs_of_an_open_schema(value: Any) -> None:
    """Whatever it holds."""
    schemas: tuple[JsonObject, ...] = ({}, {"type": "object"}, ROWS)
    for schema in schemas:
        field = parse_schema(filled(schema, value))
        assert same(read(field, fill(field, value)).value, value)
