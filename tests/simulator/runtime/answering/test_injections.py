"""Proves injection rules through whole sessions: order, matching, chance, latency, switches, and what is recorded."""

from __future__ import annotations

from typing import Any

import pytest

from simulator.environment.injection.rules import Effect, ErrorEffect, InjectionRule, ResponseEffect
from simulator.journal import Journal
from simulator.runtime import Simulation, SimulationError
from simulator.session import SessionState
from tests.simulator.runtime.answering.going import going
from tests.simulator.runtime.desk import asked, find, other
from tests.simulator.runtime.stage import (
    PATIENCE,
    agent_of,
    answer_all,
    call,
    entries,
    opened,
    play,
    tool_facts,
    tool_requests,
)

BUSY = ErrorEffect(error_code=503, error_message="busy")
LOST = ResponseEffect(value={"status": "lost"})


def rule(rule_id: str, effect: Effect = LOST, tool: str = "find", **more: Any) -> InjectionRule:
    """Make a rule."""
    return InjectionRule(rule_id=rule_id, tool_name=tool, effect=effect, **more)


def finds(*order_ids: str) -> list[Any]:
    """Make one turn of the model for each call."""
    return [[call("find", order_id=order_id)] for order_id in order_ids]


def sources(sim: Simulation) -> list[tuple[str, str | None]]:
    """Return who answered each call."""
    return [(fact.provenance.source, fact.provenance.by) for fact in tool_facts(sim)]


# ---------------------------------------------------------------- what a rule answers


@pytest.mark.parametrize("value", [{"status": "lost"}, {}])
@pytest.mark.parametrize("player", ["person", "real", "refuse"])
def test_a_rule_speaks_before_every_player(player: str, value: dict[str, str]) -> None:
    """A fixed response, `{}` too, answers at once; the agent's callbacks see it as the tool's result, and the timeline names the rule."""
    seen: list[Any] = []

    def after(tool: Any, args: Any, tool_context: Any, tool_response: Any) -> None:
        seen.append(tool_response)

    agent = agent_of(*finds("A-1"), tools=[find], after_tool_callback=after)
    with going(agent, tools=player, rules=[rule("fixed", ResponseEffect(value=value))]) as sim:
        assert sim.session.state is SessionState.COMPLETED
        (output,) = entries(sim, "tool_output")
        assert (output.result, output.provenance.source, output.provenance.by) == (value, "injected", "fixed")
    assert seen == [value]


def test_the_first_rule_that_matches_answers_and_misses_say_why() -> None:
    """Rules speak in order; a call that none answers tells the person why each one for this tool did not."""
    rules = [
        rule("off", enabled=False),
        rule("other tool", tool="other"),
        rule("only B-2", match_args={"order_id": "B-2"}),
        rule("never", probability=0.0),
        rule("only C-3", BUSY, match_args={"order_id": "C-3"}),
        rule("also C-3", match_args={"order_id": "C-3"}),
    ]
    with opened(agent_of(*finds("A-1", "B-2", "C-3"), tools=[find, other]), rules=rules) as sim:
        request = asked(sim)
        reasons = {miss.rule_id: miss.reason for miss in request.misses}
        assert set(reasons) == {"off", "only B-2", "never", "only C-3", "also C-3"}
        assert reasons["off"] == "switched off"
        assert "B-2" in reasons["only B-2"]
        assert "needed less than 0" in reasons["never"]
        assert sim.answer(request, {"by": "person"}, wait=PATIENCE)
        assert sources(sim) == [("written", None), ("injected", "only B-2"), ("injected", "only C-3")]
        assert tool_facts(sim)[0].provenance.misses == request.misses


def test_parallel_calls_are_judged_one_by_one() -> None:
    """Of parallel calls each is judged by itself; those that no rule answers wait for the person together."""
    calls = [call("find", order_id=f"A-{number}") for number in range(4)]
    rules = [rule(name, match_args={"order_id": name}) for name in ("A-0", "A-2")]
    with going(agent_of(calls, tools=[find]), rules=rules) as sim:
        assert [request.arguments["order_id"] for request in tool_requests(sim)] == ["A-1", "A-3"]
        assert sorted(by or "" for _, by in sources(sim)) == ["A-0", "A-2"]


