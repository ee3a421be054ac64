"""Tests that no pattern and no bound of a schema makes a draft, or a check, work without end."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from evalset.recorded.tolerances import PatternTolerance, Unordered, tolerated
from simulator.base.json_values import JsonObject
from simulator.environment.conventions.seeded_choice import Chance
from simulator.environment.drafts.draft_generator import DraftCall, drafted
from simulator.environment.schema.pattern_texts import (
    LARGEST,
    UnboundedPatternError,
    is_found,
    least_size,
    matching,
)
from simulator.environment.schema.schema_checks import check
from tests.simulator.base.rows import for_each

HUGE = ("^(a{1000}){1000}$", "^(((a{100}){100}){100}){100}$", "(a|b){100000}", "a" * (LARGEST + 1))
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
    assert is_found("^[A-Z]{3}-[0-9]{4}$", "ABC-1234", 1.0)
    assert matching("^([a-z]{5}-){6}$", Chance("seed")) is not None
    with pytest.raises(UnboundedPatternError, match="too much"):
        is_found(HUGE[0], "a", 1.0)


@pytest.mark.long
def test_patterns_of_tolerances_are_bounded_too() -> None:
    """What is too large is refused when it is read; what searches without end is given up, though it is asked of many values."""
    for pattern in HUGE:
        with pytest.raises(ValidationError, match=r"repeats too much|at most 1000 characters"):
            PatternTolerance(tool="read", pattern=pattern)
    tolerance = PatternTolerance(tool="read", path="values[*]", pattern="^(a|a)+(b|b)+$")
    recorded: JsonObject = {"values": ["a"] * 50}
    endless: JsonObject = {"values": ["a" * 5_000 + "!"] * 50}
    assert not tolerated("read", recorded, endless, [tolerance])
    anyhow = Unordered(tool="read", path="values")
    assert not tolerated("read", recorded, endless, [tolerance, anyhow])
