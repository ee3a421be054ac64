"""The decision pane shows what a draft does besides its response; each effect can be left out or changed."""

from __future__ import annotations

from typing import Any

from google.adk.tools.tool_context import ToolContext

from simulator.facts import ToolEffects
from tests.app.decision.deciding import Deciding, answers, asked
from tests.simulator.runtime.stage import call


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


def test_accepted_drafts_do_what_the_code_does() -> None:
    """Each is a generated response, with typed values, and the session has them; of all drafts that are accepted at once, too."""
    with asked_for("C-7", "C-8", "C-9") as simulation:
        Deciding(simulation).press("accept_0").press("accept_all")
        given = answers(simulation)
        assert [fact.effects.state_delta["customer"] for fact in given] == ["C-7", "C-8", "C-9"]
        assert (given[0].effects, given[0].provenance.source) == (BOTH, "generated")
        assert simulation.session.current_state["cart"] == STATE["cart"]


def test_effects_are_left_out_and_values_are_changed() -> None:
    """A value that is no JSON is an error, and nothing is sent. Other changes of the state can be added."""
    with asked_for("C-7") as simulation:
        page = Deciding(simulation).choose("effect_state_customer", False)
        page.choose("effect_action_escalate", False)
        page.type("effect_value_cart", "[").press("accept_")
        assert "'cart'" in page.shown()
        assert len(simulation.pending) == 1
        page.type("effect_value_cart", "[7]")
        for text in ("[1", "[1]"):
            page.type("state_delta_", text).press("accept_")
            assert ("Line 1, column 3" in page.shown()) == (text == "[1")
            assert len(simulation.pending) == 1
        page.type("state_delta_", '{"more": null}').press("accept_")
        (fact,) = answers(simulation)
        assert fact.effects == ToolEffects(state_delta={"cart": [7], "more": None})
        assert fact.provenance.source == "edited"


def test_an_error_does_nothing_besides() -> None:
    """What the code does where it succeeds stands in sight, in no fold that the browser draws closed; it is not done where the call fails."""
    with asked_for("C-7") as simulation:
        page = Deciding(simulation)
        assert [name for name in page.names() if name.startswith("effect_")]
        assert [fold.label for fold in page.tab.expander if fold.label.startswith("State changes")] == []
        page.choose("mode_", "Error")
        assert not [name for name in page.names() if name.startswith("effect_")]
        page.press("accept_")
        assert answers(simulation)[0].effects == ToolEffects()
