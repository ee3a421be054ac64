"""Proves what of a tool's output schema a provider is sent, and what only the prompt says."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel

from simulator.environment.asked_schemas import answer_schema, for_gemini, for_strict

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


@pytest.mark.parametrize(
    ("part", "reason"),
    [
        ({"type": "object"}, "fields of any name at $.part"),
        ({"type": ["object", "null"], "additionalProperties": {"type": "string"}}, "any name at $.part"),
        ({}, "anything at $.part"),
        ({"allOf": [{"type": "string"}]}, "anything at $.part"),
        ({"type": "array"}, "anything at $.part[*]"),
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


@pytest.mark.parametrize("schema", [7, {"type": "wrong"}, {"$ref": "#/$defs/nowhere"}, {"type": 7}])
def test_a_broken_schema_asks_for_nothing_and_says_why(schema: object) -> None:
    """No answer could ever fit it, so it is not asked for."""
    asked = answer_schema(schema)
    assert asked.asked is None
    assert asked.value is None
    assert "broken" in asked.problem


@pytest.mark.parametrize("schema", [None, {}, True])
def test_a_schema_that_says_nothing_asks_for_nothing(schema: object) -> None:
    """Any JSON will do."""
    asked = answer_schema(schema)
    assert (asked.asked, asked.value, asked.problem) == (None, None, "")
