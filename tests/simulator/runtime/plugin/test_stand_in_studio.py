"""Proves that in a session that is played, its seats decide, whatever environment an agent brings along."""

from __future__ import annotations

from typing import Any

import pytest
from google.adk.tools.agent_tool import AgentTool

from simulator.facts import Returned
from simulator.runtime.plugin import create_callback
from tests.simulator.runtime.answering.going import going
from tests.simulator.runtime.plugin.order_tools import find_order
from tests.simulator.runtime.plugin.standing import BUSY, FIND, config, rule
from tests.simulator.runtime.stage import PATIENCE, agent_of, call, say, tool_facts, tool_requests


@pytest.mark.parametrize(("player", "heard"), [("person", 0), ("real", 1)])
def test_the_seat_decides_before_the_agents_own_environment(player: str, heard: int) -> None:
    """A person is asked, as in any session; played by "real", the tool is what the agent makes of it: its own environment answers."""
    callback = create_callback(config(rule("busy")))
    with going(agent_of(FIND, tools=[find_order], before_tool_callback=callback), tools=player) as sim:
        for request in sim.pending:
            assert sim.answer(request, {"by": "person"}, wait=PATIENCE)
        (fact,) = tool_facts(sim)
    assert fact.outcome == Returned(value=BUSY if heard else {"by": "person"})
    assert len(callback.calls()) == heard


def test_agent_tools_are_the_seats_too() -> None:
    """An inner agent's tool waits for the person, though its agent's environment covers it."""
    helper = agent_of(FIND, [say("found")], tools=[find_order], name="helper")
    callback = create_callback(config(rule("busy")))
    agent = agent_of([call("helper", request="?")], tools=[AgentTool(helper)], before_tool_callback=callback)
    with going(agent) as sim:
        (request,) = sim.pending
        assert (request.agent, callback.calls()) == ("helper", ())


# ---------------------------------------------------------------- without a body, in a session that is played


def test_a_function_without_a_body_never_runs_in_a_played_session() -> None:
    """Where "real" plays it, a person is asked, and the draft is there; run by command, it says that there is nothing."""

    def pay(order_id: str) -> dict[str, Any]:  # type: ignore[empty-body] # that is the point
        """Pay an order."""

    turn = [call("pay", order_id="A-1")]
    with going(agent_of(turn, tools=[pay]), tools="real") as sim:
        (request,) = tool_requests(sim)
        assert "pay has no code" in request.failure
        assert sim.answer(request, request.draft, wait=PATIENCE)
        (fact,) = tool_facts(sim)
        assert fact.provenance.source == "generated"
    with going(agent_of(turn, tools=[pay])) as sim:
        sim.run_real(sim.pending[0], wait=PATIENCE)
        (fact,) = tool_facts(sim)
        assert fact.outcome.kind == "raised"
        assert "only declared" in fact.outcome.error.message
