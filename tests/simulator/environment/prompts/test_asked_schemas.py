"""Proves what of a tool's output schema a provider is sent, and what only the prompt says."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import BaseModel

from simulator.environment.prompts.json_answers import answer_schema, for_gemini, for_strict, or_error
from simulator.environment.schema.schema_checks import check
from tests.simulator.base.rows import for_each
from tests.simulator.environment.drawn_json import json_values

ORDER: dict[str, Any] = {
    "title": "Order of a shop",
    "type": "object",
    "properties": {
        "order_id": {"type": "string", "pattern": "^A-", "minLength": 2},
        "when": {"type": "string", "format": "date"},
        "site": {"type": "string", "format": "uri"},
        "kind": {"const": "order"},
        "flag": {"enum": [True, None]},
        "lines": {"type": "array", "items": {"type": "object", "properties": {"sku": {"type": "string"}}}},
        "owner": {"oneOf": [{"type": "string"}, {"type": "null"}]},
    },
    "required": ["order_id"],
}


class Node(BaseModel):
    """A thing that holds things of its kind."""

    name: str
    below: list[Node] = []


def test_gemini_is_sent_the_keywords_that_it_knows_and_no_others() -> None:
    """What is left out is named; what can be said in other words is."""
    sent = for_gemini(ORDER)
    assert sent.reason == ""
    assert sent.left_out == ("enum", "minLength", "pattern")
    assert sent.schema_sent == {
        "type": "object",
        "properties": {
            "order_id": {"type": "string"},
            "when": {"type": "string", "format": "date"},
            "site": {"type": "string"},
            "kind": {"enum": ["order"]},
            "flag": {},
            "lines": {
                "type": "array",
                "items": {"type": "object", "properties": {"sku": {"type": "string"}}},
            },
            "owner": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        },
        "required": ["order_id"],
    }


def test_a_strict_provider_is_sent_patterns_and_no_title() -> None:
    """A title would become the name of the format, in which providers allow no spaces."""
    schema = {**ORDER, "properties": {"order_id": ORDER["properties"]["order_id"]}}
    sent = for_strict(schema)
    assert sent.schema_sent == {
        "type": "object",
        "properties": {"order_id": {"type": "string", "pattern": "^A-"}},
        "required": ["order_id"],
    }
    assert sent.left_out == ("minLength",)


@for_each(
    ("part", "reason"),
    [
        ({"type": "object"}, "any name at $.part"),
        ({"type": ["object", "null"], "additionalProperties": {"type": "string"}}, "any name at $.part"),
        ({}, "anything at $.part"),
        ({"allOf": [{"type": "string"}]}, "anything at $.part"),
        ({"type": "array"}, "anything at $.part[*]"),
        ({"type": "array", "prefixItems": [{"type": "string"}], "items": False}, "places"),
        (
            {"type": "object", "properties": {"a": {"type": "string"}}, "patternProperties": {"^x": {}}},
            "any name at $.part",
        ),
        ({"type": "array", "items": {"type": "object"}}, "any name at $.part[*]"),
    ],
)
def test_a_strict_provider_is_not_sent_what_it_cannot_say(part: dict[str, Any], reason: str) -> None:
    """It would refuse the request; so the prompt alone says it, with the place."""
    sent = for_strict({"type": "object", "properties": {"part": part}})
    assert sent.schema_sent is None
    assert reason in sent.reason


def test_a_schema_that_contains_itself_goes_to_a_strict_provider_only() -> None:
    """Gemini takes such a schema in few places; OpenAI's format has references."""
    asked = answer_schema(Node.model_json_schema()).asked
    assert asked is not None
    assert "contains itself" in for_gemini(asked).reason
    sent = for_strict(asked).schema_sent
    assert sent is not None
    assert "$ref" in str(sent)
    assert "$defs" in sent


def test_what_is_no_object_is_asked_for_inside_of_one() -> None:
    """Providers give objects only; the references of a list still lead somewhere."""
    schema = {**Node.model_json_schema()}
    listed = {"type": "array", "items": {"$ref": "#/$defs/Node"}, "$defs": schema["$defs"]}
    asked = answer_schema(listed)
    assert asked.wrapped
    assert asked.asked is not None
    assert asked.asked["required"] == ["result"]
    assert "$defs" in asked.asked
    assert answer_schema(asked.asked).problem == ""


