"""Tests of checking values against the schemas that tools declare."""

from __future__ import annotations

import json
import operator
from typing import Any, Literal

import pytest
from google.genai import types
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from evalset.recorded.tolerances import PatternTolerance, Unordered, tolerated
from simulator.base.json_values import JsonObject
from simulator.base.work_limit import MOST_PARTS, SearchError
from simulator.environment.drafts.candidates import drafted
from simulator.environment.drafts.draft import DraftCall
from simulator.environment.schema.scalar_instances import (
    LARGEST,
    Chance,
    is_found,
    least_size,
    matching,
)
from simulator.environment.schema.schema_checks import BrokenSchemaError, check, normalise
from simulator.environment.schema.schema_plans import plan_for
from tests.simulator.base.rows import for_each
from tests.simulator.environment.drawn_json import json_values


class Item(BaseModel):
    """One line of an order."""

    sku: str = Field(pattern=r"^[A-Z]{2}\d+$")
    quantity: int = Field(ge=1, le=99)
    kind: Literal["thing", "service"] = "thing"


class Order(BaseModel):
    """Nested, optional, repeated and named."""

    order_id: str
    items: list[Item] = Field(min_length=1)
    gift: Item | None = None
    prices: dict[str, float] = {}


class Node(BaseModel):
    """Contains itself."""

    name: str
    children: list[Node] = []


def problems(value: object, schema: object) -> list[tuple[str, str]]:
    """Return the problems as pairs."""
    return [(problem.path, problem.message) for problem in check(value, schema)]


def found(value: object, schema: object, *words: str) -> list[str]:
    """Return the places of the problems, each of which has these words."""
    problems_there = problems(value, schema)
    assert all(word in message for word, (_, message) in zip(words, problems_there, strict=True)), (
        problems_there
    )
    return [place for place, _ in problems_there]


def test_each_problem_has_its_place() -> None:
    """Paths lead from the root through names and positions, into a choice too: the cause in an optional object is named."""
    gift = {"sku": "AB1", "quantity": "2"}
    order = {"order_id": 3, "items": [{"sku": "AB1", "quantity": 0}, {"sku": "AB1"}], "gift": gift}
    words = ("'string'", "minimum of 1", "'quantity'", "'integer'")
    assert found(order, Order.model_json_schema(), *words) == [
        "$.order_id",
        "$.items[0].quantity",
        "$.items[1]",
        "$.gift.quantity",
    ]
    assert (
        problems({"order_id": "A", "items": [{"sku": "AB1", "quantity": 1}]}, Order.model_json_schema()) == []
    )


def test_a_schema_of_google_genai_is_read() -> None:
    """Upper-case types, `nullable`, `any_of`, counts as texts, numbers' choices as texts, `ref` and `defs`."""
    schema = types.Schema(
        type=types.Type.OBJECT,
        required=["name"],
        property_ordering=["name"],
        example={"name": "x"},
        properties={
            "name": types.Schema(type=types.Type.STRING, nullable=True, enum=["x"], format="enum"),
            "size": types.Schema(any_of=[types.Schema(type=types.Type.INTEGER)], nullable=True),
            "level": types.Schema(type=types.Type.INTEGER, enum=["1", "2"]),
            "parts": types.Schema(
                type=types.Type.ARRAY, min_items=1, items=types.Schema(ref="#/defs/Part"), nullable=True
            ),
            "free": types.Schema(type=types.Type.TYPE_UNSPECIFIED),
        },
        defs={"Part": types.Schema(type=types.Type.OBJECT, required=["id"])},
    )
    for dumped in (
        schema.model_dump(mode="json", exclude_none=True),
        schema.model_dump(mode="json", exclude_none=True, by_alias=True),
    ):
        good = {"name": None, "size": None, "level": 2, "parts": [{"id": 1}], "free": [1, "x"]}
        assert problems(good, dumped) == []
        assert problems({"name": "x", "parts": None}, dumped) == []
        assert [
            path for path, _ in problems({"name": "y", "size": "s", "level": 3, "parts": []}, dumped)
        ] == [
            "$.name",
            "$.size",
            "$.level",
            "$.parts",
        ]
        assert found({"name": "x", "parts": [{}]}, dumped, "'id'") == ["$.parts[0]"]


