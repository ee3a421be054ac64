"""The pure part of forms: schema to fields, value to inputs, inputs to value. A form made of a value alone gives back what it got; what it cannot show is JSON, or no form at all."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from app.forms.field_group_widgets import ArrayField, NullableField, ObjectField, UnionField
from app.forms.field_widgets import (
    BooleanField,
    ChoiceField,
    ConstField,
    Field,
    JsonField,
    NumberField,
    TextField,
    TimeField,
)
from app.forms.form_reading import FormReading
from app.forms.form_tree import parse_schema
from app.forms.record_tables import (
    cell_problems,
    columns_of,
    edited_rows,
    table_places,
)
from app.forms.schema_form_widgets import form_reading
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
from simulator.base.json_paths import ABSENT
from simulator.base.json_values import JsonObject, same
from tests.app.fakes import Typed
from tests.simulator.environment.drawn_json import json_values

JSON_FIELD = JsonField(is_open=True)


def read(field: Field, seed: Any = ABSENT, **typed: Any) -> FormReading:
    """Read a form that begins with a value, and in which this was typed."""
    return form_reading(Typed(typed), field, seed)


Pair: TypeAlias = tuple[dict[str, Any], Any]

_NAMES = st.text("abcdefgh_ .-é", min_size=1, max_size=6)
ANY_JSON = json_values(names=_NAMES, max_leaves=6)


def _scalars() -> st.SearchStrategy[Pair]:
    return st.one_of(
        st.text(max_size=9).map(lambda text: ({"type": "string"}, text)),
        (st.sampled_from("ab") | st.text(max_size=9)).map(
            lambda text: ({"type": "string", "description": "One of 'a', 'b'."}, text)
        ),
        st.dates().map(lambda day: ({"type": "string", "format": "date"}, day.isoformat())),
        st.datetimes().map(lambda at: ({"type": "string", "format": "date-time"}, at.isoformat() + "Z")),
        st.integers().map(lambda number: ({"type": "integer"}, number)),
        st.floats(allow_nan=False, allow_infinity=False).map(lambda number: ({"type": "number"}, number)),
        st.booleans().map(lambda flag: ({"type": "boolean"}, flag)),
        st.just(({"type": "null"}, None)),
        st.tuples(st.lists(ANY_JSON, min_size=1, max_size=4), st.integers(0, 3)).map(
            lambda drawn: ({"enum": drawn[0]}, drawn[0][drawn[1] % len(drawn[0])])
        ),
        ANY_JSON.map(lambda value: ({"const": value}, value)),
        ANY_JSON.map(lambda value: ({}, value)),
    )


@st.composite
def _nested(draw: DrawFn, inner: st.SearchStrategy[Pair]) -> Pair:
    kind = draw(st.sampled_from(["object", "array", "anyOf", "nullable", "ref"]))
    if kind == "object":
        return draw(_objects(inner))
    schema, value = draw(inner)
    if kind == "array":
        return {"type": "array", "items": schema}, [value] * draw(st.integers(0, 3))
    if kind == "anyOf":
        other, _ = draw(inner)
        return {"anyOf": draw(st.permutations([schema, other]))}, value
    if kind == "nullable":
        return {"anyOf": [schema, {"type": "null"}], "default": None}, draw(st.sampled_from([value, None]))
    return {"allOf": [schema], "title": "Combined"}, value


@st.composite
def _objects(draw: DrawFn, inner: st.SearchStrategy[Pair]) -> Pair:
    pairs = draw(st.dictionaries(_NAMES, inner, min_size=1, max_size=4))
    required = [name for name in pairs if draw(st.booleans())]
    value = {name: item for name, (_, item) in pairs.items() if name in required or draw(st.booleans())}
    others = draw(st.dictionaries(st.text("xyz", min_size=2, max_size=4), ANY_JSON, max_size=2))
    schema = {
        "type": "object",
        "properties": {name: item for name, (item, _) in pairs.items()},
        "required": required,
    }
    return schema, {**others, **value}


PAIRS = st.recursive(_scalars(), _nested, max_leaves=8)


@given(PAIRS, ANY_JSON)
def test_a_value_comes_back_from_the_form_as_it_was(pair: Pair, other: Any) -> None:
    """Value -> inputs -> value changes nothing, and finds no fault in a value that fits its schema.

    A value of any other shape is held as JSON text in its place, and a form without a value can be read.
    """
    schema, value = pair
    field = parse_schema(schema)
    reading = read(field, value)
    assert reading.problems == ()
    assert same(reading.value, value)
    assert same(read(field, other).value, other)
    read(field)


_KEYWORDS = st.sampled_from(
    [
        "type",
        "properties",
        "required",
        "items",
        "anyOf",
        "oneOf",
        "allOf",
        "enum",
        "const",
        "$ref",
        "$defs",
        "title",
        "default",
        "nullable",
        "format",
        "maxLength",
        "minItems",
        "additionalProperties",
        "description",
        "prefixItems",
    ]
)
_WORDS = st.sampled_from(
    [
        "object",
        "array",
        "string",
        "integer",
        "null",
        "#",
        "#/$defs/a",
        "#/properties/a",
        "#/$defs/a/allOf/0",
        "date",
    ]
)
_ODD_SCHEMAS = st.recursive(
    _WORDS | ANY_JSON,
    lambda inner: st.dictionaries(_KEYWORDS | st.just("a"), inner, max_size=4) | st.lists(inner, max_size=3),
    max_leaves=12,
)


@given(_ODD_SCHEMAS)
def test_any_json_is_a_schema_that_gives_a_form(schema: Any) -> None:
    """A schema that makes no sense gives a form all the same, if only a JSON field."""
    field = parse_schema(schema if isinstance(schema, dict) else {"properties": schema})
    read(field)
    assert same(read(field, {"a": [1]}).value, {"a": [1]})


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "string"}, TextField()),
        ({"type": "string", "maxLength": 500}, TextField(is_long=True)),
        ({"type": "string", "format": "date"}, TimeField(format="date", asks_day=True)),
        ({"type": "string", "format": "uuid"}, TextField()),
        ({"type": "integer"}, NumberField(is_integer=True)),
        ({"type": "number"}, NumberField()),
        ({"type": "boolean", "default": True}, BooleanField(default=True)),
        ({"type": "string", "enum": ["a", "b"]}, ChoiceField(options=("a", "b"))),
        ({"const": 4}, ConstField(value=4)),
        ({"type": "object"}, ObjectField(members=(), others=JSON_FIELD)),
        ({"type": "object", "additionalProperties": False}, ObjectField(members=())),
        (
            {"type": "object", "additionalProperties": {"type": "number"}},
            ObjectField(members=(), others=NumberField()),
        ),
        ({"type": "array"}, ArrayField(item=JSON_FIELD)),
        ({"type": "array", "prefixItems": [{}], "items": {"type": "string"}}, JsonField(blank="[]")),
        ({}, JSON_FIELD),
        ({"type": ["string", "null"]}, NullableField(inner=TextField())),
        ({"type": "string", "nullable": True}, NullableField(inner=TextField())),
        ({"type": ["string", "integer"]}, UnionField(variants=(TextField(), NumberField(is_integer=True)))),
        ({"allOf": [{"type": "string"}, {"maxLength": 3}]}, TextField()),
        ({"allOf": [{"type": "string"}, {"type": "integer"}]}, JsonField()),
        ({"allOf": [{"type": "string"}, True]}, JsonField()),
        ({"type": "STRING"}, TextField()),
        ({"type": 7}, JsonField()),
        ({"$ref": "https://example.com/x.json"}, JsonField()),
    ],
)
def test_each_kind_of_schema_has_its_field(schema: JsonObject, expected: Any) -> None:
    """Every kind that the form knows has a field of its own; what it does not know is JSON by hand."""
    assert parse_schema(schema) == expected


def test_definitions_are_followed_and_a_union_takes_the_variant_that_fits_best() -> None:
    """`$ref` into `$defs` is followed, with the description beside it, and one level deep where it leads to itself."""
    line = {"properties": {"sku": {"type": "string"}}, "required": ["sku"]}
    kinds = [
        {"properties": {"kind": {"const": kind}, "lives": {"type": "integer"}}} for kind in ("cat", "dog")
    ]
    schema: Any = {
        "$defs": {"Line": line, "Node": {"properties": {"next": {"$ref": "#/$defs/Node"}}}},
        "properties": {
            "lines": {"type": "array", "items": {"$ref": "#/$defs/Line"}, "minItems": 1},
            "gift": {"$ref": "#/$defs/Line", "description": "for free"},
            "tree": {"$ref": "#/$defs/Node"},
            "pet": {"anyOf": kinds},
        },
    }
    field = parse_schema(schema)
    assert isinstance(field, ObjectField)
    lines, gift, tree, pet = (member.field for member in field.members)
    assert isinstance(lines, ArrayField)
    assert isinstance(lines.item, ObjectField)
    assert (lines.least, lines.item.members[0].required) == (1, True)
    assert isinstance(gift, ObjectField)
    assert gift.description == "for free"
    assert isinstance(tree, ObjectField)
    assert tree.members[0].field == JsonField()
    value: JsonObject = {"next": {"next": {"next": {}}}}
    assert read(tree, value).value == value
    assert same(
        read(pet, {"kind": "dog", "lives": 2}, **{":v1.lives": "3"}).value, {"kind": "dog", "lives": 3}
    )


def test_what_is_too_deep_for_inputs_is_written_as_json() -> None:
    """A union inside of a union, and a deep object that may be null; one after it, inside of a list, or near the top has inputs.

    A text that may be null has them at any depth.
    """
    either: Any = {"anyOf": [{"type": "string"}, {"type": "integer"}]}
    person: Any = {
        "anyOf": [{"type": "object", "properties": {"name": {"type": "string"}}}, {"type": "null"}]
    }
    order = {"properties": {"person": person, "note": {"type": ["string", "null"]}}}
    nested = {"type": "object", "properties": {"amount": either}}
    outer = {"anyOf": [nested, {"type": "null"}, {"type": "boolean"}]}
    listed = {"type": "array", "items": either}
    inner = {"outer": outer, "after": either, "listed": listed, "order": order, "person": person}
    field: Any = parse_schema({"type": "object", "properties": inner})
    fields: dict[str, Any] = {member.name: member.field for member in field.members}
    assert isinstance(fields["outer"], NullableField)
    union: Any = fields["outer"].inner
    assert [member.field for member in union.variants[0].members] == [JsonField()]
    assert isinstance(fields["after"], UnionField)
    assert isinstance(fields["listed"].item, UnionField)
    assert isinstance(fields["person"], NullableField)
    deep, note = (member.field for member in fields["order"].members)
    assert (deep, note) == (JsonField(blank="null"), NullableField(inner=TextField()))


def test_an_optional_field_starts_switched_off_with_its_default_ready() -> None:
    """What is not required is left out, and shows the schema's default once it is switched on."""
    field = parse_schema(
        {
            "type": "object",
            "properties": {
                "city": {"type": "string"},
                "limit": {"type": "integer", "default": 10},
                "note": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
            },
            "required": ["city"],
        }
    )
    assert read(field).value == {"city": ""}
    on = {".limit:given": True, ".note:given": True}
    assert read(field, **on).value == {"city": "", "limit": 10, "note": ""}