def test_an_error_can_be_chosen_in_the_place_of_an_answer() -> None:
    """The choice stands at the root, and so do the parts that the schema refers to."""
    sent = or_error(Node.model_json_schema())
    assert check({"error_code": 404, "error_message": "no"}, sent) == ()
    assert check({"name": "a", "below": [{"name": "b"}]}, sent) == ()
    assert check({"below": []}, sent)


@for_each(
    ("schema", "problem"),
    [
        *((broken, "invalid") for broken in (7, {"type": "wrong"}, {"$ref": "#/$defs/nowhere"}, {"type": 7})),
        (None, ""),
        ({}, ""),
        (True, ""),
    ],
)
def test_a_schema_that_is_broken_or_says_nothing_asks_for_nothing(schema: object, problem: str) -> None:
    """No answer could ever fit a broken one, which says why; where nothing is said, any JSON will do."""
    asked = answer_schema(schema)
    assert (asked.asked, asked.value, bool(asked.problem)) == (None, None, bool(problem))
    assert problem in asked.problem


def _schemas() -> st.SearchStrategy[Any]:
    leaves = st.sampled_from(
        [
            {"type": "string"},
            {"type": "string", "minLength": 2, "format": "date"},
            {"type": "integer", "minimum": 1},
            {"type": ["number", "null"]},
            {"enum": ["a", 1]},
            {"enum": [None, True]},
            {"const": "a"},
            {},
            True,
        ]
    )
    return st.recursive(leaves, _larger, max_leaves=8)


def _larger(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    several = st.lists(inner, min_size=1, max_size=3)
    lists = st.fixed_dictionaries(
        {"type": st.just("array")},
        optional={"items": inner | st.just(False), "prefixItems": several, "maxItems": st.just(2)},
    )
    fields = st.dictionaries(st.sampled_from(["a", "b", "xy"]), inner, max_size=3)
    objects = st.fixed_dictionaries(
        {"type": st.just("object"), "properties": fields},
        optional={
            "required": st.just(["a"]),
            "additionalProperties": inner | st.just(False),
            "patternProperties": st.fixed_dictionaries({"^x": inner}),
        },
    )
    choices = st.fixed_dictionaries({}, optional={"anyOf": several, "oneOf": several, "allOf": several})
    return lists | objects | choices


_PATTERNS = {
    "type": "object",
    "properties": {},
    "patternProperties": {"^x": {}},
    "additionalProperties": False,
}
_VALUES = json_values(
    st.sampled_from([None, True, 0, 1, 2.5, "a", "ab", "2024-01-31"]), st.sampled_from(["a", "b", "xy", "z"])
)


@example(_PATTERNS, [{"xy": 1}])
@example({"type": "array", "prefixItems": [{"type": "string"}], "items": False}, [["a"]])
@given(_schemas(), st.lists(_VALUES, min_size=1, max_size=8))
def test_what_gemini_is_sent_allows_all_that_the_schema_allows(schema: Any, values: list[Any]) -> None:
    """A keyword that is left out never makes the rest stricter: no right answer is ruled out."""
    asked = answer_schema(schema)
    if asked.asked is None:
        return
    sent = for_gemini(asked.asked)
    assert sent.schema_sent is not None
    for value in values:
        if not check(value, asked.value):
            whole = {"result": value} if asked.wrapped else value
            assert not check(whole, sent.schema_sent)


@given(_schemas())
def test_a_strict_schema_is_closed_or_is_not_sent(schema: Any) -> None:
    """Every object in it names its fields, and every list its items."""
    asked = answer_schema({"type": "object", "properties": {"part": schema}})
    assert asked.asked is not None
    sent = for_strict(asked.asked)
    assert (sent.schema_sent is None) == bool(sent.reason)
    if sent.schema_sent is not None:
        assert all("properties" in part for part in _parts(sent.schema_sent) if part.get("type") == "object")
        assert all("items" in part for part in _parts(sent.schema_sent) if part.get("type") == "array")


def _parts(schema: Any) -> Iterator[dict[str, Any]]:
    if isinstance(schema, dict):
        yield schema
        for inner in schema.values():
            yield from _parts(inner)
    elif isinstance(schema, list):
        for inner in schema:
            yield from _parts(inner)
