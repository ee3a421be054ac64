"""Proves what breaks an output schema, and what is an error beside it."""

from __future__ import annotations

from typing import Any

import pytest

from simulator.environment.prompts.json_extraction import breach, is_error_beside
from tests.simulator.base.rows import for_each

ORDER: dict[str, Any] = {
    "type": "object",
    "properties": {"order_id": {"type": "string"}, "status": {"type": "string"}},
    "required": ["order_id", "status"],
    "additionalProperties": False,
}


@for_each(
    "error",
    [
        {"error_code": 404, "error_message": "No order."},
        {"status": "error", "error": "No order."},
        {"status": "not_found", "message": "No order."},
        {"error": "No order."},
    ],
)
def test_an_error_breaks_no_schema(error: dict[str, Any]) -> None:
    """A schema describes what a tool gives where nothing goes wrong."""
    assert is_error_beside(error, ORDER)
    assert breach(error, ORDER) == ""


@pytest.mark.parametrize("value", [{"order_id": 7, "status": "failed"}, {"status": "failed"}])
def test_a_status_alone_excuses_no_botched_answer(value: dict[str, Any]) -> None:
    """An order may have failed; what stands beside it has to fit."""
    assert ": $" in breach(value, ORDER)
    assert breach(value, {"anyOf": [ORDER, {"type": "null"}]})


@for_each(
    "schema",
    [
        None,
        {},
        {"type": "nonsense"},
        {"$ref": "#/$defs/nowhere"},
        {"properties": {"a": "string"}},
        {"required": True},
        {"minimum": float("nan"), "required": ["b"]},
        {"pattern": "(", "required": ["b"]},
    ],
)
def test_what_says_nothing_or_is_broken_cannot_be_broken(schema: dict[str, Any] | None) -> None:
    """No answer could be held to it."""
    assert breach({"a": 1}, schema) == ""


def test_a_value_may_stand_in_its_field_as_adk_wraps_it() -> None:
    """A tool that returns a list is recorded as an object with a result; a wrong list is wrong there, too."""
    schema: dict[str, Any] = {"type": "array", "items": {"type": "string"}}
    assert breach({"result": ["a"]}, schema) == breach(["a"], schema) == ""
    assert breach({"result": [1]}, schema)


def test_many_faults_are_counted() -> None:
    """The sentence stays short."""
    told = breach({str(number): number for number in range(9)}, {"additionalProperties": {"type": "string"}})
    assert told.endswith("; and 6 more")
