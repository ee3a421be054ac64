"""A person lets a fault answer one call: that call alone, as a step of theirs, and without a rule of the session."""

from __future__ import annotations

from typing import Any

import pytest

from simulator.environment.injection.fault_library import faults
from simulator.facts import Failed, Returned, ToolAnswered
from simulator.runtime import Simulation, SimulationError
from simulator.scripts import Script, play_script, script_of
from simulator.scripts.script_lines import ToolMove
from tests.simulator.runtime.stage import PATIENCE, agent_of, call, opened, say, stage_config, tool_facts


def find(order_id: str) -> dict[str, Any]:
    """Find an order."""
    return {"order_id": order_id}


def fault(name: str) -> Any:
    """Return what a fault of the library does to a call of the tool."""
    return next(each for each in faults() if each.name == name).rule("find", name)


def two_calls() -> Simulation:
    """Open a session in which two calls of one tool wait."""
    simulation = opened(agent_of(*_turns(), tools=[find]))
    simulation.query("go", wait=PATIENCE)
    return simulation


def test_a_fault_answers_one_call_and_is_undone_as_a_step() -> None:
    """The other call waits on, no rule is there, and an undo leads back to both; the script plays the same."""
    with two_calls() as simulation:
        first, second = simulation.pending
        simulation.inject(first, fault("http_503"), wait=PATIENCE)
        (fact,) = tool_facts(simulation)
        assert isinstance(fact.outcome, Failed)
        assert fact.outcome.error_code == 503
        assert (fact.provenance.source, fact.provenance.by) == ("injected", None)
        assert fact.provenance.notes[0] == "503 Service Unavailable"
        assert fact.provenance.fired == ()
        assert simulation.session.rules == ()
        assert [each.key for each in simulation.pending] == [second.key]
        simulation.undo(wait=PATIENCE)
        assert [each.key for each in simulation.pending] == [first.key, second.key]
        simulation.inject(simulation.pending[0], fault("http_404"), wait=PATIENCE)
        simulation.answer(simulation.pending[0], {"status": "sent"}, wait=PATIENCE)
        script = script_of(simulation, agent="model")
        assert [move.fails.error_code for move in _moves(script) if move.fails] == [404]
        told = [fact.outcome for fact in tool_facts(simulation)]
        played = play_script(stage_config(agent_of(*_turns(), tools=[find])), script)
        assert played.came_through
        assert [fact.outcome for fact in played.facts if isinstance(fact, ToolAnswered)] == told


def _moves(script: Script) -> list[ToolMove]:
    return [move for turn in script.turns for move in turn.moves if isinstance(move, ToolMove)]


def _turns() -> tuple[Any, ...]:
    return [call("find", order_id="A"), call("find", order_id="B")], [say("done")]


def test_a_fault_changes_the_response_that_is_given() -> None:
    """What was done stands with the answer; without a response there is nothing to change."""
    with two_calls() as simulation:
        (request, _) = simulation.pending
        with pytest.raises(SimulationError, match="write one first"):
            simulation.inject(request, fault("distort_wrong_type"))
        given = Returned(value={"status": "shipped", "total": 12})
        simulation.inject(request, fault("distort_wrong_type"), given, wait=PATIENCE)
        (fact,) = tool_facts(simulation)
        assert fact.outcome != given
        assert len(fact.provenance.notes) > 1


@pytest.mark.parametrize("name", ["latency_fixed", "ambiguous_timeout", "ask"])
def test_what_answers_no_single_call_is_refused(name: str) -> None:
    """The call waits on."""
    with two_calls() as simulation:
        with pytest.raises(SimulationError, match="single call"):
            simulation.inject(simulation.pending[0], fault(name))
        assert len(simulation.pending) == 2
