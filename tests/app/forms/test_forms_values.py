"""The pure part of forms: schema to fields, value to inputs, inputs to value."""

from __future__ import annotations

from typing import Any, TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from app.forms.form_raw import RawJson, RawMember, RawNumber, RawObject, RawText, RawUnion, blank, fill
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
from tests.simulator.environment.drawn_json import json_values

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
    reading = read(field, fill(field, value))
    assert reading.problems == ()
    assert same(reading.value, value)
    assert same(read(field, fill(field, other)).value, other)
    read(field, blank(field))


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
    read(field, blank(field))
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
    assert read(tree, fill(tree, value)).value == value
    raw = fill(pet, {"kind": "dog", "lives": 2})
    assert isinstance(raw, RawUnion)
    assert raw.chosen == 1


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
    raw = blank(field)
    assert isinstance(raw, RawObject)
    assert [member.given for member in raw.members] == [True, False, False]
    assert raw.members[1].raw == RawNumber(number=10)
    assert read(field, raw).value == {"city": ""}


@pytest.mark.parametrize(
    ("schema", "raw", "words"),
    [
        ({"type": "integer"}, RawNumber(number=None), "whole number"),
        ({"type": "integer"}, RawNumber(number=1.5), "whole number"),
        ({"type": "number"}, RawNumber(number=None), "enter a number"),
        ({"type": "string", "format": "date"}, RawText(text="soon"), "enter a date"),
        ({}, RawJson(text='{"a": }'), "Line 1, column 7"),
        *(({}, RawJson(text=text), "Line 1, ") for text in ('{"a": ', '["', '"open', "1e999", "")),
    ],
)
def test_an_unusable_input_is_named(schema: JsonObject, raw: Any, words: str) -> None:
    """What cannot be read, and what begins like JSON and is none, gives a problem that says what is needed, and where."""
    (problem,) = read(parse_schema(schema), raw).problems
    assert problem.path == ()
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
