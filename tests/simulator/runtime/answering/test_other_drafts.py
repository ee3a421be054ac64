"""Proves that another draft can be drawn: seeded, a fact that an undo takes back, and the same after a restart."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from simulator.facts import DraftDrawn
from simulator.runtime import Simulation, SimulationError
from simulator.seats.requests import ToolRequest
from tests.simulator.runtime.desk import asked
from tests.simulator.runtime.stage import PATIENCE, agent_of, call, opened, resumed, tool_requests


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


def shown(sim: Simulation) -> ToolRequest:
    """Return the call that waits."""
    (request,) = tool_requests(sim)
    return request


@pytest.mark.long
def test_another_draft_is_a_fact_that_an_undo_takes_back() -> None:
    """Each draw differs, draft and candidate alike; undone and resumed it is what it was."""
    with session(FIND) as sim:
        first = asked(sim)
        assert first.draft_varies
        sim.environment.draw_again(first)
        second = shown(sim)
        assert second.draft != first.draft
        assert second.candidates[0].value == second.draft
        sim.environment.draw_again(second)
        third = shown(sim)
        assert [fact.draw for _, fact in sim.journal.path() if isinstance(fact, DraftDrawn)] == [1, 2]
        with resumed(sim.journal.to_json(), sim.config.agent) as again:
            assert shown(again).draft == third.draft
        assert sim.undo(wait=PATIENCE)
        assert shown(sim).draft == second.draft
        assert sim.undo(wait=PATIENCE)
        assert shown(sim).draft == first.draft
        assert sim.redo(wait=PATIENCE)
        assert shown(sim).draft == second.draft
        assert sim.answer(shown(sim), shown(sim).draft, wait=PATIENCE)


def test_the_same_session_draws_the_same_and_another_seed_another() -> None:
    """Chance comes from the session's seed."""
    drawn = []
    for seed in ("a", "a", "b"):
        with session(FIND, seed=seed) as sim:
            sim.environment.draw_again(asked(sim))
            drawn.append(json.dumps(shown(sim).draft))
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
        assert "$.points" in shown(sim).note


def test_an_example_in_the_schema_that_a_person_set_is_the_draft() -> None:
    """It says more than the tool's code; what the call says itself stands in it."""
    with session(GREET) as sim:
        assert asked(sim).draft == "Hello, Ada!"
        example = {"whom": "Bo", "text": "Good day"}
        schema = {"type": "object", "examples": [example]}
        tools = {"greet": {"name": "greet", "output_schema": schema}}
        sim.environment.change(tools=tools)
        assert shown(sim).draft == {"whom": "Ada", "text": "Good day"}
        assert not shown(sim).draft_blanks
