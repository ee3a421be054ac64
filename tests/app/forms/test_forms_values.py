"""The pure part of forms: schema to fields, value to inputs, inputs to value."""

from __future__ import annotations

from typing import Any, TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from app.forms.form_raw import RawJson, RawMember, RawNumber, RawObject, RawText, blank, fill
from app.forms.form_reading import FormReading, read
from app.forms.form_tree import (
    ArrayField,
    BooleanField,
    ChoiceField,
    ConstField,
    JsonField,
    NullableField,
    NumberField,
    ObjectField,
    TextField,
    UnionField,
    parse_schema,
)
from simulator.base.json_values import JsonObject, same

Pair: TypeAlias = tuple[dict[str, Any], Any]

_NAMES = st.text("abcdefgh_ .-é", min_size=1, max_size=6)
ANY_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text("aé\n", max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_NAMES, inner, max_size=3),
    max_leaves=6,
)


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


@given(PAIRS)
def test_a_valid_value_comes_back_from_the_form_as_it_was(pair: Pair) -> None:
    """For a schema and a value that fits it, value -> inputs -> value changes nothing and finds no fault."""
    schema, value = pair
    field = parse_schema(schema)
    reading = read(field, fill(field, value))
    assert reading.problems == ()
    assert same(reading.value, value)


@given(PAIRS, ANY_JSON)
def test_a_value_that_does_not_fit_comes_back_too(pair: Pair, value: Any) -> None:
    """A value of any other shape is held as JSON text in its place: nothing is lost."""
    field = parse_schema(pair[0])
    assert same(read(field, fill(field, value)).value, value)


@given(PAIRS)
def test_an_empty_form_can_be_read(pair: Pair) -> None:
    """A form without a value never raises: it has a value, or problems that name fields."""
    field = parse_schema(pair[0])
    assert isinstance(read(field, blank(field)).problems, tuple)


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
    blank(field)
    assert same(read(field, fill(field, {"a": [1]})).value, {"a": [1]})


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "string"}, TextField()),
        ({"type": "string", "maxLength": 500}, TextField(is_long=True)),
        ({"type": "string", "format": "date"}, TextField(format="date")),
        ({"type": "string", "format": "uuid"}, TextField()),
        ({"type": "integer"}, NumberField(is_integer=True)),
        ({"type": "number"}, NumberField()),
        ({"type": "boolean", "default": True}, BooleanField(default=True, has_default=True)),
        ({"type": "string", "enum": ["a", "b"]}, ChoiceField(options=("a", "b"))),
        ({"const": 4}, ConstField(value=4)),
        ({"type": "object"}, JsonField(blank="{}")),
        ({"type": "array"}, JsonField(blank="[]")),
        ({"type": "array", "prefixItems": [{}], "items": {"type": "string"}}, JsonField(blank="[]")),
        ({}, JsonField(is_open=True)),
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


def test_the_schema_of_a_pydantic_model_is_followed_through_its_definitions() -> None:
    """`$ref` into `$defs` is followed, with the description that stands beside it."""
    schema: JsonObject = {
        "$defs": {"Line": {"type": "object", "properties": {"sku": {"type": "string"}}, "required": ["sku"]}},
        "type": "object",
        "properties": {
            "lines": {"type": "array", "items": {"$ref": "#/$defs/Line"}, "minItems": 1},
            "gift": {"$ref": "#/$defs/Line", "description": "for free"},
        },
    }
    field = parse_schema(schema)
    assert isinstance(field, ObjectField)
    lines, gift = (member.field for member in field.members)
    assert isinstance(lines, ArrayField)
    assert lines.least == 1
    assert isinstance(lines.item, ObjectField)
    assert lines.item.members[0].required
    assert isinstance(gift, ObjectField)
    assert gift.description == "for free"


