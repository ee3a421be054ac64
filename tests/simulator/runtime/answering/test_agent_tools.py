"""Proves that rules and players speak for an agent that is used as a tool, and that the session re-executes exactly."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from google.adk.tools.agent_tool import AgentTool

from evalset import EvalSetWriter, GoldenTraceBuilder
from evalset.recorded.recorder import record
from evalset.verify import verify
from simulator.environment.injection.rules import InjectionRule
from simulator.environment.plugin_config import SimulatedEnvironmentConfig
from simulator.facts import AgentRan, Returned
from simulator.journal import Journal
from simulator.runtime import Simulation
from simulator.scripts import ScriptedSession, read_script, script_of, write_script
from tests.simulator.runtime.answering.going import answers_of, going
from tests.simulator.runtime.desk import waits_noted
from tests.simulator.runtime.plugin.standing import Form, both
from tests.simulator.runtime.plugin.standing import played as stood_in
from tests.simulator.runtime.stage import (
    ASKED,
    PATIENCE,
    agent_of,
    call,
    entries,
    opened,
    resumed,
    say,
    stage_config,
    tool_facts,
    tool_requests,
)

DOWN = {"kind": "error", "error_code": 503, "error_message": "The specialist is down."}


def look_up(what: str) -> dict[str, Any]:
    """Look something up."""
    raise AssertionError(what)


def desk(calls: int = 1) -> Any:
    """Make an agent that asks its specialist, an agent with a tool of its own, so often."""
    specialist = agent_of([call("look_up", what="x")], [say("It is 42.")], name="specialist", tools=[look_up])
    asks = [[call("specialist", request=f"what is x? {number}")] for number in range(calls)]
    return agent_of(*asks, [say("done")], tools=[AgentTool(specialist)])


def rule(effect: Any, **more: Any) -> InjectionRule:
    """Make a rule on the specialist."""
    given = {"rule_id": "r", "tool_name": "specialist", "effect": effect, **more}
    return InjectionRule.model_validate(given)


SECOND_DOWN = rule(DOWN, when={"kind": "call_number", "which": "nth", "n": 2})
LOST = rule({"kind": "lose", "way": "error", "message": "lost on the way"}, rule_id="lost")


def facts_of(sim: Simulation) -> list[Any]:
    """Return the facts of the session."""
    return [fact for _, fact in sim.journal.path()]


def responses(sim: Simulation) -> list[Any]:
    """Return what the agent saw of its specialist."""
    return answers_of(sim, "specialist")


def played(sim: Simulation) -> Simulation:
    """Let the user ask, and answer the specialist's own tool."""
    assert sim.query("go", wait=PATIENCE)
    while sim.pending:
        request: Any = sim.pending[0]
        assert request.tool_name == "look_up"
        assert sim.answer(request, {"x": 42}, wait=PATIENCE)
    return sim


def check_reexecution(make: Any, sim: Simulation) -> None:
    """Resume each prefix of the journal: it goes on where it was, asks no model again, and ends with the same events."""
    whole = facts_of(sim)
    first = next(number for number, fact in enumerate(whole) if fact.kind == "turn_started")
    for length in range(first + 1, len(whole)):
        if whole[length - 1].kind == "call_started":
            continue
        before = len(ASKED)
        with resumed(Journal(whole[:length]), make(), wait=PATIENCE) as again:
            assert again.view().divergence is None, again.view().divergence
            recorded = [fact for fact in facts_of(again)[:length] if hasattr(fact, "key")]
            assert recorded == [fact for fact in whole[:length] if hasattr(fact, "key")]
            while again.pending:
                request: Any = again.pending[0]
                if request.would_answer:
                    again.go_on(wait=PATIENCE)
                    continue
                given = {"x": 42} if request.tool_name == "look_up" else "a person says 41"
                assert again.answer(request, given, wait=PATIENCE)
            assert contents(facts_of(again)) == contents(whole)
        assert len(ASKED) - before <= sum(fact.kind == "model_answered" for fact in whole[length:])


def contents(facts: list[Any]) -> list[Any]:
    """Return the events of the turns that have ended without their times, and each turn's error."""
    ended = [fact for fact in facts if fact.kind == "turn_ended"]
    return [
        ([(event["author"], event.get("content"), event.get("actions")) for event in fact.events], fact.error)
        for fact in ended
    ]


