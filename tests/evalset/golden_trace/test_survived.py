"""An exception that an agent survives without a word in ADK's events is part of the golden, and of its replay."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from google.adk.evaluation.eval_case import get_all_tool_calls, get_all_tool_responses
from google.adk.workflow import RetryConfig, Workflow

from evalset import GoldenTraceBuilder
from evalset.golden_trace.builder import TraceForm
from evalset.verify import verify
from simulator import SimulatedAgentConfig, Simulation, raised
from tests.evalset.golden_trace.traces import answers, calls, turns
from tests.evalset.replay.desk_agent import keep
from tests.simulator.runtime.stage import PATIENCE, agent_of, call, say

ERROR = {"error": {"type": "TimeoutError", "message": "too late"}}


def charge(amount: float) -> dict[str, Any]:
    """Charge an amount."""
    raise AssertionError(amount)


def retried() -> Workflow:
    """Make a graph whose agent is tried again when its tool raises."""
    again = RetryConfig(max_attempts=3, initial_delay=0.01)
    agent = agent_of([call("charge", amount=5.0)], [say("Done.")], tools=[charge], retry_config=again)
    return Workflow(name="desk", edges=[("START", agent)])


def played() -> Simulation:
    """Let the first call raise and the second succeed."""
    simulation = Simulation.open(SimulatedAgentConfig("desk", retried(), "desk.evalset.json"))
    assert simulation.query("go", wait=PATIENCE)
    for answer in (raised("TimeoutError", "too late"), {"paid": 5.0}):
        assert simulation.answer(simulation.pending[0], answer, wait=PATIENCE)
    return simulation


@pytest.mark.parametrize("form", ["intermediate_data", "invocation_events"])
def test_an_exception_behind_a_retried_node_is_exported(form: TraceForm, tmp_path: Path) -> None:
    """The call that raised has its response right behind it, with the class and the message; a replay raises the same."""
    path = tmp_path / "desk.evalset.json"
    with played() as simulation:
        case = GoldenTraceBuilder(simulation.session, form=form).build()
        keep(simulation, path, "retried", form=form)
    (turn,) = turns(case)
    assert [name for name, _ in calls(turn)] == ["charge", "charge"]
    assert answers(turn) == [("charge", ERROR), ("charge", {"paid": 5.0})]
    made, seen = (ids_of(turn.intermediate_data) for ids_of in (get_all_tool_calls, get_all_tool_responses))
    assert [each.id for each in made] == [each.id for each in seen]
    (result,) = verify(path, agent=SimulatedAgentConfig("desk", retried(), path)).cases
    assert result.status == "passed", result
