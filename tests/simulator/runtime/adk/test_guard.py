"""Proves that what is not explicitly real never runs: on no way to a tool, in no seat, on no way back."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest
from google.adk.agents import BaseAgent
from google.adk.models.llm_request import LlmRequest
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.function_tool import FunctionTool
from google.genai import types
from pydantic import ValidationError

from simulator.environment.injection.rules import ErrorEffect, InjectionRule
from simulator.runtime import Simulation, SimulationError
from simulator.seats.requests import ToolRequest
from simulator.session import Seats
from tests.simulator.runtime import graph_ways, ways
from tests.simulator.runtime.more_ways import Executing
from tests.simulator.runtime.shapes import ways_in
from tests.simulator.runtime.stage import (
    PATIENCE,
    agent_of,
    answer_all,
    call,
    entries,
    going,
    opened,
    play,
    resumed,
    say,
    tool_facts,
)
from tests.simulator.runtime.traces import Traces
from tests.simulator.runtime.ways import Making

# The agents that steer others are deprecated in ADK, and in use all the same.
pytestmark = pytest.mark.filterwarnings("ignore:.* is deprecated in favor of Workflow:DeprecationWarning")
Way = Callable[[Traces], Any]
TOOL_NAMES = ("hit", "hit_later", "hits", "my_hit", "own")


def added_by_callback(traces: Traces) -> BaseAgent:
    """A tool that the agent's callback puts into the model's request."""

    def add(callback_context: Any, llm_request: LlmRequest) -> None:
        llm_request.append_tools([FunctionTool(traces.hit)])

    return agent_of([call("hit", mark="a")], before_model_callback=add)


def swapped_in_tools_dict(traces: Traces) -> BaseAgent:
    """A tool that a callback puts in the place of another."""

    def swap(callback_context: Any, llm_request: LlmRequest) -> None:
        llm_request.tools_dict["hit"] = FunctionTool(traces.named("hit"))

    return agent_of([call("hit", mark="a")], tools=[traces.hit], before_model_callback=swap)


def agent_tool_made_by_toolset(traces: Traces) -> BaseAgent:
    """An agent that a tool set makes anew at every step, without plugins."""

    def make() -> BaseTool:
        inner = agent_of([call("hit", mark="a")], tools=[traces.hit], name="helper")
        return AgentTool(inner, include_plugins=False)

    return agent_of([call("helper", request="go")], tools=[Making(make)])


def made_at_run_time_without_plugins(traces: Traces) -> BaseAgent:
    """An agent that is made while a nested agent without plugins runs."""
    helper = AgentTool(graph_ways.made_at_run_time(traces), include_plugins=False)
    return agent_of([call("maker", request="go")], tools=[helper])


def nested_twice_without_plugins(traces: Traces) -> BaseAgent:
    """The same, one agent deeper, where the inner agent tool would take plugins along."""
    helper = AgentTool(graph_ways.made_at_run_time(traces))
    middle = agent_of([call("maker", request="go")], tools=[helper], name="middle")
    return agent_of([call("middle", request="go")], tools=[AgentTool(middle, include_plugins=False)])


def added_by_instruction(traces: Traces) -> BaseAgent:
    """A tool that the agent's instruction provider adds to the agent while it runs."""

    def instruct(context: Any) -> str:
        agent = context._invocation_context.agent
        if not agent.tools:
            agent.tools.append(FunctionTool(traces.hit))
        return "Hit."

    return agent_of([call("hit", mark="a")], instruction=instruct)


WAYS = ways_in(ways, sys.modules[__name__])
_BASIC = {"plain", "parallel_calls", "agent_tool_without_plugins", "tool_in_graph", "added_by_callback"}
few_ways = pytest.mark.parametrize(
    "way",
    [
        pytest.param(way, id=name, marks=() if name in _BASIC else pytest.mark.long)
        for name, way in WAYS.items()
    ],
)
"""All ways too, but only the basic ones without `long`."""


# ---------------------------------------------------------------- every way to a tool


@few_ways
def test_a_tool_whose_player_is_real_runs_on_every_way_and_never_again_by_itself(way: Way) -> None:
    """Each way does reach the tool, and each run is a fact; a resume, steps back and going to a fact run only what is a fact then."""
    traces, later = Traces(), Traces()
    with opened(way(traces), tools="real") as sim:
        play(sim)
        assert [fact.provenance.source for fact in tool_facts(sim)] == ["real"] * len(traces.ran)
        assert traces.ran, sim.view()
        ran, head = list(traces.ran), sim.journal.head
        with resumed(sim.journal.to_json(), way(later)) as again:
            assert again.session.history == sim.session.history
        while sim.can_undo():
            sim.undo()
        sim.move_head(head)
        assert traces.ran == ran
        for number, fact in sim.journal.path():
            if fact.kind == "tool_answered":
                sim.move_head(number)
        kept = [sim.journal.fact(number) for number in range(len(sim.journal))]
        real = [fact for fact in kept if fact.kind == "tool_answered" and fact.provenance.source == "real"]
        assert len(traces.ran) == len(real)
    assert not later.ran