def test_recursion_ends_in_a_json_field() -> None:
    """A tree that holds itself is drawn one level deep; below that it is JSON."""
    schema: JsonObject = {
        "$defs": {"Node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}}},
        "$ref": "#/$defs/Node",
    }
    field = parse_schema(schema)
    assert isinstance(field, ObjectField)
    assert field.members[0].field == JsonField()
    value: JsonObject = {"next": {"next": {"next": {}}}}
    assert read(field, fill(field, value)).value == value


def test_a_union_inside_of_a_union_is_written_as_json() -> None:
    """The outer one keeps its inputs; a union after it, and one inside of a list, have theirs."""
    either: dict[str, Any] = {"anyOf": [{"type": "string"}, {"type": "integer"}]}
    nested: dict[str, Any] = {"type": "object", "properties": {"amount": either}}
    field = parse_schema(
        {
            "type": "object",
            "properties": {
                "outer": {"anyOf": [nested, {"type": "null"}, {"type": "boolean"}]},
                "after": either,
                "listed": {"type": "array", "items": either},
            },
        }
    )
    assert isinstance(field, ObjectField)
    outer, after, listed = (member.field for member in field.members)
    assert isinstance(outer, NullableField)
    assert isinstance(outer.inner, UnionField)
    inside = outer.inner.variants[0]
    assert isinstance(inside, ObjectField)
    assert inside.members[0].field == JsonField()
    assert isinstance(after, UnionField)
    assert isinstance(listed, ArrayField)
    assert isinstance(listed.item, UnionField)


def test_a_deep_object_that_may_be_null_is_written_as_json() -> None:
    """Near the top it has inputs; a text that may be null has them at any depth."""
    person: dict[str, Any] = {"type": "object", "properties": {"name": {"type": "string"}}}
    inside: dict[str, Any] = {
        "type": "object",
        "properties": {
            "person": {"anyOf": [person, {"type": "null"}]},
            "note": {"type": ["string", "null"]},
        },
    }
    field = parse_schema({"type": "object", "properties": {"order": inside, **inside["properties"]}})
    assert isinstance(field, ObjectField)
    order, near, _ = (member.field for member in field.members)
    assert isinstance(near, NullableField)
    assert isinstance(order, ObjectField)
    assert [member.field for member in order.members] == [
        JsonField(blank="null"),
        NullableField(inner=TextField()),
    ]


def test_a_union_takes_the_variant_that_fits_best() -> None:
    """A discriminated union opens on the variant whose constant the value has."""
    cat: JsonObject = {
        "type": "object",
        "properties": {"kind": {"const": "cat"}, "lives": {"type": "integer"}},
    }
    dog: JsonObject = {
        "type": "object",
        "properties": {"kind": {"const": "dog"}, "tricks": {"type": "integer"}},
    }
    raw = fill(parse_schema({"anyOf": [cat, dog]}), {"kind": "dog", "tricks": 2})
    assert raw.kind == "union"
    assert raw.chosen == 1


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
    raw = blank(field)
    assert isinstance(raw, RawObject)
    assert [member.given for member in raw.members] == [True, False, False]
    assert raw.members[1].raw == RawNumber(number=10)
    assert read(field, raw).value == {"city": ""}


@pytest.mark.parametrize(
    ("schema", "raw", "path", "words"),
    [
        ({"type": "integer"}, RawNumber(number=None), (), "whole number"),
        ({"type": "integer"}, RawNumber(number=1.5), (), "whole number"),
        ({"type": "number"}, RawNumber(number=None), (), "enter a number"),
        ({"type": "string", "format": "date"}, RawText(text="soon"), (), "enter a date"),
        ({}, RawJson(text='{"a": }'), (), "Line 1, column 7"),
    ],
)
def test_an_unusable_input_is_named(schema: JsonObject, raw: Any, path: tuple[str, ...], words: str) -> None:
    """What cannot be read gives a problem that says what is needed, and where."""
    (problem,) = read(parse_schema(schema), raw).problems
    assert problem.path == path
    assert words in problem.message


def test_the_path_of_a_problem_leads_through_objects_and_rows() -> None:
    """A problem inside a row of an array is found by names and places."""
    field = parse_schema(
        {
            "type": "object",
            "properties": {
                "lines": {
                    "type": "array",
                    "items": {"type": "object", "properties": {"n": {"enum": [1, 2]}}, "required": ["n"]},
                }
            },
        }
    )
    lines = fill(field, {"lines": [{"n": 1}]})
    assert isinstance(lines, RawObject)
    held = lines.model_dump()
    held["members"][0]["raw"]["items"][0]["members"][0]["raw"]["index"] = None
    reading = read(field, RawObject.model_validate(held))
    assert [problem.path for problem in reading.problems] == [("lines", 0, "n")]
    assert reading.value == {"lines": [{}]}


def test_other_fields_may_not_repeat_a_field() -> None:
    """A name that has a field of its own is refused in the free part, where it would be ambiguous."""
    field = parse_schema({"type": "object", "properties": {"a": {"type": "string"}}})
    raw = fill(field, {"a": "x"})
    assert isinstance(raw, RawObject)
    for others, words in (('{"a": 1}', "is set twice"), ("[1]", "Other fields")):
        (problem,) = read(field, raw.model_copy(update={"others": others})).problems
        assert words in problem.message


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
    raw = RawObject(members=(RawMember(given=True, raw=RawJson(text=typed)),))
    assert read(field, raw) == FormReading(value={"policy": value})


@pytest.mark.parametrize("typed", ['{"a": ', '["', '"open', "1e999", ""])
def test_what_begins_like_json_has_to_be_json(typed: str) -> None:
    """A slip of the pen is no text."""
    assert read(parse_schema({}), RawJson(text=typed)).problems


@given(ANY_JSON)
def test_what_a_field_of_no_declared_type_shows_is_read_back(value: Any) -> None:
    """Words without quotes where they are no JSON."""
    field = parse_schema({})
    assert same(read(field, fill(field, value)).value, value)


def test_words_are_shown_without_quotes() -> None:
    """Unless they would be read as something else."""
    shown = [fill(parse_schema({}), value) for value in ("GRV-500-56", "12", "true", "", " a")]
    assert [each.text for each in shown if isinstance(each, RawJson)] == [
        "GRV-500-56",
        '"12"',
        '"true"',
        '""',
        '" a"',
    ]