def test_openapi_spellings_are_read() -> None:
    """Exclusive bounds by a boolean, `example`, a list of items, and an `$id` that would misdirect references."""
    schema = {
        "$id": "https://example.com/root",
        "type": "object",
        "properties": {
            "share": {"type": "number", "minimum": 0, "exclusiveMinimum": True, "example": 0.5},
            "pair": {"type": "array", "items": [{"type": "string"}, {"type": "integer"}]},
            "part": {"$ref": "#/components/schemas/Part~1x", "nullable": True},
        },
        "components": {"schemas": {"Part/x": {"type": "integer"}}},
    }
    assert problems({"share": 0.1, "pair": ["a", 1], "part": None}, schema) == []
    assert [path for path, _ in problems({"share": 0, "pair": [1, "a"], "part": "x"}, schema)] == [
        "$.share",
        "$.pair[0]",
        "$.pair[1]",
        "$.part",
    ]


def test_properties_that_are_named_like_keywords_stay() -> None:
    """Names of properties and values of defaults are no keywords."""
    schema = {
        "type": "OBJECT",
        "properties": {"any_of": {"type": "STRING"}, "ref": {"type": "STRING"}, "$id": {"type": "STRING"}},
        "default": {"type": "STRING", "any_of": 1},
    }
    normal: Any = normalise(schema)
    assert list(normal["properties"]) == ["any_of", "ref", "$id"]
    assert normal["default"] == {"type": "STRING", "any_of": 1}


@for_each(
    "schema",
    [
        "text",
        None,
        {"type": "strng"},
        {"type": 5},
        {"$ref": "#/$defs/Nowhere"},
        {"$ref": "http://127.0.0.1:9/schema.json"},
        {"$ref": "#"},
        {"pattern": "("},
        {"patternProperties": {"(": {}}},
        {"properties": {"a": "string"}},
        {"required": True},
        {"minimum": float("nan")},
        {"$defs": {"A": {"$ref": "#/$defs/B"}, "B": {"$ref": "#/$defs/A"}}, "$ref": "#/$defs/A"},
    ],
)
def test_a_broken_schema_is_one_problem(schema: object) -> None:
    """It says that the schema is broken, it fetches nothing and it never raises."""
    ((path, message),) = problems({"a": 1}, schema)
    assert path == "$"
    assert "schema itself" in message
    assert [problem.of_schema for problem in check({"a": 1}, schema)] == [True]


def test_a_bottomless_schema_or_value_is_one_problem() -> None:
    """Nesting beyond what can be walked is told, not raised."""
    schema: dict[str, Any] = {}
    value: list[Any] = []
    for _ in range(5_000):
        schema, value = {"items": schema}, [value]
    assert len(problems([], schema)) == 1
    assert len(problems(value, {"type": "array", "items": {"$ref": "#"}})) == 1


@pytest.mark.long
def test_a_schema_that_doubles_itself_stays_small() -> None:
    """Forty levels of two references each would be a million million schemas; checking stays possible."""
    schema: dict[str, Any] = {
        "$defs": {
            f"L{i}": {"properties": {name: {"$ref": f"#/$defs/L{i + 1}"} for name in "ab"}} for i in range(40)
        },
        "$ref": "#/$defs/L0",
    }
    schema["$defs"]["L40"] = {"type": "string"}
    assert len(json.dumps(normalise(schema))) < 100_000
    deep: Any = 5
    for _ in range(40):
        deep = {"b": deep}
    assert [path for path, _ in problems(deep, schema)] == ["$" + ".b" * 40]


def test_a_schema_that_contains_itself_keeps_one_definition() -> None:
    """The reference stays, the definitions stand by themselves, and normalising again changes nothing."""
    normal = normalise(TypeAdapter(list[Node]).json_schema())
    assert normalise(normal) == normal
    assert problems([{"name": "a", "children": [{"name": "b"}]}], normal) == []
    assert found([{"name": "a", "children": [{"name": 3}]}], normal, "'string'") == ["$[0].children[0].name"]


def test_local_references_are_resolved() -> None:
    """What a schema refers to stands in its place; what stands beside the reference still counts."""
    normal: Any = normalise(Order.model_json_schema())
    assert "$ref" not in json.dumps(normal)
    assert normal["properties"]["items"]["items"]["properties"]["quantity"]["minimum"] == 1
    beside = {"$ref": "#/$defs/N", "maximum": 3, "title": "few", "$defs": {"N": {"type": "integer"}}}
    assert found(4, beside, "maximum of 3") == ["$"]
    assert found("x", beside, "'integer'") == ["$"]
    assert normalise(beside)["title"] == "few"


