"""A demo's model goes on sensibly when a person has had its seat, or has changed what it wanted to do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from simulator import Seats, Simulation, called, demo_agent, said
from simulator.agents.agent_settings import DEMOS
from simulator.seats.answers import ModelAnswer
from simulator.seats.requests import ModelRequest, ToolRequest
from simulator.session import SessionState
from tests.simulator.agents.playing import MOST_ANSWERS, SECONDS, SEED, failures, last_words, play, tools
from tests.simulator.base.rows import for_each

FOUND = {"order_id": "A-1001", "status": "processing", "total": 49.9, "currency": "EUR"}


def hold(name: str, query: str, approve: Callable[[ModelRequest], ModelAnswer]) -> Any:
    """Play a session in which each turn of the model is held, and tools answer by their drafts."""
    seats = Seats(agents={"*": "held"})
    with Simulation.open(demo_agent(name), seats=seats, seed=SEED, session_id=SEED) as simulation:
        assert simulation.query(query, wait=SECONDS)
        for _ in range(MOST_ANSWERS):
            if not simulation.pending:
                return simulation.session
            request = simulation.pending[0]
            if isinstance(request, ModelRequest):
                assert simulation.answer(request, approve(request), wait=SECONDS)
            elif isinstance(request, ToolRequest):
                assert simulation.answer(request, request.draft, wait=SECONDS)
    raise AssertionError("the agent never ends")


def as_proposed(request: ModelRequest) -> ModelAnswer:
    """Let the model's turn go through: the parts of the responses that it gave."""
    contents: list[Any] = [response["content"] for response in request.proposal or ()]
    return ModelAnswer(parts=tuple(part for content in contents for part in content["parts"]))


def spoiled(request: ModelRequest) -> ModelAnswer:
    """Change each argument of each call that the model wants to make, save where agents hand over."""
    answer = as_proposed(request)
    return ModelAnswer(parts=tuple(_spoiled(part) for part in answer.parts))


def _spoiled(part: dict[str, Any]) -> dict[str, Any]:
    call = part.get("function_call") or part.get("functionCall")
    if not call or call["name"] in {"transfer_to_agent", "set_model_response"}:
        return part
    arguments = {
        key: f"{value} changed" if isinstance(value, str) else value for key, value in call["args"].items()
    }
    return {"function_call": {"name": call["name"], "args": arguments}}


@for_each("name", DEMOS)
@for_each("approve", [as_proposed, spoiled])
def test_held_turns_end_whether_they_are_changed_or_not(
    name: str, approve: Callable[[ModelRequest], ModelAnswer]
) -> None:
    """Where every call is changed before it is made, the model takes the changed call's answer, and comes to an end."""
    for query in DEMOS[name].example_queries[:1]:
        session = hold(name, query, approve)
        assert not failures(session)
        assert session.open_calls or session.state is SessionState.COMPLETED


def test_the_model_takes_over_from_a_person_in_the_middle_of_a_turn() -> None:
    """A person makes the first call; the model then sits down, uses that call's answer and finishes the task."""
    seats = Seats(agents={"*": "person"})
    with Simulation.open(demo_agent("order_desk"), seats=seats) as simulation:
        simulation.query("Please cancel order A-1001.", wait=SECONDS)
        simulation.answer(simulation.pending[0], called(("find_order", {"order_id": "A-1001"})), wait=SECONDS)
        simulation.answer(simulation.pending[0], FOUND, wait=SECONDS)
        simulation.set_player("agent", "model", wait=SECONDS)
        simulation.answer(simulation.pending[0], {"status": "cancelled"}, wait=SECONDS)
        session = simulation.session
    assert tools(session) == ["find_order", "cancel_order"]
    assert "cancelled order A-1001" in last_words(session)


@pytest.mark.long
def test_the_model_goes_on_after_a_turn_that_a_person_spoke() -> None:
    """What a person said in the agent's seat is part of the talk: "it" is the order that they named."""
    seats = Seats(agents={"*": "person"})
    with Simulation.open(demo_agent("order_desk"), seats=seats) as simulation:
        simulation.query("Hello", wait=SECONDS)
        simulation.answer(simulation.pending[0], said("Is it about order A-1003?"), wait=SECONDS)
        simulation.set_player("agent", "model", wait=SECONDS)
        simulation.query("Yes, where is it?", wait=SECONDS)
        (request,) = simulation.pending
    assert isinstance(request, ToolRequest)
    assert (request.tool_name, request.arguments) == ("find_order", {"order_id": "A-1003"})


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

    def taken(request: ToolRequest) -> Any:
        found.append(request)
        return request.draft

    play(agent, *queries, answer=taken)
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
