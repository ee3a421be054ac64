"""Tests of where drafts come from: tables, the world, recorded answers, errors, refusals, new ids."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from simulator.base.json_values import JsonObject
from simulator.environment.conventions import EarlierAnswer
from simulator.environment.drafts.candidates import drafted
from simulator.environment.drafts.draft import Draft, DraftCall, Sources
from simulator.environment.drafts.field_texts import next_id
from simulator.environment.recordings import ObservedCall
from simulator.environment.world.connections import ToolShape, found_offline
from simulator.environment.world.entities import read_tables
from simulator.environment.world.world import World
from tests.simulator.base.rows import for_each
from tests.simulator.environment.drafts.test_generator import answered

SHOP: dict[str, Any] = {
    "products": [
        {"id": "P-001", "name": "Studio headphones", "category": "audio", "price": 49.0, "stock": 3, "created_at": "2026-01-02"},
        {"id": "P-002", "name": "Desk speaker", "category": "audio", "price": 89.5, "stock": 0, "created_at": "2026-02-02"},
        {"id": "P-003", "name": "Travel mug", "category": "kitchen", "price": 12.5, "stock": 40, "created_at": "2026-03-02"},
    ],
    "customers": [{"id": "C-1", "name": "Ada", "email": "ada@example.com"}, {"id": "C-2", "name": "Grace", "email": "g@example.com"}],
    "orders": {
        "O-1": {"customer_id": "C-1", "status": "shipped", "total": 49.0},
        "O-2": {"customer_id": "C-2", "status": "processing", "total": 25.0},
        "O-3": {"customer_id": "C-1", "status": "delivered", "total": 12.5},
    },
}  # fmt: skip
TEXT: JsonObject = {"type": "string"}
TOOLS: dict[str, JsonObject] = {
    "search_products": {},
    "find_product": {"product_id": TEXT},
    "list_orders": {},
    "get_customer": {"customer_id": TEXT},
    "create_order": {},
    "cancel_order": {"order_id": TEXT},
    "find_order": {"order_id": TEXT},
    "count_products": {},
}


def shop() -> World:
    """Return a world with the shop's tables."""
    shapes = [
        ToolShape(name=name, parameters={"type": "object", "properties": fields})
        for name, fields in TOOLS.items()
    ]
    return World(found_offline(shapes), read_tables(json.dumps(SHOP)))


def made(tool: str, schema: JsonObject | None = None, /, **arguments: Any) -> Draft:
    """Draft one answer from the shop's tables."""
    return drafted(
        DraftCall(tool_name=tool, arguments=arguments, response_schema=schema), Sources(world=shop())
    )


def listing(name: str, *fields: str) -> JsonObject:
    """Return the schema of an object with a list of records and a count."""
    item: JsonObject = {"type": "object", "properties": {one: {} for one in fields}, "required": list(fields)}
    return {
        "type": "object",
        "properties": {name: {"type": "array", "items": item}, "count": {"type": "integer"}},
        "required": [name, "count"],
    }


@for_each(
    ("arguments", "ids"),
    [
        ({"category": "audio"}, ["P-001", "P-002"]),
        ({"category": "Audio", "max_price": 50}, ["P-001"]),
        ({"min_price": 20, "max_price": 60}, ["P-001"]),
        ({"query": "headphone studio"}, ["P-001"]),
        ({"query": "travel mugs"}, ["P-003"]),
        ({"min_created_at": "2026-02-01"}, ["P-002", "P-003"]),
        ({"category": ["kitchen", "garden"]}, ["P-003"]),
        ({"limit": 2}, ["P-001", "P-002"]),
        ({"limit": 2, "page": 2}, ["P-003"]),
        ({"category": "all"}, ["P-001", "P-002", "P-003"]),
        ({"category": "garden"}, []),
        ({"product_ids": ["P-003", "P-001"]}, ["P-001", "P-003"]),
    ],
)
def test_a_search_gives_the_rows_that_fit(arguments: dict[str, Any], ids: list[str]) -> None:
    """Equality, bounds, words, dates, lists, stock and pages filter the table; where none fits, there is none."""
    answer = made("search_products", listing("products", "product_id", "product_name", "price"), **arguments)
    assert isinstance(answer.value, dict)
    found: Any = answer.value["products"]
    assert [one["product_id"] for one in found] == ids
    assert answer.problems == ()
    assert [one.path for one in answer.blanks] == ["$.count"]
    names = {row["id"]: (row["name"], row["price"]) for row in SHOP["products"]}
    assert [(one["product_name"], one["price"]) for one in found] == [names[one] for one in ids]


@for_each(
    "arguments",
    [{"customer_id": "C-1"}, {"email": "ada@example.com"}, {"customer_id": "C-1", "status": None}],
)
def test_a_list_is_filtered_by_what_it_refers_to(arguments: dict[str, Any]) -> None:
    """The orders of a customer are found by the customer's id, or by what the customer's own table says."""
    answer: Any = made(
        "list_orders", listing("orders", "order_id", "customer_id", "total"), **arguments
    ).value
    assert [(one["order_id"], one["customer_id"], one["total"]) for one in answer["orders"]] == [
        ("O-1", "C-1", 49.0), ("O-3", "C-1", 12.5),
    ]  # fmt: skip


def test_rows_are_told_without_a_schema_too() -> None:
    """A tool of which only the name is known lists the rows under the plural of their kind."""
    answer: Any = made("search_products", category="kitchen").value
    assert answer == {"products": [SHOP["products"][2]]}