@pytest.mark.long
def test_without_a_rule_or_a_player_the_agent_runs_and_no_fact_says_so() -> None:
    """As ever: its own tool asks, and its answer is ADK's."""
    with played(opened(desk(), rules=[rule(DOWN, tool_name="*")])) as sim:
        assert [fact.tool_name for fact in tool_facts(sim)] == ["look_up"]
        assert not any(isinstance(fact, AgentRan) for fact in facts_of(sim))
    with played(opened(desk())) as sim:
        assert responses(sim) == [{"result": "It is 42."}]
        assert [fact.tool_name for fact in tool_facts(sim)] == ["look_up"]


def survives(tool: Any, args: Any, tool_context: Any, error: Exception) -> dict[str, Any]:
    """Answer in the place of an exception."""
    return {"survived": f"{type(error).__name__}: {error}"}


def surviving() -> Any:
    """Make an agent that asks its specialist, and survives that it raises."""
    agent = desk()
    agent.on_tool_error_callback = survives
    return agent


@pytest.mark.parametrize(
    ("effect", "seen"),
    [
        (DOWN, {"error_code": 503, "error_message": "The specialist is down."}),
        ({"kind": "response", "value": {"result": "It is 41."}}, {"result": "It is 41."}),
        (
            {"kind": "raise", "error_type": "TimeoutError", "message": "too slow"},
            {"survived": "TimeoutError: too slow"},
        ),
    ],
)
def test_a_rule_answers_in_the_place_of_the_agent(effect: Any, seen: Any) -> None:
    """An error, a fixed response or an exception, for the error callback: the nested agent does not run, and the timeline names the rule."""
    with played(opened(surviving(), rules=[rule(effect)])) as sim:
        assert responses(sim) == [seen]
        (fact,) = tool_facts(sim)
        assert (fact.tool_name, fact.provenance.source, fact.provenance.by) == ("specialist", "injected", "r")
        (entry,) = entries(sim, "tool_output", "tool_error")
        assert entry.provenance.by == "r"
        check_reexecution(surviving, sim)


def test_a_distortion_changes_what_the_agent_answered_where_no_rule_answers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The nested agent runs with its own seats; what it says is kept beneath what the agent is told. Another rule speaks for the second call.

    Latency passes before the agent runs.
    """
    waited = waits_noted(monkeypatch)
    slow = rule({"kind": "delay"}, rule_id="slow", latency_seconds=0.02)
    with played(opened(desk(2), rules=[SECOND_DOWN, slow, LOST])) as sim:
        (ran,) = [fact for fact in facts_of(sim) if isinstance(fact, AgentRan)]
        assert "slow" in ran.provenance.fired
        assert waited[0] == 0.02
        assert [each["error_code"] for each in responses(sim)] == [responses(sim)[0]["error_code"], 503]
        assert responses(sim)[0]["error_message"] == "lost on the way"
        assert [(fact.kind, fact.tool_name) for fact in facts_of(sim) if hasattr(fact, "tool_name")] == [
            ("agent_ran", "specialist"),
            ("tool_answered", "look_up"),
            ("tool_answered", "specialist"),
            ("tool_answered", "specialist"),
        ]
        _, told, down = tool_facts(sim)
        assert told.beneath == Returned(value="It is 42.")
        assert down.provenance.fired == ("r",)
        assert sim.journal.fold.counts.calls["specialist"] == 2
        check_reexecution(lambda: desk(2), sim)


@pytest.mark.parametrize(
    ("player", "source"), [("offline", "generated"), ("refuse", "refused"), ("person", "written")]
)
def test_other_players_answer_by_name(player: str, source: str) -> None:
    """A generator, a person, whose call waits like any other, or nobody: the nested agent does not run, and each prefix re-executes."""
    with going(desk(), tools={"specialist": player}) as sim:
        for request in tool_requests(sim):
            assert (request.tool_name, request.arguments) == ("specialist", {"request": "what is x? 0"})
            assert sim.answer(request, "a person says 41", wait=PATIENCE)
        (fact,) = tool_facts(sim)
        assert (fact.tool_name, fact.provenance.source) == ("specialist", source)
        assert (responses(sim) == [{"result": "a person says 41"}]) == (player == "person")
        check_reexecution(desk, sim)


@pytest.mark.parametrize("way", ["run_real", "seat"])
def test_a_person_lets_the_agent_run_after_all(way: str) -> None:
    """By a click for this call, or by a swap of the player while it waits: the agent's own tool asks then."""
    with going(desk(), tools={"specialist": "person"}) as sim:
        if way == "run_real":
            assert sim.run_real(sim.pending[0], wait=PATIENCE)
        else:
            assert sim.set_player("tool", "real", "specialist", wait=PATIENCE)
        (request,) = sim.pending
        assert getattr(request, "tool_name", "") == "look_up"
        assert sim.answer(request, {"x": 42}, wait=PATIENCE)
        assert responses(sim) == [{"result": "It is 42."}]
        assert sim.undo(wait=PATIENCE)
        assert getattr(sim.pending[0], "tool_name", "") == "look_up"
        assert sim.answer(sim.pending[0], {"x": 42}, wait=PATIENCE)


