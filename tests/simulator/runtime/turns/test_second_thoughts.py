"""Tests of undo, of answers that are refused, and of what the timeline calls an error."""

from __future__ import annotations

from typing import Any

import pytest

from simulator import (
    ErrorEffect,
    InjectionRule,
    SessionState,
    Simulation,
    SimulationError,
)
from simulator.base.json_values import JsonObject
from simulator.environment.injection.rule_effects import HangEffect
from tests.harness.processes import wait_until
from tests.simulator.runtime.stage import PATIENCE, agent_of, call, going, opened, resumed, say

RAN: list[str] = []


def find(order_id: str) -> dict[str, str]:
    """Find an order for real."""
    RAN.append(order_id)
    return {"order_id": order_id, "status": "real"}


def busy(tool: str) -> InjectionRule:
    """Make a rule that says that a tool is busy."""
    effect = ErrorEffect(error_code=503, error_message="busy")
    return InjectionRule(rule_id="r", tool_name=tool, effect=effect)


def to_before(sim: Simulation, kind: str) -> None:
    """Go back to where the first fact of a kind was not there yet."""
    first = next(number for number, fact in sim.journal.path() if fact.kind == kind)
    sim.move_head(sim.journal.parent(first), wait=PATIENCE)


def kinds_of(sim: Simulation) -> list[str]:
    """Return the kinds of the timeline's entries."""
    return [entry.type for entry in sim.session.history]


def two_calls() -> Any:
    """Make an agent that finds two orders, one after the other."""
    return agent_of([call("find", order_id="A")], [call("find", order_id="B")], [say("done")], tools=[find])


def test_seats_and_rules_go_back_with_the_head_one_step_each() -> None:
    """A swap and a switch are steps of their own, so that nobody loses an answer with them; a redo brings each back."""
    rule = busy("other")
    with going(two_calls(), rules=[rule]) as sim:
        sim.answer(sim.pending[0], {"status": "first"}, wait=PATIENCE)
        sim.switch_rule("r", enabled=False)
        sim.set_player("tool", "refuse", "other")
        waits, head = sim.pending[0].key, sim.journal.head
        for enabled in (False, True):
            sim.undo()
            assert sim.session.seats.of_tool("other") == "person"
            assert [found.enabled for found in sim.session.rules] == [enabled]
            assert sim.pending[0].key == waits
        while sim.can_redo():
            sim.redo()
        assert sim.journal.head == head
        assert sim.session.seats.of_tool("other") == "refuse"


def test_what_is_set_in_the_moment_of_the_opening_is_a_step_of_its_own() -> None:
    """Also where the clock stands still; what the session was opened with is none."""
    rule = busy("other")
    script: JsonObject = {"parts": [{"text": "hello"}]}
    for clock in (lambda: 5.0, iter(range(9, 0, -1)).__next__):
        with opened(two_calls(), rules=[rule], tools={"find": "offline"}, clock=clock) as sim:
            assert not sim.can_undo()
            sim.set_player("tool", "refuse", "other")
            sim.set_rules([])
            sim.set_user("script", script=(script,), hold=True)
            for _ in range(3):
                assert sim.can_undo()
                sim.undo()
            assert not sim.can_undo()


def test_an_undo_runs_nothing_real_by_itself() -> None:
    """Back where a real tool sat, the call waits for a person first, who can let it go on."""
    with going(two_calls()) as sim:
        before, ran = sim.journal.head, list(RAN)
        sim.set_player("tool", "real", wait=PATIENCE)
        assert len(RAN) == len(ran) + 2
        sim.move_head(before + 1, wait=PATIENCE)
        assert sim.session.seats.of_tool("find") == "real"
        assert [request.would_answer for request in sim.pending] == ["real"]
        assert len(RAN) == len(ran) + 2
        sim.go_on(wait=PATIENCE)
        assert len(RAN) == len(ran) + 2
        assert [getattr(request, "may_have_run", None) for request in sim.pending] == [True]
        sim.run_real(sim.pending[0], wait=PATIENCE)
        assert len(RAN) == len(ran) + 3


@pytest.mark.parametrize("player", ["offline", "refuse", "r"])
def test_what_answered_by_itself_does_not_answer_again_by_itself(player: str) -> None:
    """Neither a player nor a rule: the call waits, also after a resume; the next ones, or a player who sits down, go as before."""
    more: dict[str, Any] = {"rules": [busy("find")]} if player == "r" else {"tools": player}
    with going(two_calls(), **more) as sim:
        history, kinds = sim.session.history, kinds_of(sim)
        to_before(sim, "tool_answered")
        (request,) = sim.pending
        assert request.would_answer == player
        text = sim.journal.to_json()
        sim.answer(request, {"status": "mine"}, wait=PATIENCE)
        assert not sim.pending
        assert sim.session.history != history
        sim.undo()
        assert sim.pending[0].key == request.key
        sim.go_on(wait=PATIENCE)
        assert kinds_of(sim) == kinds
        to_before(sim, "tool_answered")
        sim.set_player("tool", "refuse" if player == "offline" else "offline", "find", wait=PATIENCE)
        assert not sim.pending
    with resumed(text, two_calls()) as again:
        assert again.pending[0].would_answer == player
        again.answer(again.pending[0], {"status": "mine"}, wait=PATIENCE)
        assert kinds_of(again).count("tool_output") == (2 if player == "offline" else 1)
        assert kinds_of(again).count("tool_error") == (0 if player == "offline" else 1)


