"""Tests of undo, of answers that are refused, and of what the timeline calls an error."""

from __future__ import annotations

import pytest
from pydantic import BaseModel

from simulator import ErrorEffect, InjectionRule, SessionState, SimulationError
from tests.runtime.stage import PATIENCE, agent_of, call, opened, say

RAN: list[str] = []


def find(order_id: str) -> dict[str, str]:
    """Find an order for real."""
    RAN.append(order_id)
    return {"order_id": order_id, "status": "real"}


def two_calls() -> object:
    """Make an agent that finds two orders, one after the other."""
    return agent_of([call("find", order_id="A")], [call("find", order_id="B")], [say("done")], tools=[find])


def test_undo_never_loosens_a_seat() -> None:
    """Who has taken the tools' seat keeps it, however far back the steps go: nothing real runs by itself."""
    with opened(two_calls(), tools="real") as sim:
        sim.query("go", wait=PATIENCE)
        ran = list(RAN)
        sim.set_player("tool", "person")
        while sim.can_undo():
            sim.undo()
            assert sim.session.seats.of_tool("find") == "person"
        sim.query("again", wait=PATIENCE)
        assert [request.kind for request in sim.pending] == ["tool"]
    assert ran == RAN


def test_undo_leaves_the_rules_as_they_are() -> None:
    """A rule that was switched off stays off, and one that was added stays there."""
    rule = InjectionRule(
        rule_id="r", tool_name="find", effect=ErrorEffect(error_code=503, error_message="busy")
    )
    with opened(two_calls(), rules=[rule]) as sim:
        sim.query("go", wait=PATIENCE)
        sim.switch_rule("r", enabled=False)
        sim.query("again", wait=PATIENCE)
        sim.undo()
        assert [found.enabled for found in sim.session.rules] == [False]


def test_taking_back_a_stop_leads_to_the_pause_that_it_ended() -> None:
    """The answers before the stop are still there, and the call waits again."""
    with opened(two_calls()) as sim:
        sim.query("go", wait=PATIENCE)
        sim.answer(sim.pending[0], {"status": "first"}, wait=PATIENCE)
        key, history = sim.pending[0].key, sim.session.history
        sim.stop()
        assert not sim.pending
        sim.undo()
        assert [request.key for request in sim.pending] == [key]
        assert sim.session.history == history


def test_taking_back_a_turn_of_the_model_that_a_person_asked_for() -> None:
    """Where a person let the model take one turn and it failed, the person has the turn again, and loses no more."""
    agent = agent_of([call("find", order_id="A")], RuntimeError("no key"), tools=[find])
    with opened(agent, agents="person") as sim:
        sim.query("go", wait=PATIENCE)
        sim.run_real(sim.pending[0], wait=PATIENCE)
        sim.answer(sim.pending[0], {"status": "first"}, wait=PATIENCE)
        key = sim.pending[0].key
        sim.run_real(sim.pending[0], wait=PATIENCE)
        assert sim.session.history[-1].type == "turn_failed"
        sim.undo()
        assert [request.key for request in sim.pending] == [key]


@pytest.mark.parametrize("fact", [10**6, -1, 0])
def test_a_fact_that_is_not_there_changes_nothing(fact: int) -> None:
    """Going where no fact is, or before the agent was picked, is refused, and what waits goes on waiting."""
    with opened(two_calls()) as sim:
        sim.query("go", wait=PATIENCE)
        before = sim.pending
        with pytest.raises(SimulationError, match="fact"):
            sim.move_head(fact)
        assert sim.pending == before
        sim.answer(before[0], {"status": "x"}, wait=PATIENCE)
        assert sim.pending


class Report(BaseModel):
    """What the agent shall answer with."""

    total: int


def test_a_text_of_an_agent_with_schema_and_tools_is_checked_before_adk_sees_it() -> None:
    """A text that is not the output schema's JSON is refused, and the person can write another."""
    agent = agent_of(tools=[find], output_schema=Report)
    with opened(agent, agents="person") as sim:
        sim.query("go", wait=PATIENCE)
        request = sim.pending[0]
        for text in ("hello", '{"total": "many"}'):
            with pytest.raises(SimulationError, match="output schema"):
                sim.answer(request, text)
        assert sim.pending == (request,)
        sim.answer(request, '{"total": 3}', wait=PATIENCE)
        assert sim.session.state is SessionState.COMPLETED


def test_a_tool_that_is_not_there_is_an_error_in_the_timeline() -> None:
    """ADK's own error is shown as one, so that whoever looks for errors finds it."""
    with opened(agent_of([call("nothing", a=1)], [say("sorry")], tools=[find])) as sim:
        sim.query("go", wait=PATIENCE)
        (error,) = [entry for entry in sim.session.history if entry.type == "tool_error"]
        assert "nothing" in error.error_message
        assert sim.session.state is SessionState.COMPLETED
