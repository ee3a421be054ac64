"""Tests for drafts of tools that say little of their answers: open objects, plain values, no schema at all."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.environment.drafting.generator import Draft, DraftCall, EarlierAnswer, Sources, drafted
from simulator.environment.drafting.told_fields import told_schema
from simulator.environment.schema.schemas import check
from simulator.environment.things.connections import found_offline
from simulator.environment.things.tables import read_tables
from simulator.environment.things.world import World
from simulator.jsonvalue import JsonObject

TEXT: JsonObject = {"type": "string"}
OBJECT: JsonObject = {"type": "object", "additionalProperties": True}
OBJECTS: JsonObject = {"type": "array", "items": OBJECT}
TEXTS: JsonObject = {"type": "object", "additionalProperties": TEXT}


def made(
    tool: str,
    schema: JsonObject | None,
    description: str = "",
    /,
    earlier: tuple[EarlierAnswer, ...] = (),
    world: World | None = None,
    **arguments: Any,
) -> Draft:
    """Draft one answer."""
    call = DraftCall(
        tool_name=tool, description=description, response_schema=schema, arguments=arguments, earlier=earlier
    )
    return drafted(call, Sources(world=world))


@pytest.mark.parametrize(
    ("told", "names"),
    [
        ("Returns: A dict with the ticket_id, the status and the created_at timestamp.",
         ["ticket_id", "status", "created_at"]),
        ("Returns:\n    List of dicts with id, name and price.", ["id", "name", "price"]),
        (":return: A list of dictionaries, each containing ``doctor_id`` and ``name``.\n:rtype: list",
         ["doctor_id", "name"]),
        ("@param a: b\n@return: a dict with the appointment id, the date and a confirmation code",
         ["appointment_id", "date", "confirmation_code"]),
        ("Returns\n-------\ndict\n    Dictionary with keys transfer_id, status and amount.\n",
         ["transfer_id", "status", "amount"]),
        ("Returns:\n  dict: keys:\n    - id (int): the id\n    - tags (list of str): tags", ["id", "tags"]),
        ("Returns the user's name, the email and whether the account is active.", ["name", "email", "is_active"]),
        ("Returns: A dict with a list of orders (each with order_id and total) and the number of open tickets.",
         ["orders", "number_of_open_tickets"]),
    ],
)  # fmt: skip
def test_fields_are_read_from_prose(told: str, names: list[str]) -> None:
    """A sentence, lines and the forms of four styles of docstrings tell the fields of an answer, in their order."""
    found: Any = told_schema(f"Do something.\n\n{told}")
    record = found["items"] if found["type"] == "array" else found
    assert list(record["properties"]) == names
    assert (found["type"] == "array") == ("ist of dict" in told)


@pytest.mark.parametrize(
    "told",
    ["Returns the current balance.", "Returns:\n  A dictionary containing the order details.", "Find an order.", "",
     "Returns:\n  An error message if not found."],
)  # fmt: skip
def test_words_that_name_no_fields_give_none(told: str) -> None:
    """What is said in general of an answer is not taken for names of fields."""
    assert told_schema(told) is None


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=200))
def test_any_description_can_be_read(text: str) -> None:
    """No description makes it fail, and every draft of an open object is an object."""
    assert isinstance(made("get_thing", OBJECT, f"Returns: {text}").value, dict)


def test_a_list_of_open_objects_holds_what_was_asked_for() -> None:
    """`list_tickets(status="open") -> list[dict]` gives tickets that are open, each with an id of its own and a title."""
    draft = made("list_tickets", OBJECTS, status="open")
    rows: Any = draft.value
    assert len({row["ticket_id"] for row in rows}) == len(rows) > 1
    assert {row["status"] for row in rows} == {"open"}
    assert all(len(row["title"].split()) > 2 for row in rows)
    assert draft.is_guess


def test_an_open_object_of_texts_is_filled_with_texts() -> None:
    """`find(order_id) -> dict[str, str]` gives the order that is asked for, and texts alone."""
    draft = made("find", TEXTS, "Find an order.", order_id="A-1")
    assert isinstance(draft.value, dict)
    assert draft.value["order_id"] == "A-1"
    assert len(draft.value) > 1
    assert draft.problems == ()


def test_the_description_tells_what_a_new_thing_has() -> None:
    """The fields that the sentence behind `Returns:` names are there, with a state that a new ticket has."""
    words = "Create a ticket.\n\nReturns:\n    A dict with the ticket_id, the status and the created_at timestamp."
    for schema in (None, OBJECT):
        draft = made("create_ticket", schema, words, title="No sound", priority="low")
        assert isinstance(draft.value, dict)
        assert list(draft.value) == ["ticket_id", "status", "created_at"]
        assert draft.value["status"] == "open"
        assert not draft.is_guess


def test_an_open_object_has_the_columns_of_the_table() -> None:
    """Where a table has such things, an open object shows its columns, and the very rows that are asked for."""
    table = {
        "rooms": [{"room_id": "R-1", "beds": 2, "view": "sea"}, {"room_id": "R-2", "beds": 1, "view": "yard"}]
    }
    draft = made(
        "search_rooms", OBJECTS, world=World(found_offline([]), read_tables(json.dumps(table))), beds=2
    )
    assert draft.value == [{"room_id": "R-1", "beds": 2, "view": "sea"}]
    assert not draft.is_guess


def test_an_open_object_has_the_fields_of_earlier_answers() -> None:
    """What a tool has answered tells the fields of what it answers next."""
    before = EarlierAnswer(
        tool_name="get_kiln", arguments={"kiln": 1}, response={"kiln": 1, "cone": "04", "full": True}
    )
    draft = made("get_kiln", OBJECT, "", (before,), kiln=2)
    assert isinstance(draft.value, dict)
    assert draft.value.keys() == {"kiln", "cone", "full"}
    assert draft.value["kiln"] == 2


def test_open_objects_inside_other_schemas_are_filled() -> None:
    """The customer of an order has a name, its address a city; metadata stay empty."""
    fields: JsonObject = {"customer": OBJECT, "address": OBJECT, "metadata": OBJECT}
    value: Any = made("get_thing", {"type": "object", "properties": fields, "required": list(fields)}).value
    assert {"name", "email"} <= value["customer"].keys()
    assert {"street", "city"} <= value["address"].keys()
    assert value["metadata"] == {}


@pytest.mark.parametrize(
    ("tool", "kind", "description", "fits"),
    [
        ("get_user", "string", "Get the name of a user.", lambda one: len(one.split()) > 1 and one.istitle()),
        ("count_orders", "integer", "", lambda one: 0 < one < 10),
        ("is_available", "boolean", "", lambda one: one is True),
        ("get_temperature", "number", "", lambda one: 0 < one < 40),
        ("get_order_status", "string", "", lambda one: len(one) > 3),
        ("close_ticket", "string", "", lambda one: one == "Ticket T-1 was closed."),
        ("summarize_ticket", "string", "Summarise a ticket.", lambda one: "ticket t-1" in one.lower()),
        ("get_ticket_url", "string", "", lambda one: one.startswith("https://")),
    ],
)  # fmt: skip
def test_plain_values_are_what_the_tool_is_named_for(
    tool: str, kind: str, description: str, fits: Any
) -> None:
    """A text, number or truth is of the kind that the description or the name tells of."""
    value = made(tool, {"type": kind}, description, ticket_id="T-1").value
    assert fits(value), value


def test_a_plain_value_agrees_with_what_is_known() -> None:
    """The name of a user in a table is that user's; the balance that one tool gives is that which another gave."""
    world = World(
        found_offline([]), read_tables(json.dumps({"users": [{"user_id": 12, "name": "Tom Baker"}]}))
    )
    assert made("get_user", TEXT, "Get the name of a user.", world=world, user_id=12).value == "Tom Baker"
    told = EarlierAnswer(tool_name="get_account", arguments={"account_id": "A"}, response={"balance": 90.5})
    paid = EarlierAnswer(
        tool_name="transfer",
        arguments={"from_account": "A", "to_account": "B", "amount": 10.0},
        response="Done.",
    )
    assert made("get_balance", {"type": "number"}, "", (told, paid), account_id="A").value == 80.5


