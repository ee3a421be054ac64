"""Fuzzes the offline drafts: random schemas, arguments and answers give a draft that fits, without a crash or a hang."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.base.json_values import copied
from simulator.environment.conventions import EarlierAnswer
from simulator.environment.drafts.candidates import candidates, drafted
from simulator.environment.drafts.draft import DraftCall
from simulator.environment.schema.schema_checks import check
from simulator.environment.schema.schema_fields import inferred_schema
from simulator.environment.schema.schema_plans import plan_for
from tests.simulator.base.rows import for_each
from tests.simulator.environment.drawn_json import json_values
from tests.simulator.environment.schema.witnessed_schemas import witnessed

FEW, CASES = 60, 4_000
TOOLS = ("find_it", "create_order", "delete_item", "list_orders", "pay", "x")
ARGUMENTS = ("order_id", "status", "price", "items", "name", "limit", "max_price")


def call_of(seed: int) -> DraftCall:
    """Make a random call of a random tool; its schema has a value."""
    schema, _, fuzzer = witnessed(seed)
    arguments = {name: fuzzer.values() for name in ARGUMENTS if fuzzer.rng.random() < 0.4}
    tool = fuzzer.rng.choice(TOOLS)
    earlier = tuple(
        EarlierAnswer(tool_name=tool, arguments={"order_id": "A-1"}, response=fuzzer.values())
        for _ in range(fuzzer.rng.randint(0, 2))
    )
    return DraftCall(
        tool_name=tool, arguments=arguments, response_schema=schema, earlier=earlier, seed=str(seed)
    )


@pytest.mark.parametrize(
    "seeds", [range(FEW), pytest.param(range(FEW, CASES), marks=pytest.mark.long)], ids=str
)
def test_each_random_draft_fits_its_schema(seeds: range) -> None:
    """Whatever the schema, the arguments and the earlier answers are, the draft is JSON, fits, and comes to its end."""
    for seed in seeds:
        call = call_of(seed)
        made = drafted(call)
        assert made.problems == (), (seed, made)
        is_adks = isinstance(made.value, dict) and made.value.keys() == {"error_code", "error_message"}
        assert is_adks or plan_for(call.response_schema or {}).problems(made.value) == (), (seed, made)
        assert copied(made.value) == made.value, seed


@pytest.mark.long
def test_the_witnesses_of_the_fuzz_fit_their_schemas() -> None:
    """Each random schema really has a value, so no draft can be excused."""
    for seed in range(0, CASES, 80):
        schema, value, _ = witnessed(seed)
        assert check(value, schema) == (), seed


@given(st.integers(10**6, 10**9))
def test_candidates_of_any_call_fit_its_schema_and_differ(seed: int) -> None:
    """All ready answers fit; no two are equal; the same call gives the same ones."""
    call = call_of(seed)
    found = candidates(call)
    assert found[0].label == "expected"
    others = [
        one
        for one in found
        if not (isinstance(one.value, dict) and one.value.keys() == {"error_code", "error_message"})
    ]
    assert [check(one.value, call.response_schema) for one in others] == [()] * len(others)
    assert all(
        left.value != right.value or repr(left.value) != repr(right.value)
        for left in found
        for right in found
        if left is not right
    )
    assert candidates(call) == found


@for_each(
    "schema",
    [
        False,
        {"not": {}},
        {"type": "string", "minLength": 5, "maxLength": 2},
        {"type": "integer", "minimum": 0.2, "maximum": 0.8},
        {"type": "object", "required": ["a"], "properties": {"a": False}},
        {"type": "array", "items": {"type": "boolean"}, "uniqueItems": True, "minItems": 3},
        {"allOf": [{"type": "string"}, {"type": "integer"}]},
        {"enum": []},
        {"$ref": "#/$defs/A", "$defs": {"A": {"type": "object", "required": ["a"], "properties": {"a": {"$ref": "#/$defs/A"}}}}},
        {"type": "string", "pattern": "(?!)"},
        {"type": "strnig"},
    ],
)  # fmt: skip
def test_a_schema_without_a_value_gives_a_draft_that_says_so(schema: object) -> None:
    """Nothing fits, so whatever is drafted names its problems instead of raising."""
    made = drafted(
        DraftCall(tool_name="find_it", response_schema=schema if isinstance(schema, dict) else {"not": {}})
    )
    assert made.problems


@given(st.lists(json_values(names=st.sampled_from(["id", "status", "a"])), max_size=4))
def test_an_inferred_schema_fits_the_values_that_it_comes_from(values: list[Any]) -> None:
    """No value that was seen is ruled out, by the closed form or the open one."""
    for closed in (True, False):
        schema = inferred_schema(values, closed=closed)
        assert [check(value, schema) for value in values] == [()] * len(values)
