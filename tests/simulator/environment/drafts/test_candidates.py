"""Tests of the ready answers that are offered for a call, and of the parts that draw values inside bounds."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.base.json_values import JsonObject
from simulator.environment.drafts.candidates import Candidate, candidates, drafted
from simulator.environment.drafts.draft import Draft, DraftCall, Unsure, unsure_of
from simulator.environment.injection.distortions import hostile_texts
from simulator.environment.schema.scalar_instances import Chance, fitted, matching
from simulator.environment.schema.schema_checks import check
from simulator.environment.schema.schema_fields import inferred_schema
from simulator.environment.schema.schema_plans import NEVER, merged
from tests.simulator.base.rows import for_each
from tests.simulator.environment.drafts.test_generator import answered
from tests.simulator.environment.evidence.running import function_of

ERROR: JsonObject = {
    "type": "object",
    "properties": {"code": {"type": "string"}, "error": {"type": "string", "maxLength": 60}},
    "required": ["code", "error"],
}
TICKETS: JsonObject = {
    "anyOf": [
        {
            "type": "object",
            "properties": {
                "customer_id": {"type": "string"},
                "tickets": {
                    "type": "array",
                    "maxItems": 3,
                    "items": {
                        "type": "object",
                        "properties": {"ticket_id": {"type": "string"}, "note": {"type": "string"}, "hours": {"type": "integer", "maximum": 80}},
                        "required": ["ticket_id", "note", "hours"],
                    },
                },
                "next_page": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            },
            "required": ["customer_id", "tickets", "next_page"],
        },
        ERROR,
    ]
}  # fmt: skip


def offered(**more: Any) -> dict[str, Candidate]:
    """Return the candidates for a call by their labels."""
    call = DraftCall(tool_name="list_tickets", arguments={"customer_id": "C-7"}, **more)
    return {one.label: one for one in candidates(call)}


def test_five_different_answers_are_offered_and_each_fits() -> None:
    """Expected, empty, error, edge and hostile, in this order, each valid, about what the call asked, and what its label says.

    Nothing in the empty one, the tool's own error, the most that the schema allows, and a known hostile text.
    """
    found = offered(response_schema=TICKETS)
    assert list(found) == ["expected", "empty", "error", "edge", "hostile"]
    assert [check(one.value, TICKETS) for one in found.values()] == [()] * 5
    assert all(one.title and one.why for one in found.values())
    told = [one.value for one in found.values() if one.kind == "value"]
    assert [one["customer_id"] for one in told if isinstance(one, dict)] == ["C-7"] * 4
    assert found["empty"].value == {"customer_id": "C-7", "tickets": [], "next_page": None}
    assert found["error"].kind == "error"
    assert found["error"].value == {"code": "NOT_FOUND", "error": "No customer C-7 was found."}
    assert found["error"].error_message == "No customer C-7 was found."
    edge: Any = found["edge"].value
    assert len(edge["tickets"]) == 3
    assert {one["hours"] for one in edge["tickets"]} == {80}
    assert all(len(one["note"]) == 2_000 and not one["note"].isascii() for one in edge["tickets"])
    expected: Any = found["expected"].value
    hostile: Any = found["hostile"].value
    note = hostile["next_page"].removeprefix(expected["next_page"]).strip()
    assert note in {one.said({"tool": "list_tickets", "argument": "C-7"}).strip() for one in hostile_texts()}


@pytest.mark.parametrize(("tool", "count"), [("create_claim", 4), ("create_claim", 0), ("find_claim", 0)])
def test_an_empty_answer_makes_up_no_id(tool: str, count: int) -> None:
    """An id for which nothing is known stays the blank that it is in the draft, and counts as one once it is given; other texts are empty."""
    fields = ("policy_number", "note")
    schema: JsonObject = {
        "type": "object",
        "properties": {name: {"type": "string"} for name in fields},
        "required": [*fields],
    }
    earlier = tuple(answered(tool, dict.fromkeys(fields, ""), item=place) for place in range(count))
    call = DraftCall(tool_name=tool, arguments={"item": "Car"}, response_schema=schema, earlier=earlier)
    draft, empty = (one for one in candidates(call) if one.label in {"expected", "empty"})
    assert empty.value == {"policy_number": draft.value["policy_number"], "note": ""}  # type: ignore[index, call-overload] # an object
    assert [blank.path for blank in empty.blanks] == ["$.policy_number"]
    assert unsure_of(draft.blanks, draft.value, empty.value) == Unsure(("$.policy_number",))


def test_an_error_takes_the_shape_of_an_earlier_one() -> None:
    """A tool without a schema fails as it failed before."""
    before = answered("list_tickets", {"status": "error", "message": "Unknown customer."}, customer_id="C-1")
    assert offered(earlier=(before,))["error"].value == {
        "status": "error",
        "message": "No customer C-7 was found.",
    }


def test_an_answer_that_cannot_be_made_valid_is_left_out() -> None:
    """A schema with one value only has the expected answer only."""
    assert list(offered(response_schema={"const": {"a": 1}})) == ["expected"]
    assert "error" not in offered(response_schema={"type": "integer"})


@for_each("pattern", [
    r"^[A-Z]{3}-\d{4}$", r"^\+?[1-9]\d{6,14}$", r"^(\d{1,3}\.){3}\d{1,3}$", r"^[a-f0-9]{40}$", r"^(?!x)[a-z]+$", r"^\S+@\S+\.\w+$",
    r"^v?\d+\.\d+\.\d+(-[0-9A-Za-z.]+)?$", r"^\d{4}-(0[1-9]|1[0-2])$", r"^[^\W\d_]+$", r"(a|b)*c", r"^.{5,}$", "^(?i:ok)$", r"\bword\b",
])  # fmt: skip
def test_a_text_matches_its_pattern(pattern: str) -> None:
    """Ids, telephone numbers, hashes, versions, dates and what else schemas ask for."""
    made = {matching(pattern, Chance(seed), "x") for seed in "abcdef"}
    assert None not in made
    assert all(re.search(pattern, text or "") for text in made)


def test_a_pattern_that_nothing_matches_or_that_never_ends_gives_nothing() -> None:
    """No text is better than one that does not match, and none takes for ever."""
    assert matching("(?!)", Chance("s")) is None
    assert matching("(", Chance("s")) is None
    assert matching(r"^[A-Z]{3}$", Chance("s"), least=9) is None
    slow = {"type": "string", "pattern": r"^(([a-z])+.)+[A-Z]([a-z])+$"}
    assert check("a" * 60, slow) != ()


@given(
    st.floats(-1e6, 1e6), st.tuples(st.integers(-500, 500), st.integers(0, 400)),
    st.sampled_from([None, 1, 2, 7, 0.5, 0.25, 0.1, 0.01]), st.booleans(), st.integers(0, 3),
)  # fmt: skip
def test_a_number_keeps_within_its_bounds_and_steps(
    wanted: float, bounds: tuple[int, int], step: float | None, whole: bool, shift: int
) -> None:
    """What a validator says of it decides; where there is none, the bounds really leave none."""
    low, span = bounds
    schema: JsonObject = {"type": "integer" if whole else "number", "minimum": low, "maximum": low + span}
    if step is not None:
        schema["multipleOf"] = step
    made = fitted(wanted, schema, whole=whole, shift=shift)
    if made is None:
        assert step is not None
        assert not any(check(low + part * 0.01, schema) == () for part in range(min(span, 20) * 100 + 1))
    else:
        assert check(made, schema) == ()


def test_merging_asks_for_what_both_ask_for() -> None:
    """The narrower bound, the common types and choices, all that is required; contradictions leave nothing."""
    one: JsonObject = {"type": ["integer", "null"], "minimum": 1, "multipleOf": 4}
    assert merged(one, {"type": "number", "minimum": 3, "multipleOf": 6}) == {
        "type": "integer",
        "minimum": 3,
        "multipleOf": 12,
    }
    assert merged({"enum": [1, "a", True]}, {"enum": [True, "a"]}) == {"enum": ["a", True]}
    assert merged({"type": "string"}, {"type": "integer"}) == NEVER
    closed: JsonObject = {"properties": {"a": {}}, "additionalProperties": False}
    both = merged(closed, {"properties": {"b": {"type": "string"}}, "required": ["a"]})
    assert both["properties"] == {"a": True, "b": False}


def test_a_schema_is_inferred_from_answers() -> None:
    """Fields that are always there are required, states are enums, and different types are alternatives."""
    found = inferred_schema([{"id": 1, "status": "open"}, {"id": "x", "status": "done", "note": None}])
    assert found["required"] == ["id", "status"]
    properties: Any = found["properties"]
    assert properties["status"] == {"type": "string", "enum": ["open", "done"]}
    assert properties["id"] == {"anyOf": [{"type": "string"}, {"type": "integer"}]}
    assert properties["note"] == {"type": "null"}


CODE = """
import requests

