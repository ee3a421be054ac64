"""Tests for plans of schemas: what they say of a value is what the validator says."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from simulator.base.json_values import JsonObject
from simulator.environment.schema.schema_checks import check
from simulator.environment.schema.schema_plans import plan_for
from tests.simulator.environment.drawn_json import json_values

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
