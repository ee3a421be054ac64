"""Proves that the demo agents' real tools go through whole sessions without a word of a contradiction, and that what is known stays."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from simulator.agents.demos.expense_approver import tools as expenses
from simulator.agents.demos.order_desk import tools as shop
from simulator.agents.demos.travel_planner import tools as trips
from simulator.environment.world.connections import ToolShape
from simulator.facts import Provenance, Returned
from simulator.runtime.knowledge.knowledge import AnsweredCall, Knowledge
from simulator.seats.answers import ToolAnswer
from simulator.seats.requests import ToolRequest
from simulator.session.model import SessionEnvironment
from tests.simulator.runtime.stage import agent_of, call, opened, play, tool_facts

LINES = [{"category": "meals", "amount": 40, "description": "Lunch", "has_receipt": True}]
PAY = {"amount": 40, "currency": "EUR", "method": "payroll"}

SHOP = [
    call("list_orders", customer_id="C-17"),
    call("find_order", order_id="A-1001"),
    call("find_order", order_id="NOPE"),
    call("create_order", customer_id="C-17", items=[{"sku": "mug", "quantity": 3}]),
    call("list_orders", email="ada@example.com"),
    call("find_order", order_id="A-1005"),
    call("cancel_order", order_id="A-1001", reason="duplicate"),
    call("cancel_order", order_id="A-1001"),
    call("find_order", order_id="A-1001"),
    call("refund_order", order_id="A-1001", amount=12.45, currency="EUR"),
    call("refund_order", order_id="A-1001", amount=20, currency="EUR"),
    call("list_orders", customer_id="C-18"),
]
TRIPS = [
    call("get_weather", city="Rome"),
    call("search_flights", origin="Oslo", destination="Rome", date="2026-05-01"),
    call("search_flights", origin="Rome", destination="Oslo", date="2026-05-04"),
    call("search_flights", origin="Oslo", destination="Rome", date="2026-05-01"),
    call("search_hotels", city="Rome", check_in="2026-05-01", nights=3),
    call("search_hotels", city="Rome", check_in="2026-07-01", nights=2, guests=2),
    call("book_hotel", hotel_id="H-FCO-1", check_in="2026-05-01", nights=3, guest_name="Ada"),
    call("book_flight", flight_id="OSL-1", passenger_name="Ada"),
    call("book_flight", flight_id="OSL-1", passenger_name="Bob"),
    call("get_weather", city="Rome"),
    call("look_up_entry_rules", passport_country="Norway", destination_country="Japan"),
    call("look_up_entry_rules", passport_country="Italy", destination_country="Japan"),
]
REPORTS = [
    call("get_budget", department="sales"),
    call("check_policy", department="sales", lines=LINES),
    call("reimburse", employee_id="E-7", department="sales", payment=PAY, line_numbers=[1]),
    call("reimburse", employee_id="E-7", department="sales", payment=PAY, line_numbers=[1]),
    call("get_budget", department="sales"),
    call("get_budget", department="operations"),
]
SESSIONS: dict[str, tuple[list[Any], list[Any], dict[str, Any]]] = {
    "order_desk": (
        SHOP,
        [shop.find_order, shop.list_orders, shop.create_order, shop.cancel_order, shop.refund_order],
        {"orders": list(shop.ORDERS.values())},
    ),
    "travel_planner": (
        TRIPS,
        [
            *(trips.search_flights, trips.book_flight, trips.search_hotels, trips.book_hotel),
            *(trips.get_weather, trips.look_up_entry_rules),
        ],
        {"hotels": [{"hotel_id": "H-1", "name": "Elsewhere", "city": "Oslo"}]},
    ),
    "expense_approver": (
        REPORTS,
        [expenses.check_policy, expenses.get_budget, expenses.reimburse_tool],
        {"departments": [{"department": "sales", "budget": 1800}]},
    ),
}


@pytest.mark.parametrize("agent", SESSIONS)
@pytest.mark.parametrize("with_data", [False, True])
def test_real_tools_contradict_nothing(agent: str, with_data: bool) -> None:
    """Searches, changes, refusals and the same question again, with and without the environment's data."""
    calls, tools, data = SESSIONS[agent]
    with opened(agent_of(*([each] for each in calls), tools=tools), tools="real") as sim:
        if with_data:
            sim.environment.give_data(json.dumps(copy.deepcopy(data)))
        play(sim)
        assert [fact.provenance.source for fact in tool_facts(sim)] == ["real"] * len(calls)
        assert [flag.what for flag in sim.environment.world().flags] == []


def test_the_world_outlives_another_tool() -> None:
    """A tool that is seen for the first time changes how tools hang together, and loses no call."""
    known = Knowledge(SessionEnvironment(), {})
    known.take(
        1,
        AnsweredCall(
            number=1,
            at=0.0,
            tool_name="find_order",
            arguments={"order_id": "A-1"},
            outcome=Returned(value={"order_id": "A-1", "status": "shipped"}),
            provenance=Provenance(source="written"),
        ),
    )
    assert known.world.entity("order", "A-1")
    known.connect(SessionEnvironment(), {"find_order": ToolShape(name="find_order")})
    assert known.world.entity("order", "A-1")


def _row(sku: str) -> Any:
    return __import__("the_real_tool_ran").row(sku)


def find_item(sku: str) -> dict[str, Any]:
    """Find an item."""
    return {"sku": sku, "state": "there"} if _row(sku) else {"sku": sku, "state": "gone"}


def list_items(warehouse: str) -> dict[str, Any]:
    """List the items of a warehouse."""
    return {"warehouse": warehouse, "items": [{"sku": "A-1", "state": _row("A-1")["state"]}]}


def show_item(sku: str, state: str = "") -> dict[str, Any]:
    """Show an item."""
    return {"sku": sku, "state": _row(sku)["state"]}


CALLS = {
    "the same call": (call("find_item", sku="A-1"), "$.state"),
    "another tool": (call("show_item", sku="A-1"), "$.state"),
    "in a list": (call("list_items", warehouse="W"), "$.items[0].state"),
}


@pytest.mark.parametrize(("again", "place"), CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("is_said", [False, True])
def test_a_drawn_value_stays_marked_when_it_returns(again: Any, place: str, is_said: bool) -> None:
    """The later draft has the value of the session; nobody said it, unless a person has entered one."""
    tools = [find_item, list_items, show_item]
    with opened(agent_of([call("find_item", sku="A-1")], [again], tools=tools), tools="person") as sim:
        sim.query("What of A-1?")
        request = _asked(sim)
        said = ToolAnswer(outcome=Returned(value={"sku": "A-1", "state": "sold"}), source="edited")
        sim.answer(request, said if is_said else request.draft)
        (fact,) = tool_facts(sim)
        assert fact.provenance.uncertain == (() if is_said else ("$.state",))
        later = _asked(sim)
        assert str("sold" if is_said else "there") in str(later.draft)
        assert [one.path for one in later.draft_blanks] == ([] if is_said else [place])
        sim.answer(later, later.draft)
        assert tool_facts(sim)[-1].provenance.uncertain == (() if is_said else (place,))


def _asked(sim: Any) -> ToolRequest:
    (request,) = sim.pending
    assert isinstance(request, ToolRequest)
    return request
