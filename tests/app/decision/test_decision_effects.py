"""The decision pane shows what a draft does besides its response; each effect can be left out or changed."""

from __future__ import annotations

from typing import Any

import pytest
from google.adk.tools.tool_context import ToolContext

from simulator.facts import ToolEffects
from tests.app.decision.deciding import Deciding, answers, asked
from tests.simulator.runtime.stage import PATIENCE, agent_of, call, opened


def load_cart(customer_id: str, tool_context: ToolContext) -> dict[str, Any]:
    """Load a cart."""
    tool_context.state["customer"] = customer_id
    tool_context.state["cart"] = [{"sku": "A-1", "qty": 2}]
    tool_context.actions.escalate = True
    return {"items": 2}


STATE = {"customer": "C-7", "cart": [{"sku": "A-1", "qty": 2}]}
BOTH = ToolEffects(state_delta=STATE, actions={"escalate": True})


def asked_for(*customers: str) -> Any:
    """Open a session whose agent loads these carts at once."""
    return asked([call("load_cart", customer_id=one) for one in customers], tools=[load_cart])


@pytest.mark.long
def test_what_the_code_does_is_in_sight_without_a_click() -> None:
    """A fold that opens by itself for the next call is drawn closed by the browser, and takes two clicks to open."""
    with asked_for("C-7") as simulation:
        page = Deciding(simulation)
        assert [fold.label for fold in page.tab.expander if fold.label.startswith("State changes")] == []
        assert [box.label for box in page.tab.toggle if box.label.startswith("Set ")]


@pytest.mark.long
def test_an_accepted_draft_does_what_the_code_does() -> None:
    """It is a generated response, with typed values, and the session has them."""
    with asked_for("C-7") as simulation:
        Deciding(simulation).press("accept_")
        (fact,) = answers(simulation)
        assert (fact.effects, fact.provenance.source) == (BOTH, "generated")
        assert simulation.session.current_state["cart"] == STATE["cart"]


def test_effects_are_left_out_and_values_are_changed() -> None:
    """A value that is no JSON is an error, and nothing is sent. Other changes of the state can be added."""
    with asked_for("C-7") as simulation:
        page = (
            Deciding(simulation)
            .choose("effect_state_customer", False)
            .choose("effect_action_escalate", False)
        )
        page.type("effect_value_cart", "[").press("accept_")
        assert "'cart'" in page.shown()
        assert len(simulation.pending) == 1
        page.type("effect_value_cart", "[7]").type("state_delta_", '{"more": null}').press("accept_")
        (fact,) = answers(simulation)
        assert fact.effects == ToolEffects(state_delta={"cart": [7], "more": None})
        assert fact.provenance.source == "edited"


@pytest.mark.long
def test_accept_all_takes_them_along() -> None:
    """As the drafts of all calls are taken, so is what they do."""
    with asked_for("C-7", "C-8") as simulation:
        Deciding(simulation).press("accept_all")
        assert [fact.effects.state_delta["customer"] for fact in answers(simulation)] == ["C-7", "C-8"]


def test_an_error_and_an_exception_do_nothing_besides() -> None:
    """What the code does where it succeeds is not done where the call fails."""
    with asked_for("C-7") as simulation:
        page = Deciding(simulation).choose("mode_", "Error")
        assert not [name for name in page.names() if name.startswith("effect_")]
        page.press("accept_")
        assert answers(simulation)[0].effects == ToolEffects()


def close(ticket: str) -> None:
    """Close a ticket."""


@pytest.mark.long
def test_a_tool_without_code_that_is_played_for_real_asks() -> None:
    """The page names the reason, and the draft waits for a person."""
    with opened(agent_of([call("close", ticket="T-1")], tools=[close]), tools="real") as simulation:
        simulation.query("go", wait=PATIENCE)
        page = Deciding(simulation)
        assert "close has no code" in page.shown()
        page.press("accept_")
        assert answers(simulation)[0].provenance.source == "generated"
