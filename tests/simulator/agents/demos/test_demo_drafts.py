"""A first session with a demo agent: each tool call gets a whole draft, with no key and nothing to fill in."""

from __future__ import annotations

from typing import Any

import pytest

from simulator import Seats, Simulation
from simulator.agents import demo_agent
from simulator.agents.demo_agents import DEMOS
from simulator.seats.requests import ToolRequest

ALONE = [(name, [query]) for name, demo in DEMOS.items() for query in demo.example_queries]
SESSIONS = [
    ("order_desk", [*DEMOS["order_desk"].example_queries, "Order 1 backpack for C-17", "Where is order A-1006?"]),
    ("order_desk", ["Order 1 sofa for C-17", "Where is order A-9999?", "Refund order A-1003, 20 EUR."]),
    ("travel_planner", [*DEMOS["travel_planner"].example_queries[3:], "Book a flight from Oslo to Rome on 2026-07-01."]),
    ("expense_approver", ["E-3 of sales: hotel 500 EUR", "E-8 of engineering: equipment 300 EUR"]),
]  # fmt: skip


def drafts(agent: str, queries: list[str]) -> list[ToolRequest]:
    """Play a session in which each draft is taken as it is; return the calls."""
    found: list[ToolRequest] = []
    with Simulation.open(demo_agent(agent), seats=Seats(agents={"*": "model"}), seed="s") as session:
        for query in queries:
            session.query(query)
            while waiting := session.pending:
                request = waiting[0]
                assert isinstance(request, ToolRequest)
                found.append(request)
                session.answer(request, request.draft)
    return found


@pytest.mark.long
def test_each_draft_is_whole() -> None:
    """No place of any is blank or drawn, and none is held against another."""
    for agent, queries in (*SESSIONS, *ALONE):
        calls = drafts(agent, queries)
        assert calls, (agent, queries)
        for call in calls:
            assert call.draft_blanks == (), (call.tool_name, call.draft)
            assert not call.draft_varies, (call.tool_name, call.draft)


def test_what_is_made_in_a_session_has_ids_of_its_own() -> None:
    """Two orders, and a room after a seat, though the code counts from the same number for each."""
    made = drafts("order_desk", ["Order 1 mug for C-17", "Order 1 lamp for C-18", "Where is order A-1006?"])
    orders: list[Any] = [call.draft for call in made]
    assert [one["order_id"] for one in orders] == ["A-1005", "A-1006", "A-1006"]
    assert orders[2]["items"] == [{"sku": "lamp", "quantity": 1, "unit_price": 25.0}]