def test_one_thing_is_told_with_its_fields_and_an_unknown_one_is_not_found() -> None:
    """An id finds its row; one that a complete table lacks gives a 404."""
    found: Any = made("find_product", product_id="P-003").value
    assert (found["name"], found["price"]) == ("Travel mug", 12.5)
    missing: Any = made("find_product", product_id="P-999").value
    assert missing["error_code"] == 404
    assert "P-999" in str(missing)


def test_what_another_tool_found_out_about_a_thing_is_no_field_of_it() -> None:
    """A tool of which nothing is known shows it marked; what a table says, and what a tool that looks up such things said, is no guess."""
    tables = read_tables(json.dumps({"claims": [{"claim_id": "C-77", "car": "Golf"}]}))
    names = ("find_claim", "ask_expert", "check_fraud")
    shape: JsonObject = {"type": "object", "properties": {"claim_id": {"type": "string"}}}
    world = World(found_offline([ToolShape(name=name, parameters=shape) for name in names]), tables)
    world.take(EarlierAnswer("find_claim", {"claim_id": "C-77"}, {"claim_id": "C-77", "opened": "Monday"}))
    world.take(EarlierAnswer("ask_expert", {"claim_id": "C-77"}, {"claim_id": "C-77", "result": "pending"}))
    draft = drafted(DraftCall(tool_name="check_fraud", arguments={"claim_id": "C-77"}), Sources(world=world))
    assert [(blank.path, blank.drawn) for blank in draft.blanks] == [("$.result", True)]


def test_what_is_made_is_numbered_on_and_found_again() -> None:
    """A new order's id follows the last one, what nobody knows is left to the person, and the world then knows it."""
    world = shop()
    line: JsonObject = {
        "type": "object",
        "properties": {
            "product_id": {"type": "string"},
            "quantity": {"type": "integer"},
            "unit_price": {"type": "number"},
        },
        "required": ["product_id", "quantity", "unit_price"],
    }
    schema: JsonObject = {
        "type": "object",
        "properties": {
            "order_id": {"type": "string"},
            "items": {"type": "array", "items": line},
            "total": {"type": "number"},
        },
        "required": ["order_id", "items", "total"],
    }
    arguments: JsonObject = {"customer_id": "C-1", "items": [{"product_id": "P-003", "quantity": 2}]}
    answer: Any = drafted(
        DraftCall(tool_name="create_order", arguments=arguments, response_schema=schema), Sources(world=world)
    ).value
    assert answer == {
        "order_id": "O-4",
        "items": [{"product_id": "P-003", "quantity": 2, "unit_price": 0}],
        "total": 0,
    }
    answer["total"] = 25.0
    world.take(EarlierAnswer("create_order", arguments, answer))
    found: Any = drafted(
        DraftCall(tool_name="find_order", arguments={"order_id": "O-4"}), Sources(world=world)
    ).value
    assert found["total"] == 25.0
    gone: Any = drafted(
        DraftCall(tool_name="find_order", arguments={"order_id": "O-5"}), Sources(world=world)
    ).value
    assert gone["error_code"] == 404


def recorded(tool: str, ticket: str, answer: JsonObject, /) -> ObservedCall:
    """Return a recorded call about a ticket."""
    return ObservedCall(
        tool_name=tool, arguments={"ticket_id": ticket, "lang": "en"}, response=answer, place=f"call {ticket}"
    )


RECORDED = (
    recorded("get_ticket", "T-1", {"ticket_id": "T-1", "url": "https://x.example/T-1", "open": True}),
    recorded("get_ticket", "T-2", {"ticket_id": "T-2", "url": "https://x.example/T-2", "open": False}),
    recorded("get_other", "T-3", {"no": "ticket"}),
)


def test_a_recorded_answer_is_given_for_its_own_call_and_is_the_shape_of_others() -> None:
    """Word for word for the same arguments; for others its fields, with what this call says."""

    def of(**arguments: Any) -> Draft:
        return drafted(DraftCall(tool_name="get_ticket", arguments=arguments), Sources(recorded=RECORDED))

    assert of(ticket_id="T-1", lang="en").value == RECORDED[0].response
    near = of(ticket_id="T-9", lang="en")
    assert near.value == {"ticket_id": "T-9", "url": "<url>", "open": False}
    assert [one.path for one in near.blanks] == ["$.url", "$.open"]


def test_a_question_that_was_recorded_twice_is_answered_twice() -> None:
    """Polling gets the recorded answers in their order, and then the last one again."""
    polls = [recorded("get_job", "J-1", {"state": state}) for state in ("pending", "running", "done")]
    earlier: tuple[EarlierAnswer, ...] = ()
    said: list[Any] = []
    for _ in range(4):
        call = DraftCall(tool_name="get_job", arguments={"ticket_id": "J-1", "lang": "en"}, earlier=earlier)
        said.append(drafted(call, Sources(recorded=polls)).value)
        earlier = (*earlier, answered("get_job", said[-1], **call.arguments))
    assert [one["state"] for one in said] == ["pending", "running", "done", "done"]


@for_each(
    ("known", "expected"),
    [
        (["A-1001", "A-1004", "A-1002"], "A-1005"),
        (["ORD-009"], "ORD-010"),
        ([7, 12, 9], 13),
        (["X-9", "Y-3"], "Y-4"),
        (["inv_99"], "inv_100"),
    ],
)
def test_a_new_id_follows_the_last_of_its_style(known: list[Any], expected: Any) -> None:
    """Counted ids are counted on, zeros are kept, and numbers stay numbers."""
    assert next_id(known) == expected


@given(
    st.lists(
        st.from_regex(
            r"[A-Z]{1,3}-\d{1,5}|[a-f]{8}|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
            fullmatch=True,
        )
    )
)
def test_a_new_id_is_never_taken(known: list[str]) -> None:
    """Whatever ids there are, the new one is none of them."""
    assert next_id(known) not in known