def logged(message: str) -> dict[str, str]:
    entry = {"timestamp": requests.get("now").text, "message": message}
    return {"status": "logged", "entry": entry, "total_entries": 1}

def news(topic: str) -> dict[str, list[dict[str, str]]]:
    return {"alpha": [{"title": requests.get(topic).text, "link": "https://a.example"}], "beta": requests.get(topic).json()}
"""
TEXTS: JsonObject = {"type": "object", "additionalProperties": {"type": "string"}}
LISTS: JsonObject = {"type": "object", "additionalProperties": {"type": "array", "items": TEXTS}}


def of(name: str, schema: JsonObject, **arguments: str) -> Draft:
    """Draft a call whose tool has an annotation and no schema that somebody set."""
    call = DraftCall(
        tool_name=name,
        arguments=arguments,
        code=function_of(CODE, name),
        state={},
        seed="s",
        response_schema=schema,
    )
    return drafted(call)


@pytest.mark.parametrize(
    ("draft", "said", "blank"),
    [
        (of("logged", TEXTS, message="hi"), {"status": "logged", "total_entries": 1}, "$.entry.timestamp"),
        (of("news", LISTS, topic="hi"), {}, "$.beta"),
    ],
    ids=["texts", "lists"],
)
def test_what_the_code_says_stays(draft: Draft, said: dict[str, object], blank: str) -> None:
    """With a mark where nobody knows the value, and a word on what does not fit the annotation."""
    assert isinstance(draft.value, dict)
    assert said.items() <= draft.value.items()
    assert blank in {one.path for one in draft.blanks}
    assert "$" not in {one.path for one in draft.blanks}
    assert draft.problems