# ---------------------------------------------------------------- latency


def test_latency_counts_into_the_calls_duration_and_is_not_waited_for_again() -> None:
    """The timeline's duration holds the latency; a resume takes the answer from the journal at once."""
    slow = rule("slow", latency_seconds=0.02, match_args={"order_id": "A-1"})
    with opened(agent_of(*finds("A-1", "B-2"), tools=[find]), rules=[slow]) as sim:
        request = asked(sim)
        (output,) = entries(sim, "tool_output")
        assert output.duration_ms >= 20
        text = sim.journal.to_json()
        assert text.count('"latency_seconds": 0.02') == 1
        hours = Journal.from_json(text.replace('"latency_seconds": 0.02', '"latency_seconds": 120.0'))
        with Simulation.resume(hours, sim.config) as again:
            assert again.pending == (request,)


# ---------------------------------------------------------------- switches


def test_a_switch_takes_effect_at_the_next_call() -> None:
    """The call that waits already was asked before the switch and keeps waiting; the next one is judged anew. An unknown name is refused."""
    agent = agent_of(*finds("A-1", "B-2"), tools=[find])
    with opened(agent.clone(), rules=[rule("fixed", enabled=False)]) as sim:
        request = asked(sim)
        with pytest.raises(SimulationError, match="'fixd'"):
            sim.switch_rule("fixd", enabled=True)
        sim.switch_rule("fixed", enabled=True)
        assert sim.pending == (request,)
        assert sim.answer(request, {"by": "person"}, wait=PATIENCE)
        assert sources(sim) == [("written", None), ("injected", "fixed")]
    with opened(agent, rules=[rule("only A-1", match_args={"order_id": "A-1"})]) as sim:
        request = asked(sim)
        sim.set_rules([rule("new", BUSY)])
        assert sim.answer(request, {"by": "person"}, wait=PATIENCE)
        assert sim.query("again", wait=PATIENCE)
        notes = [note.content for note in entries(sim, "session_note")]
        assert any("added new" in note and "removed only A-1" in note for note in notes)


# ---------------------------------------------------------------- chance


CALLS = [f"A-{number}" for number in range(12)]


def test_chance_is_repeated_by_the_sessions_seed_or_the_rules_own() -> None:
    """The same seed gives the same pattern; a rule's own seed gives it in every session."""
    agent = agent_of(*finds(*CALLS), tools=[find])

    def by_chance(seed: str, **more: Any) -> list[str | None]:
        half = rule("half", probability=0.5, **more)
        with going(agent.clone(), tools="refuse", rules=[half], seed=seed) as sim:
            return [by for _, by in sources(sim)]

    assert by_chance("one") == by_chance("one") != by_chance("two")
    assert by_chance("one", random_seed=7) == by_chance("two", random_seed=7)
    assert {"half", None} == set(by_chance("one"))


@pytest.mark.long
def test_undo_and_resume_draw_the_same_values_again() -> None:
    """Taking calls back and playing them again gives the same pattern, in a resumed session too."""
    half = rule("half", probability=0.5, random_seed=7)
    with opened(agent_of(*finds(*CALLS), tools=[find]), rules=[half]) as sim:
        play(sim, answer={"by": "person"})
        first = sources(sim)
        answers = [number for number, fact in sim.journal.path() if fact.kind == "tool_answered"]
        text = sim.journal.to_json()
        for number in (answers[3], answers[8]):
            journal = Journal.from_json(text)
            journal.move_head(number)
            sim.move_head(number)
            with Simulation.resume(journal, sim.config) as again:
                for each in (sim, again):
                    each.go_on(wait=PATIENCE)
                    answer_all(each, {"by": "person"})
                    assert sources(each) == first
