"""A draft without the page does what the tool's code does besides its response."""

from __future__ import annotations

import asyncio
from typing import Any

from google.adk.tools.tool_context import ToolContext

from tests.simulator.runtime.plugin.standing import Form, both, config, responses, staged
from tests.simulator.runtime.stage import agent_of, call, say


def load_cart(customer_id: str, tool_context: ToolContext) -> dict[str, Any]:
    """Load a cart."""
    tool_context.state["cart"] = [customer_id]
    tool_context.actions.skip_summarization = True
    return {"items": 1}


@both
def test_a_draft_writes_the_state_and_sets_the_actions(form: Form) -> None:
    """ADK's event and session have both; the call that was answered, too."""
    stage = staged(
        form,
        agent_of([call("load_cart", customer_id="C-1")], [say("Done.")], tools=[load_cart]),
        config(players={"load_cart": "offline"}),
    )
    events = asyncio.run(stage.turn())
    assert responses(events) == [{"items": 1}]
    (event,) = [event for event in events if event.get_function_responses()]
    assert event.actions.skip_summarization is True
    assert event.actions.state_delta == {"cart": ["C-1"]}
    (answered,) = stage.ours.calls()
    assert answered.effects.written == {
        "state_delta": {"cart": ["C-1"]},
        "actions": {"skip_summarization": True},
    }