@pytest.mark.parametrize(
    ("schema", "typed", "words"),
    [
        *(({"type": "integer"}, text, "whole number") for text in ("", "1.5", "1e999", "9" * 5000)),
        ({"type": "integer"}, "1,000", "ambiguous"),
        *(({"type": "number"}, text, "enter a number") for text in (" ", "300,00", "1_0", "nan")),
        ({"type": "string", "format": "date"}, "soon", "enter a date"),
        ({}, '{"a": }', "Line 1, column 7"),
        *(({}, text, "Line 1, ") for text in ('{"a": ', '["', '"open', "1e999")),
        ({}, " ", "enter a text"),
    ],
)
def test_an_unusable_input_is_named(schema: JsonObject, typed: str, words: str) -> None:
    """What cannot be read, and what begins like JSON and is none, gives a problem that says what is needed, and where."""
    (problem,) = read(parse_schema(schema), **{"": typed, "json:": typed}).problems
    assert problem.path == ()
    assert words in problem.message


def test_the_path_of_a_problem_leads_through_objects_and_rows() -> None:
    """A problem inside a row of an array is found by names and places."""
    item: JsonObject = {"type": "object", "properties": {"n": {"enum": [1, 2]}}, "required": ["n"]}
    field = parse_schema(
        {"type": "object", "properties": {"lines": {"type": "array", "items": item}}, "required": ["lines"]}
    )
    reading = read(field, {"lines": [{"n": 1}]}, **{".lines:rows": [0, 1]})
    assert [problem.path for problem in reading.problems] == [("lines", 1, "n")]
    assert reading.value == {"lines": [{"n": 1}, {}]}