@for_each(
    ("name", "good", "bad"),
    [
        ("date", "2025-02-28", "2025-02-30"),
        ("date-time", "2025-02-28T10:00:00Z", "2025-02-28"),
        ("date-time", "2025-02-28T10:00:00", "10:00"),
        ("time", "10:00:00", "25:00"),
        ("email", "a@example.com", "example.com"),
        ("uri", "https://example.com/a?b=c", "no uri"),
        ("uuid", "123e4567-e89b-42d3-a456-426614174000", "123"),
        ("int64", "anything", None),
    ],
)
def test_formats_are_checked(name: str, good: str, bad: str | None) -> None:
    """The formats that tools use count; those that nobody knows do not."""
    schema = {"type": "string", "format": name}
    assert problems(good, schema) == []
    assert bad is None or len(problems(bad, schema)) == 1


def test_problems_stay_readable() -> None:
    """A long list gives fifty problems at most, and a long value is cut."""
    assert len(check(["x"] * 1_000, {"items": {"type": "integer"}})) == 50
    ((_, message),) = problems("x" * 10_000, {"type": "integer"})
    assert len(message) < 400
    assert message.endswith("'integer'")


def test_normalise_says_what_is_no_schema() -> None:
    """Only an object or a boolean is a schema."""
    assert normalise(True) == {}
    assert check(1, False) != ()
    with pytest.raises(BrokenSchemaError, match="object, not list"):
        normalise([])


_TYPES: st.SearchStrategy[Any] = st.recursive(
    st.sampled_from([int, str, bool, float, Item, Order, Literal["a", "b"]]),
    lambda inner: (
        st.builds(lambda kind: list[kind], inner)  # type: ignore[valid-type] # types are made at run time
        | st.builds(lambda kind: dict[str, kind], inner)  # type: ignore[valid-type] # as above
        | st.builds(lambda kind: kind | None, inner)
        | st.builds(operator.or_, inner, inner)
    ),
    max_leaves=4,
)
_VALUES = json_values(
    st.none() | st.booleans() | st.integers(0, 3) | st.sampled_from(["a", "AB1", 0.5]),
    st.sampled_from(["sku", "quantity", "kind", "order_id", "items", "x"]),
)


@given(kind=_TYPES, value=_VALUES)
def test_normalising_changes_no_verdict(kind: Any, value: object) -> None:
    """For any type: the library on the plain schema, and we, on it or on its normal form, say the same."""
    schema = TypeAdapter(kind).json_schema()
    expected = Draft202012Validator(schema).is_valid(value)
    assert (check(value, schema) == ()) is expected
    assert (check(value, normalise(schema)) == ()) is expected


PLAIN = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from([1.0, 2.5, "a", "b", ""])
TYPES = st.sampled_from(["string", "number", "integer", "boolean", "null", "object", "array"])
LEAVES: st.SearchStrategy[Any] = st.fixed_dictionaries(
    {"type": TYPES},
    optional={
        "enum": st.lists(PLAIN, min_size=1, max_size=3),
        "title": st.just("T"),
        "minLength": st.just(1),
    },
)