def test_a_rule_that_is_added_while_the_agent_runs_counts_from_its_next_call() -> None:
    """The running one goes on, also after a resume."""
    with going(desk(2)) as sim:
        sim.set_rules([rule(DOWN)])
        with resumed(Journal(facts_of(sim)), desk(2), wait=PATIENCE) as again:
            assert [getattr(request, "tool_name", "") for request in again.pending] == ["look_up"]
        assert sim.answer(sim.pending[0], {"x": 42}, wait=PATIENCE)
        assert responses(sim)[0] == {"result": "It is 42."}
        assert responses(sim)[1]["error_code"] == 503


# ---------------------------------------------------------------- under ADK's own runner


@both
def test_without_the_page_a_rule_speaks_now_and_then(form: Form) -> None:
    """The second call is down; the first runs the agent, whose own tool the environment answers, and its answer is lost: nothing real runs."""
    found = rule({"kind": "response", "value": {"x": 42}}, rule_id="found", tool_name="look_up")
    seen, stage = stood_in(form, desk(2), SimulatedEnvironmentConfig(rules=(SECOND_DOWN, LOST, found)))
    assert seen[0]["error_message"] == "lost on the way"
    assert seen[1] == {"error_code": 503, "error_message": "The specialist is down."}
    calls = stage.ours.calls()
    named = [(each.tool_name, each.provenance.source) for each in calls]
    assert named == [("look_up", "injected"), ("specialist", "real"), ("specialist", "injected")]
    assert calls[1].really == "It is 42."


# ---------------------------------------------------------------- replayed


@pytest.mark.parametrize("what", ["some down", "distorted", "a person", "a person, then the agent"])
def test_a_golden_of_it_verifies_and_its_script_plays(what: str, tmp_path: Path) -> None:
    """What a rule or a person said in the agent's place is said again, without the world and as a script; where the agent ran, it runs."""
    path = tmp_path / "desk.evalset.json"
    rules = {"some down": [SECOND_DOWN], "distorted": [LOST]}.get(what, [])
    given = iter(["a person says 41"] * (2 if what == "a person" else 1))
    with going(desk(2), rules=rules, tools={} if rules else {"specialist": "person"}) as sim:
        while sim.pending:
            (request,) = tool_requests(sim)
            if request.tool_name == "look_up":
                assert sim.answer(request, {"x": 42}, wait=PATIENCE)
            elif said := next(given, None):
                assert sim.answer(request, said, wait=PATIENCE)
            else:
                assert sim.run_real(request, wait=PATIENCE)
        session, seen, script = sim.session, responses(sim), script_of(sim)
        case = GoldenTraceBuilder(session, eval_id="one", confirmations="beside").build()
        EvalSetWriter(path, "stage").write_eval_case(case)
        record(path, "one", session, facts_of(sim), sim.config.root_agent)
    (result,) = verify(path, agent=stage_config(desk(2))).cases
    assert result.status == "passed", result
    with ScriptedSession(stage_config(desk(2)), read_script(write_script(script)).script) as scripted:
        played_again = scripted.play()
        assert played_again.came_through, played_again
        assert not played_again.leftovers
        assert responses(scripted.simulation) == seen


# ---------------------------------------------------------------- tools that steer


def test_a_rule_on_a_tool_that_steers_says_why_it_is_silent(caplog: pytest.LogCaptureFixture) -> None:
    """The transfer happens; the session's problems, and without the page the log, name the rule once."""

    def make() -> Any:
        helper = agent_of([say("helped")], name="helper")
        return agent_of([call("transfer_to_agent", agent_name="helper")], sub_agents=[helper])

    silent = rule(DOWN, tool_name="transfer_to_agent")
    with going(make(), rules=[silent]) as sim:
        assert entries(sim, "final_response")[-1].agent == "helper"
        (problem,) = sim.view().problems
        assert "'r'" in problem
        assert "transfer_to_agent" in problem
    with caplog.at_level("WARNING"):
        stood_in("plugin", make(), SimulatedEnvironmentConfig(rules=(silent,)))
    assert sum("cannot answer transfer_to_agent" in record.getMessage() for record in caplog.records) == 1