def test_a_turn_of_the_agents_own_model_can_be_taken_another_way() -> None:
    """Back before it, a person has the model's turn; the others it makes itself."""
    with going(two_calls()) as sim:
        to_before(sim, "model_answered")
        (request,) = sim.pending
        assert (request.kind, request.would_answer) == ("model", "model")
        sim.answer(request, "No, thank you.", wait=PATIENCE)
        assert sim.session.state is SessionState.COMPLETED


def test_undo_and_redo_go_the_same_steps_both_ways() -> None:
    """At any depth, step by step, and nothing is lost; another step instead of a redo ends it."""
    with going(two_calls()) as sim:
        sim.answer(sim.pending[0], {"status": "first"}, wait=PATIENCE)
        sim.set_rules([])
        sim.answer(sim.pending[0], {"status": "second"}, wait=PATIENCE)
        sim.query("more", wait=PATIENCE)
        assert not sim.can_redo()
        back = [(sim.journal.head, sim.session.history)]
        while sim.can_undo():
            sim.undo()
            back.append((sim.journal.head, sim.session.history))
        assert len(back) == 6
        for head, history in back[-2::-1]:
            assert sim.view().redoes is not None
            sim.redo()
            assert (sim.journal.head, sim.session.history) == (head, history)
        with pytest.raises(SimulationError, match="redo"):
            sim.redo()
        sim.undo()
        sim.query("something else", wait=PATIENCE)
        assert not sim.can_redo()


def test_taking_back_a_stop_leads_to_the_pause_that_it_ended() -> None:
    """The answers before the stop are still there, and the call waits again, also where somebody goes to no fact."""
    with going(two_calls()) as sim:
        sim.answer(sim.pending[0], {"status": "first"}, wait=PATIENCE)
        key, history = sim.pending[0].key, sim.session.history
        sim.stop()
        assert not sim.pending
        sim.undo()
        assert [request.key for request in sim.pending] == [key]
        assert sim.session.history == history
        waits = sim.pending
        for fact in (10**6, -1, 0):
            with pytest.raises(SimulationError, match="fact"):
                sim.move_head(fact)
            assert sim.pending == waits
        sim.answer(waits[0], {"status": "x"}, wait=PATIENCE)
        assert sim.session.state is SessionState.COMPLETED


def test_taking_back_a_turn_of_the_model_that_a_person_asked_for() -> None:
    """Where a person let the model take one turn and it failed, the person has the turn again, and loses no more."""
    agent = agent_of([call("find", order_id="A")], RuntimeError("no key"), tools=[find])
    with going(agent, agents="person") as sim:
        sim.run_real(sim.pending[0], wait=PATIENCE)
        sim.answer(sim.pending[0], {"status": "first"}, wait=PATIENCE)
        key = sim.pending[0].key
        sim.run_real(sim.pending[0], wait=PATIENCE)
        assert sim.session.history[-1].type == "turn_failed"
        sim.undo()
        assert [request.key for request in sim.pending] == [key]


def test_a_hang_does_not_hold_up_an_undo_or_a_resume_that_waits_only_so_long() -> None:
    """Both come back while the call hangs, so that it can be stopped."""
    agent = two_calls()
    rule = InjectionRule(rule_id="hang", tool_name="find", effect=HangEffect())
    with opened(agent, rules=[rule]) as sim:
        assert not sim.query("go", wait=0.0)
        wait_until(lambda: bool(sim.view().running), what="the hang", seconds=PATIENCE)
        text = sim.journal.to_json()
        sim.stop()
        sim.undo(wait=0.0)
        wait_until(lambda: bool(sim.pending), what="the call", seconds=PATIENCE)
        assert [request.would_answer for request in sim.pending] == ["hang"]
        sim.go_on(wait=0.0)
        assert sim.view().busy
        sim.stop()
    with resumed(text, agent, wait=0.0) as again:
        assert again.view().busy
        again.stop()
        assert again.session.turns[0].stopped


def test_a_tool_that_is_not_there_is_an_error_in_the_timeline() -> None:
    """ADK's own error is shown as one, so that whoever looks for errors finds it."""
    with going(agent_of([call("nothing", a=1)], [say("sorry")], tools=[find])) as sim:
        (error,) = [entry for entry in sim.session.history if entry.type == "tool_error"]
        assert "nothing" in error.error_message
        assert sim.session.state is SessionState.COMPLETED
