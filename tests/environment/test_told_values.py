"""Tests that drafts keep to what descriptions say of values: units, kinds, examples, and choices in words."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from simulator.environment.drafting.generator import Draft, DraftCall, drafted
from simulator.environment.drafting.told_choices import told_choices
from simulator.environment.drafting.told_values import in_told_unit
from simulator.jsonvalue import JsonObject


def made(description: str = "", fields: JsonObject | None = None, seed: str = "") -> Any:
    """Draft the answer of a tool with such a description, or such fields that its schema requires."""
    schema: JsonObject | None = (
        None if fields is None else {"type": "object", "properties": fields, "required": list(fields)}
    )
    call = DraftCall(tool_name="set_mode", description=description, response_schema=schema, seed=seed)
    return drafted(call).value


@pytest.mark.parametrize("seed", ["", "a", "b"])
@pytest.mark.parametrize(
    "told",
    [
        'Set.\n\nReturns:\n    A dict with\n      - "status": "placed" or "failed"\n      - `mode`: one of \'heat\', \'cool\'\n',
        "Set.\n\nReturns:\n    A dict with status: 'placed' or 'failed' and the `mode`: one of 'heat', 'cool'.\n",
        "Set.\n\nReturns:\n    dict: with keys 'status' ('placed' or 'failed') and \"mode\", either 'heat' or 'cool'\n",
        "Set.\n\n:return: a dict with status ('placed' | 'failed') and mode, one of 'heat', 'cool' or 'cool'\n",
    ],
)
def test_choices_in_words_are_values_of_their_field(told: str, seed: str) -> None:
    """They are no fields of their own, and the field says one of them."""
    answer = made(told, seed=seed)
    assert answer.keys() == {"status", "mode"}
    assert answer["status"] in {"placed", "failed"}
    assert answer["mode"] in {"heat", "cool"}


def test_quoted_names_of_fields_are_no_choices() -> None:
    """A list of quoted words that no "or" joins stays a list of fields."""
    for told in (
        "a dict with keys 'status', 'mode'",
        "keys: 'status' or 'mode'",
        "an item ('name', 'price')",
    ):
        assert told_choices(told) == (told, {})


def test_amounts_are_in_the_unit_that_the_description_names() -> None:
    """A temperature in Fahrenheit is what people measure there, and an amount in cents is whole."""
    fields: JsonObject = {
        "temperature": {"type": "number", "description": "Temperature in Fahrenheit"},
        "amount": {"type": "integer", "description": "Amount in cents"},
    }
    celsius = made(fields={"temperature": {"type": "number"}})["temperature"]
    answer = made(fields=fields)
    assert answer["temperature"] == round(celsius * 9 / 5 + 32, 1)
    assert answer["amount"] % 100 == 0
    assert in_told_unit(20, "temperature", "in degrees Celsius", whole=False) == 20
    assert in_told_unit(20, "humidity", "Fahrenheit of the room", whole=False) == 20


def test_a_text_is_of_the_kind_that_the_description_names() -> None:
    """What is said to be a date is one; what has an example is like it; a name that tells enough needs neither."""
    fields: JsonObject = {
        "estimated_delivery": {"type": "string", "description": "Estimated delivery date"},
        "window": {"type": "string", "description": "The slot, e.g. 07:00-10:30"},
        "grade": {"type": "string", "description": "How good it is, for example 'B+'"},
        "city": {"type": "string", "description": "The city's name (e.g. 'Xanadu')"},
    }
    answer = made(fields=fields)
    assert dt.date.fromisoformat(answer["estimated_delivery"])
    assert answer["window"] == "07:00-10:30"
    assert answer["grade"] == "B+"
    assert answer["city"] != "Xanadu"


def refused(schema: JsonObject) -> Draft:
    """Draft the answer to a call with null for an argument of such a schema."""
    parameters: JsonObject = {"type": "object", "properties": {"order_id": schema}, "required": ["order_id"]}
    return drafted(DraftCall(tool_name="get_order", parameters=parameters, arguments={"order_id": None}))


def test_null_for_what_is_required_is_a_bad_request() -> None:
    """It invents nothing; an argument that may be null, or that is of any type, may be."""
    assert refused({"type": "STRING"}).value == {
        "status": "error",
        "error_code": 400,
        "error": "order_id must not be null.",
    }
    open_to_null: tuple[JsonObject, ...] = (
        {"type": "string", "nullable": True},
        {"anyOf": [{"type": "string"}, {"type": "null"}]},
        {},
    )
    for schema in open_to_null:
        assert "error_code" not in str(refused(schema).value)