def test_a_rate_is_of_the_size_that_it_has() -> None:
    """What a currency costs in another, and an amount converted, are about right, there and back."""
    number: JsonObject = {"type": "number"}
    rate: Any = made("get_exchange_rate", number, base="EUR", quote="JPY").value
    back: Any = made("get_exchange_rate", number, base="JPY", quote="EUR").value
    assert 100 < rate < 250
    assert rate * back == pytest.approx(1, rel=0.02)
    converted: Any = made("convert_currency", number, amount=50, from_currency="EUR", to_currency="JPY").value
    assert converted == pytest.approx(50 * rate, rel=0.01)


def test_lines_of_a_description_tell_choices_and_types() -> None:
    """A line that quotes two values allows these alone; the day of departure follows from the nights that are asked."""
    words = """Reserve a room.

    Returns:
        A dictionary containing:
            reservation_id (str): The id.
            status (str): "confirmed" or "waitlisted".
            check_out (str): The day of departure.
            total_price (float): What it costs.
    """
    table = {"rooms": [{"room_number": "102", "price_per_night": 120.0}]}
    world = World(found_offline([]), read_tables(json.dumps(table)))
    draft = made(
        "make_reservation", None, words, world=world, room_number="102", check_in="2026-02-27", nights=3
    )
    assert isinstance(draft.value, dict)
    assert draft.value["status"] == "confirmed"
    assert draft.value["check_out"] == "2026-03-02"
    assert draft.value["total_price"] == 360.0


def test_a_text_is_as_the_description_shows_one() -> None:
    """The form that a description gives for example is kept."""
    assert (
        made("get_hours", TEXT, "Get the hours of a day, e.g. 07:00-10:30.", day="sunday").value
        == "07:00-10:30"
    )


NAMES = st.sampled_from(
    [
        "get_user",
        "list_things",
        "find",
        "search_pages",
        "do_it",
        "create_x",
        "count_y",
        "lookup_zone_map",
        "ping",
    ]
)
SCHEMAS: list[JsonObject] = [
    OBJECT, OBJECTS, TEXT, TEXTS, {"type": "array"}, {"type": "array", "items": TEXT}, {"type": "integer"}, {},
    {"type": "object", "additionalProperties": {"type": "number"}},
    {"type": "object", "additionalProperties": {"type": "array", "items": OBJECT}},
    {"anyOf": [OBJECT, {"type": "null"}]}, {"type": "array", "items": TEXTS, "minItems": 3},
    {"type": "object", "properties": {"inner": OBJECTS}},
]  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(
    NAMES,
    st.sampled_from(SCHEMAS),
    st.dictionaries(st.sampled_from(["id", "query", "name", "x"]), st.text(max_size=9)),
)
def test_what_is_filled_fits_the_open_schema(
    tool: str, schema: JsonObject, arguments: dict[str, str]
) -> None:
    """Whatever is put into an open schema fits it, and nothing stands in it that only holds a place."""
    draft = drafted(DraftCall(tool_name=tool, response_schema=schema, arguments=arguments))
    assert check(draft.value, schema) == ()
    assert "example " not in json.dumps(draft.value).replace("@example ", "")