def test_other_fields_may_not_repeat_a_field() -> None:
    """A name that has a field of its own is refused in the free part, where it would be ambiguous."""
    field = parse_schema({"type": "object", "properties": {"a": {"type": "string"}}})
    for others, words in (('{"a": 1}', "is set twice"), ("[1]", "Other fields")):
        (problem,) = read(field, {"a": "x", "\n": 1}, **{"json::others": others}).problems
        assert words in problem.message
    for name, words in (("a", "is named a"), (" ", "enter a name")):
        (problem,) = read(field, {"a": "x", "b": 1}, **{":others:0.name": name}).problems
        assert (words in problem.message, problem.path) == (True, ("", 0))


@pytest.mark.parametrize(
    ("typed", "value"),
    [
        ("GRV-500-56", "GRV-500-56"),
        ("  It's here: today ", "It's here: today"),
        ("2026-05-03", "2026-05-03"),
        ("01067", "01067"),
        ("yes", "yes"),
        ("true", True),
        ("12.5", 12.5),
        ('"12"', "12"),
        ('{"a": 1}', {"a": 1}),
    ],
)
def test_a_field_of_no_declared_type_takes_words_without_quotes(typed: str, value: Any) -> None:
    """Also inside of an object, where the key would be missing else; numbers, truth values and JSON are what they are."""
    field = parse_schema({"type": "object", "properties": {"policy": {}}, "required": ["policy"]})
    assert read(field, **{"json:.policy": typed}) == FormReading(value={"policy": value})


