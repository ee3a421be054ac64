"""Proves that in a session that is played, its seats decide, whatever environment an agent brings along."""

from __future__ import annotations

from typing import Any

from google.adk.tools.agent_tool import AgentTool

from simulator.runtime.plugin import create_callback
from tests.simulator.runtime.plugin.order_tools import RAN, find_order
from tests.simulator.runtime.plugin.standing import BUSY, FIND, config, rule
from tests.simulator.runtime.stage import PATIENCE, agent_of, call, opened, say, tool_facts, tool_requests


def brings() -> Any:
    """Make an agent with an environment of its own."""
    callback = create_callback(config(rule("busy")))
    return agent_of(FIND, tools=[find_order], before_tool_callback=callback)


def test_a_person_is_asked_before_the_agents_own_environment() -> None:
    """The callback claims nothing there: the call waits for the person, as in any session."""
    agent = brings()
    RAN.clear()
    with opened(agent) as sim:
        assert sim.query("go", wait=PATIENCE)
        (request,) = sim.pending
        assert sim.answer(request, {"by": "person"}, wait=PATIENCE)
        assert [fact.provenance.source for fact in tool_facts(sim)] == ["written"]
    assert agent.before_tool_callback.calls() == ()
    assert RAN == []


def test_real_means_as_in_production() -> None:
    """Played by "real", the tool is what the agent makes of it: its own environment answers, and nothing runs."""
    agent = brings()
    RAN.clear()
    with opened(agent, tools="real") as sim:
        assert sim.query("go", wait=PATIENCE)
        (fact,) = tool_facts(sim)
        assert fact.outcome.kind == "returned"
        assert fact.outcome.value == BUSY
    assert len(agent.before_tool_callback.calls()) == 1
    assert RAN == []


def test_agent_tools_are_the_seats_too() -> None:
    """An inner agent's tool waits for the person, though its agent's environment covers it."""
    helper = agent_of(FIND, [say("found")], tools=[find_order], name="helper")
    callback = create_callback(config(rule("busy")))
    agent = agent_of([call("helper", request="?")], tools=[AgentTool(helper)], before_tool_callback=callback)
    RAN.clear()
    with opened(agent) as sim:
        assert sim.query("go", wait=PATIENCE)
        (request,) = sim.pending
        assert (request.agent, callback.calls()) == ("helper", ())
    assert RAN == []


# ---------------------------------------------------------------- without a body, in a session that is played


def test_a_function_without_a_body_never_runs_in_a_played_session() -> None:
    """Where "real" plays it, a person is asked, and the draft is there; run by command, it says that there is nothing."""

    def pay(order_id: str) -> dict[str, Any]:  # type: ignore[empty-body] # that is the point
        """Pay an order."""

    turn = [call("pay", order_id="A-1")]
    with opened(agent_of(turn, tools=[pay]), tools="real") as sim:
        assert sim.query("go", wait=PATIENCE)
        (request,) = tool_requests(sim)
        assert "pay has no code" in request.failure
        assert sim.answer(request, request.draft, wait=PATIENCE)
        (fact,) = tool_facts(sim)
        assert fact.provenance.source == "generated"
    with opened(agent_of(turn, tools=[pay])) as sim:
        assert sim.query("go", wait=PATIENCE)
        sim.run_real(sim.pending[0], wait=PATIENCE)
        (fact,) = tool_facts(sim)
        assert fact.outcome.kind == "raised"
        assert "only declared" in fact.outcome.error.message