@few_ways
def test_with_a_person_no_tool_runs_on_any_way_nor_on_the_way_back(way: Way) -> None:
    """While a person answers, after each undo, and on resuming in the middle and at the end, nothing has run."""
    traces = Traces()
    with going(way(traces)) as sim:
        with resumed(sim.journal.to_json(), way(traces)) as again:
            play_on(again)
        play_on(sim)
        assert tool_facts(sim)
        with resumed(sim.journal.to_json(), way(traces)):
            pass
        while sim.can_undo():
            sim.undo()
    assert not traces.ran


def play_on(sim: Simulation) -> None:
    """Answer everything in a turn that has begun."""
    while sim.pending or any(call.is_confirmation for call in sim.session.open_calls):
        for request in sim.pending[:1]:
            assert sim.answer(request, {"played": True}, wait=PATIENCE)
        for open_call in sim.session.open_calls[:1] if not sim.pending else ():
            assert sim.confirm(open_call.call_id, confirmed=True, wait=PATIENCE)


@few_ways
@pytest.mark.parametrize(("player", "source"), [("refuse", "refused"), ("real", "injected")])
def test_a_tool_that_is_refused_or_answered_by_a_rule_runs_on_no_way(
    way: Way, player: str, source: str
) -> None:
    """The refusing player answers each call with an error that the agent sees; a rule speaks before the real tool."""
    traces = Traces()
    rules = [
        InjectionRule(rule_id=name, tool_name=name, effect=ErrorEffect(error_code=503, error_message="busy"))
        for name in (*TOOL_NAMES, "hit_it")
        if source == "injected"
    ]
    with opened(way(traces), tools=player, rules=rules) as sim:
        play(sim)
        assert {fact.provenance.source for fact in tool_facts(sim)} == {source}
        types_ = {error.error_type for error in entries(sim, "tool_error")}
        assert types_ == {"refused" if source == "refused" else "503"}
    assert not traces.ran


def test_after_an_undo_another_call_at_the_same_place_runs_at_once() -> None:
    """Only a call with the same arguments may have run: another one after an undo is no reason to ask."""
    traces = Traces()

    def turn(request: LlmRequest) -> list[types.Part]:
        return [call("hit", mark=str((request.contents[-1].parts or [say("")])[0].text))]

    with opened(agent_of(turn, tools=[traces.hit]), tools="real") as sim:
        for word in ("one", "two", "two"):
            assert sim.query(word, wait=PATIENCE)
            if sim.pending:
                assert traces.ran == ["one", "two"]
                assert isinstance(sim.pending[0], ToolRequest)
                assert sim.pending[0].may_have_run
                return
            while sim.can_undo():
                sim.undo()
    raise AssertionError("nobody was asked about the second call of the same kind")


# ---------------------------------------------------------------- who plays


@pytest.mark.parametrize("seat", ["tool", "agent"])
def test_an_unknown_player_is_refused_and_changes_nothing(seat: Any) -> None:
    """Nobody sits down who is not known, neither at the opening nor later; the next call still asks a person."""
    traces = Traces()
    with pytest.raises(ValidationError):
        Seats.model_validate({f"{seat}s": {"*": "magic"}})
    with opened(ways.plain(traces)) as sim:
        facts = len(sim.journal.path())
        with pytest.raises(SimulationError, match="magic"):
            sim.set_player(seat, "magic")  # type: ignore[arg-type] # that is the point
        assert len(sim.journal.path()) == facts
        assert sim.query("go", wait=PATIENCE)
        assert len(sim.pending) == 1
    assert not traces.ran


def test_a_player_that_nobody_knows_leaves_the_call_to_a_person(monkeypatch: pytest.MonkeyPatch) -> None:
    """Should a seat ever hold something unknown, the call waits for a person."""
    # No public way lets such a player in, and this test is about what happens if one comes all the same.
    monkeypatch.setattr(Seats, "of_tool", lambda *_: "magic")
    traces = Traces()
    with going(ways.plain(traces)) as sim:
        assert [request.kind for request in sim.pending] == ["tool"]
    assert not traces.ran


@pytest.mark.parametrize(
    "name", ["transfer_to_agent", "exit_loop", "finish_task", "set_model_response", "request_input"]
)
def test_a_tool_of_ones_own_with_the_name_of_a_steering_tool_does_not_run(name: str) -> None:
    """ADK's steering tools are known by what they are, not by their names."""
    traces = Traces()
    with opened(agent_of([call(name, mark="a")], tools=[FunctionTool(traces.named(name))])) as sim:
        play(sim)
        assert [fact.tool_name for fact in tool_facts(sim)] == [name]
    assert not traces.ran


# ---------------------------------------------------------------- code executors


@pytest.mark.parametrize("player", ["person", "offline", "auto", "recorded", "model", "refuse", "real"])
def test_code_runs_only_where_its_player_is_real(player: str) -> None:
    """By nobody else is code of the agent executed, nor its output generated: it waits for the person. An undo runs it never again."""
    traces = Traces()
    writes = [say("```python\nprint(1)\n```")]
    agent = agent_of(writes, [say("It printed.")], code_executor=Executing.into(traces))
    with going(agent, tools=player) as sim:
        assert len(sim.pending) == (player not in {"refuse", "real"})
        answer_all(sim)
        assert len(entries(sim, "code_run")) == 1
        while sim.can_undo():
            sim.undo()
    assert len(traces.ran) == (player == "real")