def test_words_are_shown_without_quotes() -> None:
    """Unless they would be read as JSON; what looks like a number is known to be a text."""
    values = ("GRV-500-56", "12", "true", "", " a", "[a")
    shown = [JSON_FIELD.typed(Typed(), value, "") for value in values]
    assert [(each.text, each.is_text) for each in shown] == [
        ("GRV-500-56", False),
        ("12", True),
        ("true", True),
        ('""', False),
        ('" a"', False),
        ('"[a"', False),
    ]


_KEYS = st.one_of(st.sampled_from(["id", "größe", "a b", "x.y", "$ref", "", "type"]), st.text(max_size=4))
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
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(_KEYS, inner, max_size=4)),
    max_leaves=12,
)


def shown(value: Any, schema: Any = None) -> Any:
    """Return what a form and its tables say of a value that nobody has changed."""
    found = read(parse_schema(schema or shape_of(value), tables=True), value)
    assert not found.problems
    return as_before(found.value, value)


@given(st.dictionaries(_KEYS, JSON, max_size=5))
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
    assert "JsonField" not in repr(parse_schema(shape_of(value)))


def test_a_flat_list_of_records_is_a_table_and_others_are_none() -> None:
    """Scalars of one type in each column, and mostly the same keys."""
    flat: list[Any] = [
        {"id": "a", "qty": 1, "price": 2},
        {"id": "b", "qty": None, "price": 2.5, "gift": True},
    ]
    assert [column.kind for column in columns_of(flat)] == ["text", "integer", "number", "boolean"]
    assert [*table_places({"order": {"lines": flat}, "ids": ["a"]})] == [("order", "lines")]
    others: tuple[Any, ...] = (
        [],
        [1],
        [{}],
        [{"a": 1}, {"a": "x"}],
        [{"a": 1, "b": None}, {"a": 2, "b": None}],
        [{"a": []}],
        [{"a": 1}, {"b": 1, "c": 1, "d": 1}],
        [{"_index": 1}],
    )
    assert [columns_of(other) for other in others] == [()] * len(others)


def test_what_is_done_in_a_table_changes_those_cells_alone() -> None:
    """Edited, emptied, added and deleted, as Streamlit's editor says it; no other number changes its type."""
    rows: list[dict[str, Any]] = [
        {"id": "a", "qty": 1, "price": 2.0, "note": None},
        {"id": "b", "qty": 2, "price": 3.5, "note": "last"},
        {"id": "c", "qty": 3, "price": 4.0},
    ]
    done = {
        "edited_rows": {"0": {"price": "2", "note": "gift", "id": None}, 2: {"price": "5", "qty": "4.0"}},
        "added_rows": [{"id": "d", "price": "1", "qty": " "}],
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


@pytest.mark.parametrize(
    ("language", "typed", "held", "has_problem"),
    [
        ("de-DE", "1.250", "1.250", True),
        ("en-US", "1.250", 1.25, False),
        ("de-DE", "1,250", "1,250", True),
        (None, "a few", "a few", True),
        ("de-DE", "1250", 1250.0, False),
        ("de-DE", "1.250,50", 1250.5, False),
        ("de-DE", "2.125", 2.125, False),  # as it was
    ],
)
def test_a_cell_for_a_number_is_read_as_a_form_reads_it(
    language: str | None, typed: str, held: Any, has_problem: bool
) -> None:
    """What is no sure number stays as it was typed, with its row and column, until it is one; also when it is shown once more."""
    rows: list[dict[str, Any]] = [{"id": "1.250", "price": 1.5}, {"id": "2", "price": 2.125}]
    columns = columns_of(rows)
    made = edited_rows(rows, columns, {"edited_rows": {1: {"price": typed}}}, language)
    assert made == edited_rows(made, columns, {}, language) == [rows[0], {"id": "2", "price": held}]
    found = [each.path for each in cell_problems(made, columns, language)]
    assert found == [(1, "price")] * has_problem


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
    """Rows have inputs with names, and a new row has the same."""
    field = parse_schema(filled(schema, value))
    shown = field.item if isinstance(field, ArrayField) else field
    assert isinstance(shown, ObjectField)
    assert [member.name for member in shown.members] == names


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
        assert same(read(field, value).value, value)
