"""Proves that offline drafts say of each thing only what is so: its own id, its state, its price, and nothing of a rule's."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypedDict

from simulator.environment.injection.rules import InjectionRule, ResponseEffect
from simulator.facts import Failed, Outcome, Returned
from tests.simulator.runtime.stage import agent_of, call, opened, tool_facts

DATA = json.dumps(
    {
        "orders": [
            {"order_id": "A-1", "item": "tea", "quantity": 2, "status": "open"},
            {"order_id": "A-2", "item": "cup", "quantity": 1, "status": "open"},
        ],
        "products": [{"sku": "P-001", "name": "Headphones", "price": 79.99, "stock": 3}],
    }
)


class Order(TypedDict):
    """An order, briefly."""

    order_id: str
    status: str


class PaidOrder(Order):
    """An order, and what it comes to."""

    total: float


def get_order(order_id: str) -> Order:
    """Get an order."""
    raise AssertionError(order_id)


def get_paid_order(order_id: str) -> PaidOrder:
    """Get an order that was paid."""
    raise AssertionError(order_id)


def read_order(order_id: str) -> dict[str, Any]:
    """Read an order."""
    raise AssertionError(order_id)


def ship_order(order_id: str) -> dict[str, Any]:
    """Ship an order."""
    return {"order_id": order_id, "status": "shipped"}


def get_inventory(sku: str) -> dict[str, Any]:
    """Inventory of a sku."""
    raise AssertionError(sku)


def answers(
    *calls: Any, tools: list[Callable[..., Any]], data: str = "", rules: tuple[InjectionRule, ...] = ()
) -> list[Outcome]:
    """Have the environment answer some calls, one a turn of the model."""
    with opened(agent_of(*([one] for one in calls), tools=tools), tools="offline", rules=rules) as studio:
        if data:
            studio.environment.give_data(data)
        studio.query("go", wait=5)
        return [fact.outcome for fact in tool_facts(studio)]


def value(outcome: Outcome) -> Any:
    """Return what was returned."""
    assert isinstance(outcome, Returned), outcome
    return outcome.value


def test_an_error_names_the_thing_that_was_asked_for_and_no_other() -> None:
    """A typed tool keeps the asked id where its own shape can say an error, and gives ADK's error where it cannot, each time."""
    short, long, *again = answers(
        call("get_order", order_id="NOPE"),
        *[call("get_paid_order", order_id="NOPE")] * 3,
        tools=[get_order, get_paid_order],
        data=DATA,
    )
    assert value(short) == {"order_id": "NOPE", "status": "error"}
    assert isinstance(long, Failed)
    assert long.error_code == 404
    assert "NOPE" in long.error_message
    assert again == [long, long]


def test_the_answer_of_a_rule_is_no_sample_of_what_a_tool_answers() -> None:
    """Neither its fields nor its values come back in the drafts for other things."""
    for said in ({"quantity": 0, "available": False}, {"ok": False, "reason": "database down"}):
        rule = InjectionRule(
            rule_id="out",
            tool_name="get_inventory",
            match_args={"sku": "OOS"},
            effect=ResponseEffect(value=said),
        )
        first, *others = answers(
            *(call("get_inventory", sku=sku) for sku in ("OOS", "B", "C")),
            tools=[get_inventory],
            rules=(rule,),
        )
        assert value(first) == said
        assert all(not said.keys() & value(one).keys() for one in others)


def test_a_thing_stays_in_the_state_in_which_a_tool_left_it() -> None:
    """What is shipped by the code of one tool reads as shipped by another, though nothing says what that answers."""
    shipped, read = answers(
        call("ship_order", order_id="A-2"),
        call("read_order", order_id="A-2"),
        tools=[ship_order, read_order],
        data=DATA,
    )
    assert value(shipped) == {"status": "shipped", "order_id": "A-2"}
    assert value(read)["status"] == "shipped"
    assert value(read)["item"] == "cup"


def test_null_for_an_id_invents_no_thing() -> None:
    """The agent gets ADK's error, as the tool's own shape has no word for it."""
    (said,) = answers(call("get_order", order_id=None), tools=[get_order], data=DATA)
    assert isinstance(said, Failed)
    assert said.error_code == 400
