"""An exception that an agent survives without a word in ADK's events is part of the golden, and of its replay."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from google.adk.evaluation.eval_case import IntermediateData, InvocationEvents
from google.adk.workflow import RetryConfig, Workflow

from evalset import EvalSetWriter, GoldenTraceBuilder
from evalset.golden_trace.builder import TraceForm
from evalset.recorded.recording_export import record
from evalset.verify import verify
from simulator import SimulatedAgentConfig, Simulation, raised
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
def test_an_exception_behind_a_retried_node_is_exported(form: TraceForm) -> None:
    """The call that raised has its response right behind it, with the class and the message."""
    with played() as simulation:
        case = GoldenTraceBuilder(simulation.session, form=form).build()
    (invocation,) = case.conversation or []
    data = invocation.intermediate_data
    if isinstance(data, IntermediateData):
        uses, responses = data.tool_uses, data.tool_responses
    else:
        assert isinstance(data, InvocationEvents)
        parts = [
            part for event in data.invocation_events for part in (event.content and event.content.parts) or ()
        ]
        uses = [part.function_call for part in parts if part.function_call]
        responses = [part.function_response for part in parts if part.function_response]
    assert [use.name for use in uses] == ["charge", "charge"]
    assert [response.response for response in responses] == [ERROR, {"paid": 5.0}]
    assert [use.id for use in uses] == [response.id for response in responses]


def test_the_golden_with_the_exception_verifies(tmp_path: Path) -> None:
    """A replay raises the same, the node is retried again, and nothing differs."""
    path = tmp_path / "desk.evalset.json"
    with played() as simulation:
        session = simulation.session
        case = GoldenTraceBuilder(session, eval_id="retried", confirmations="beside").build()
        EvalSetWriter(path, "desk").write_eval_case(case)
        facts = [fact for _, fact in simulation.journal.path()]
        record(path, "retried", session, facts, simulation.config.root_agent)
    verification = verify(path, agent=SimulatedAgentConfig("desk", retried(), path))
    (result,) = verification.cases
    assert result.status == "passed", result