def wider(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Return objects and lists of schemas."""
    fields = st.dictionaries(st.sampled_from("abc"), inner, max_size=3)
    objects = st.fixed_dictionaries(
        {"type": st.just("object"), "properties": fields},
        optional={
            "required": st.lists(st.sampled_from("abc"), unique=True, max_size=2),
            "additionalProperties": st.booleans() | inner,
        },
    )
    return objects | st.fixed_dictionaries(
        {"type": st.just("array")}, optional={"items": inner | st.booleans()}
    )


@given(st.recursive(LEAVES, wider, max_leaves=6), json_values(PLAIN, st.sampled_from("abc")))
def test_a_plan_accepts_what_the_validator_accepts(schema: JsonObject, value: Any) -> None:
    """The quick look at common schemas never lets a value pass that the validator refuses, nor the other way round."""
    assert (plan_for(schema).problems(value) == ()) == (check(value, schema) == ())


HUGE = ("^(a{1000}){1000}$", "^(((a{100}){100}){100}){100}$", "(a|b){200000}", "a" * (MOST_PARTS + 1))
"""What is not bounded takes more than a minute, or all memory: no test of this file would come to its end."""


def of_field(field: JsonObject) -> JsonObject:
    """Return the schema of an object with one field that it must have."""
    return {"type": "object", "properties": {"code": field}, "required": ["code"]}


@for_each("pattern", HUGE)
def test_a_pattern_that_repeats_too_much_is_given_up_and_said_so(pattern: str) -> None:
    """The draft has a problem that says that no text was found; a check says that the pattern is not checked."""
    schema = of_field({"type": "string", "pattern": pattern})
    made = drafted(DraftCall(tool_name="read", response_schema=schema))
    assert ": code: " in made.problems[0].message
    assert "too much" in check({"code": "a"}, schema)[0].message


@for_each(
    "field",
    [
        {"type": "string", "minLength": 10**9},
        {"type": "string", "minLength": 10**9, "pattern": "^a*$"},
        {"type": "array", "items": {"type": "integer"}, "minItems": 10**9},
        {"type": "array", "contains": {"type": "integer"}, "minContains": 10**9},
        {"type": "object", "minProperties": 10**9},
    ],
)
def test_a_bound_that_no_answer_can_reach_is_a_problem_of_the_draft(field: JsonObject) -> None:
    """The draft comes soon, and names what could not be made."""
    made = drafted(DraftCall(tool_name="read", response_schema=of_field(field)))
    assert made.problems


@pytest.mark.long
def test_many_choices_of_long_patterns_share_one_bound() -> None:
    """Thirty ways to make a long text, none of which fits, are given up together."""
    ways = [{"type": "string", "pattern": "^(a{30}){30}$", "minLength": least} for least in range(30)]
    assert drafted(DraftCall(tool_name="read", response_schema={"oneOf": ways})).problems


def test_names_of_fields_are_searched_within_bounds() -> None:
    """A pattern for names that backtracks without end is given up, and an ordinary one tells which fields are allowed."""
    endless: JsonObject = {"^(a|a)+(b|b)+$": {"type": "string"}}
    assert check(
        {"a" * 40 + "!": "x"}, {"type": "object", "patternProperties": endless, "additionalProperties": False}
    )
    unnamed: JsonObject = {"patternProperties": endless, "unevaluatedProperties": False}
    assert check({"a" * 40 + "!": "x"}, unnamed)
    otherwise: JsonObject = {
        "if": {"required": ["b"]},
        "else": {"patternProperties": endless},
        "unevaluatedProperties": False,
    }
    assert check({"a" * 40 + "!": "x"}, otherwise)
    inherited: JsonObject = {
        "properties": {"id": {}},
        "allOf": [{"patternProperties": {"^x_": {"type": "integer"}}}],
        "unevaluatedProperties": False,
    }
    assert check({"id": "a", "x_1": 3}, inherited) == ()
    assert "y_1" in check({"id": "a", "x_1": 3, "y_1": 3}, inherited)[0].message
    allowed: JsonObject = {
        "type": "object",
        "properties": {"id": {}},
        "patternProperties": {"^x_": {"type": "integer"}},
        "additionalProperties": False,
    }
    assert check({"id": "a", "x_1": 3}, allowed) == ()
    assert "y_1" in check({"y_1": 3}, allowed)[0].message
    assert check({"x_1": "no number"}, allowed)[0].path == "$.x_1"
    assert check({"y": "no number"}, {"additionalProperties": {"type": "integer"}})[0].path == "$.y"


def test_ordinary_repetitions_are_made_and_found() -> None:
    """The size of a pattern counts each repetition as often as it must be there; a text of a usual one is made."""
    assert least_size("^(a{100}){100}$") == 10_000 + 2
    assert least_size("(?:(?:ab?){0,500}){0,500}") < LARGEST
    assert is_found("^[A-Z]{3}-[0-9]{4}$", "ABC-1234")
    assert matching("^([a-z]{5}-){6}$", Chance("seed")) is not None
    with pytest.raises(SearchError, match="too much"):
        is_found(HUGE[0], "a")


@pytest.mark.long
def test_patterns_of_tolerances_are_bounded_too() -> None:
    """What is too large is refused when it is read; what searches without end is given up, though it is asked of many values."""
    for pattern in HUGE:
        with pytest.raises(ValidationError, match=r"repeats too much|at most 8000 characters"):
            PatternTolerance(tool="read", pattern=pattern)
    tolerance = PatternTolerance(tool="read", path="values[*]", pattern="^(a|a)+(b|b)+$")
    recorded: JsonObject = {"values": ["a"] * 50}
    endless: JsonObject = {"values": ["a" * 5_000 + "!"] * 50}
    assert not tolerated("read", recorded, endless, [tolerance])
    anyhow = Unordered(tool="read", path="values")
    assert not tolerated("read", recorded, endless, [tolerance, anyhow])
