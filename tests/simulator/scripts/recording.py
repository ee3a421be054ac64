"""Records sessions, and plays their scripts again."""

from __future__ import annotations

from typing import Any

from evalset import GoldenTraceBuilder
from simulator import SimulatedAgentConfig, Simulation, demo_agent
from simulator.agents import DEMOS
from simulator.scripts import Played, Script, ScriptedSession, read_script, script_of, write_script
from simulator.seats.requests import ToolRequest
from tests.evalset.sessions import PATIENCE

LATEST = 1_700_000_000.125
"""When what a script says nothing about happens."""


def config(agent: Any) -> SimulatedAgentConfig:
    """Make a config of an agent, as `tests.evalset.sessions.opened` does."""
    return SimulatedAgentConfig("Order Desk", agent, "orders.evalset.json", app_name="order_desk")


def case_of(session: Any) -> dict[str, Any]:
    """Return the eval case of a session, as JSON."""
    case = GoldenTraceBuilder(session, eval_id="case").build()
    return case.model_dump(mode="json")


def play(agent: Any, script: Script | dict[str, Any], **more: Any) -> Played:
    """Play a script with an agent."""
    return play_with(config(agent), script, **more)


def play_with(of: SimulatedAgentConfig, script: Script | dict[str, Any], **more: Any) -> Played:
    """Play a script with the agent of a config."""
    read = script if isinstance(script, Script) else Script.model_validate(script)
    with ScriptedSession(of, read, clock=lambda: LATEST) as scripted:
        return scripted.play(**more)


def replayed(agent: Any, simulation: Simulation, **more: Any) -> Played:
    """Write a session's script as YAML, read it, and play it again with the like agent: it comes through, and the case is the same."""
    script = script_of(simulation, **more)
    assert read_script(write_script(script)).script == script
    played = play(agent, script)
    assert (played.waits, played.refused, played.failure, played.leftovers) == ((), None, "", ())
    assert case_of(played.session) == case_of(simulation.session)
    return played


def record_demo(name: str) -> Simulation:
    """Play a demo agent with its drafts, query after query; what it asks the user to confirm is confirmed."""
    simulation = Simulation.open(demo_agent(name), seed=name)
    for query in DEMOS[name].example_queries:
        assert simulation.query(query, wait=PATIENCE)
        _take_drafts(simulation)
        while waiting := [call for call in simulation.session.open_calls if call.is_confirmation]:
            assert simulation.confirm(waiting[0].call_id, True, wait=PATIENCE)
            _take_drafts(simulation)
    return simulation


def _take_drafts(simulation: Simulation) -> None:
    while simulation.pending:
        request = simulation.pending[0]
        assert isinstance(request, ToolRequest)
        assert simulation.answer(request, _answer(request), wait=PATIENCE)


def _answer(request: ToolRequest) -> Any:
    """Return a draft, and for what the code of the expense approver leaves open what a person would answer."""
    lines: Any = request.arguments.get("lines", [])
    if request.tool_name == "check_policy":
        found = [{"finding": "ok", "allowed_amount": one["amount"], "explanation": ""} for one in lines]
        return {"lines": [{"line": place, **one} for place, one in enumerate(found, start=1)]}
    if request.tool_name == "get_budget":
        return {"department": request.arguments["department"], "remaining": 5000.0, "currency": "EUR"}
    return request.draft
