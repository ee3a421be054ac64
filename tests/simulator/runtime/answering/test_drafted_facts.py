"""Proves that offline drafts say of each thing only what is so, and that another one can be drawn: seeded, a fact that an undo takes back."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypedDict

import pytest
from google.adk.tools.tool_context import ToolContext
from pydantic import BaseModel

from simulator.environment.injection.rules import InjectionRule, ResponseEffect
from simulator.facts import DraftDrawn, Failed, Outcome, Returned
from simulator.runtime import SimulationError
from tests.simulator.base.rows import for_each
from tests.simulator.runtime.desk import asked, waits
from tests.simulator.runtime.stage import PATIENCE, agent_of, call, opened, resumed, say, tool_facts

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


def keep_code(code: int, tool_context: ToolContext) -> dict[str, Any]:
    """Keep a code for this turn."""
    tool_context.state["temp:code"] = code
    return {"kept": True}


def load_code(tool_context: ToolContext) -> dict[str, Any]:
    """Load the code."""
    return {"code": tool_context.state.get("temp:code")}


@for_each("together", [False, True])
def test_what_is_kept_for_one_invocation_is_gone_in_the_next(together: bool) -> None:
    """A draft sees `temp:` keys of the same turn alone, also those of a call that was made together with it."""
    keep, load = call("keep_code", code=5), call("load_code")
    steps = [[keep, load]] if together else [[keep], [load]]
    agent = agent_of(*steps, [say("done")], [load], tools=[keep_code, load_code])
    with opened(agent, tools="offline") as studio:
        for said in ("one", "two"):
            assert studio.query(said, wait=PATIENCE)
        assert [value(fact.outcome) for fact in tool_facts(studio)] == [
            {"kept": True},
            {"code": 5},
            {"code": None},
        ]


def value(outcome: Outcome) -> Any:
    """Return what was returned."""
    assert isinstance(outcome, Returned), outcome
    return outcome.value


@pytest.mark.long
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


class Customer(BaseModel):
    """A customer, whose address can be drawn."""

    email: str
    points: int


def find_customer(customer_id: str) -> Customer:
    """Find a customer."""
    return Customer.model_validate_json(Path(customer_id).read_text())


def greet(whom: str) -> str:
    """Greet somebody."""
    return f"Hello, {whom}!"


FIND, GREET = call("find_customer", customer_id="C-1"), call("greet", whom="Ada")


def session(*calls: Any, seed: str = "seed") -> Any:
    """Open a session in which these calls wait; nothing is known of the customer but the schema."""
    return opened(agent_of(list(calls), tools=[find_customer, greet]), seed=seed)


@pytest.mark.long
def test_another_draft_is_a_fact_that_an_undo_takes_back() -> None:
    """Each draw differs, draft and candidate alike; undone and resumed it is what it was."""
    with session(FIND) as sim:
        first = asked(sim)
        assert first.draft_varies
        sim.environment.draw_again(first)
        second = waits(sim)
        assert second.draft != first.draft
        assert second.candidates[0].value == second.draft
        sim.environment.draw_again(second)
        third = waits(sim)
        assert [fact.draw for _, fact in sim.journal.path() if isinstance(fact, DraftDrawn)] == [1, 2]
        with resumed(sim.journal.to_json(), sim.config.agent) as again:
            assert waits(again).draft == third.draft
        assert sim.undo(wait=PATIENCE)
        assert waits(sim).draft == second.draft
        assert sim.undo(wait=PATIENCE)
        assert waits(sim).draft == first.draft
        assert sim.redo(wait=PATIENCE)
        assert waits(sim).draft == second.draft
        assert sim.answer(waits(sim), waits(sim).draft, wait=PATIENCE)


def test_the_same_session_draws_the_same_and_another_seed_another() -> None:
    """Chance comes from the session's seed."""
    drawn = []
    for seed in ("a", "a", "b"):
        with session(FIND, seed=seed) as sim:
            sim.environment.draw_again(asked(sim))
            drawn.append(json.dumps(waits(sim).draft))
    assert drawn[0] == drawn[1] != drawn[2]


def test_where_nothing_is_drawn_there_is_no_other_draft() -> None:
    """What the tool's code decides is what it is; the same for a call that waits no more."""
    with session(GREET) as sim:
        request = asked(sim)
        assert not request.draft_varies
        with pytest.raises(SimulationError, match="random"):
            sim.environment.draw_again(request)
        with pytest.raises(SimulationError, match=r"no tool call .* is waiting"):
            sim.environment.draw_again("elsewhere")


def test_a_guess_names_its_blanks_and_stops_auto_with_the_reason() -> None:
    """Blanks are part of the request; a player that goes on by itself says which they are."""
    with session(FIND) as sim:
        request = asked(sim)
        assert [(blank.path, blank.kind) for blank in request.draft_blanks] == [
            ("$.email", "string"),
            ("$.points", "integer"),
        ]
        sim.set_player("tool", "auto", wait=PATIENCE)
        assert "$.points" in waits(sim).note


def test_an_example_in_the_schema_that_a_person_set_is_the_draft() -> None:
    """It says more than the tool's code; what the call says itself stands in it."""
    with session(GREET) as sim:
        assert asked(sim).draft == "Hello, Ada!"
        example = {"whom": "Bo", "text": "Good day"}
        schema = {"type": "object", "examples": [example]}
        tools = {"greet": {"name": "greet", "output_schema": schema}}
        sim.environment.change(tools=tools)
        assert waits(sim).draft == {"whom": "Ada", "text": "Good day"}
        assert not waits(sim).draft_blanks
