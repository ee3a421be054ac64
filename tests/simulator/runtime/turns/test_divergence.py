"""An agent that was changed since its journal was written: told apart step by step, and nothing is harmed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from google.adk.agents import BaseAgent
from google.genai import types

from simulator.agent_config import SimulatedAgentConfig
from simulator.journal import Journal
from simulator.runtime import Simulation, SimulationError
from tests.simulator.runtime.stage import (
    ASKED,
    PATIENCE,
    agent_of,
    call,
    going,
    play,
    resumed,
    say,
    tool_requests,
)
from tests.simulator.runtime.traces import Traces

Make = Callable[[Traces], BaseAgent]


def _agent(traces: Traces, *turns: Any, **more: Any) -> BaseAgent:
    script = turns or ([call("hit", mark="a")], [call("hit", mark="b")])
    return agent_of(*script, tools=[traces.hit, traces.hit_later], instruction="Be kind.", **more)


def _recorded() -> str:
    """Return the JSON of a session that is in the middle of its second tool call."""
    with going(_agent(Traces())) as sim:
        assert sim.answer(sim.pending[0], {"found": 1}, wait=PATIENCE)
        assert [request.arguments for request in tool_requests(sim)] == [{"mark": "b"}]
        return sim.journal.to_json()


def _rewriting(mark: str) -> Callable[..., None]:
    def rewrite(tool: Any, args: dict[str, Any], tool_context: Any) -> None:
        args["mark"] = mark

    return rewrite


def _other_arguments(traces: Traces) -> BaseAgent:
    return _agent(traces, before_tool_callback=_rewriting("z"))


def _removed_tool(traces: Traces) -> BaseAgent:
    return agent_of([call("hit", mark="a")], tools=[traces.hit], instruction="Be kind.")


def _other_contents(traces: Traces) -> BaseAgent:
    def add(callback_context: Any, llm_request: Any) -> None:
        llm_request.contents[0].parts.append(say("please"))

    return _agent(traces, before_model_callback=add)


def _extra_model_turn(traces: Traces) -> BaseAgent:
    def speak(callback_context: Any) -> Any:
        return types.Content(role="model", parts=[say("I speak first")])

    return _agent(traces, before_agent_callback=speak)


def _renamed_agent(traces: Traces) -> BaseAgent:
    return _agent(traces, name="other")


_CHANGES: list[tuple[Make, str]] = [
    (_other_arguments, "arguments"),
    (_removed_tool, "tools"),
    (_other_contents, "contents"),
    (_extra_model_turn, "never asked"),
    (_renamed_agent, "never asked"),
]


@pytest.mark.parametrize(("make", "what"), _CHANGES)
def test_a_changed_agent_is_told_apart(make: Make, what: str) -> None:
    """By its step and what differs; what needs the turn is refused, and the journal stays. Back before it the agent runs a new branch."""
    text, traces, asked = _recorded(), Traces(), len(ASKED)
    with resumed(text, make(traces)) as sim:
        view = sim.view()
        assert view.divergence is not None
        assert what in view.divergence.what
        assert sim.journal.fact(view.divergence.fact).kind in {"model_answered", "tool_answered"}
        assert str(view.divergence.fact) in view.divergence.sentence()
        assert not view.busy
        assert view.pending == ()
        assert sim.wait(0)
        assert traces.ran == []
        assert len(ASKED) == asked
        with pytest.raises(SimulationError):
            sim.query("more")
        with pytest.raises(SimulationError, match="no turn"):
            sim.answer("0//x#0", {"found": 1})
        with pytest.raises(SimulationError, match="no turn"):
            sim.stop()
        assert sim.journal.to_json() == text
        old = sim.journal.path()
        sim.move_head(1)
        assert sim.view().divergence is None
        play(sim)
        assert sim.view().divergence is None
        assert sim.session.state.value == "completed"
        assert [sim.journal.fact(number) for number, _ in old] == [fact for _, fact in old]
        assert traces.ran == []


def test_one_can_go_on_right_before_the_step() -> None:
    """Moved to the fact before the step that no longer fits, the session goes on from there with the new agent."""
    with resumed(_recorded(), _other_arguments(Traces())) as sim:
        found = sim.view().divergence
        assert found is not None
        sim.move_head(found.fact - 1)
        assert sim.view().divergence is None
        assert [request.arguments for request in tool_requests(sim)] == [{"mark": "z"}]
        assert sim.answer(sim.pending[0], {"found": 1}, wait=PATIENCE)


def test_another_instruction_is_only_a_warning() -> None:
    """What the agent is told may change without harm to what is recorded: the person is told, and goes on."""
    agent = _agent(Traces())
    agent.instruction = "Be brief."  # type: ignore[attr-defined] # agent_of makes an LlmAgent
    with resumed(_recorded(), agent) as sim:
        view = sim.view()
        assert view.divergence is None
        assert any("system" in problem for problem in view.problems)
        assert len(view.pending) == 1


def test_a_completed_turn_is_not_re_executed() -> None:
    """A change of the agent does not touch turns that have ended: their events stand in the journal."""
    with going(_agent(Traces()), tools="refuse") as sim:
        text, session = sim.journal.to_json(), sim.session
    with resumed(text, _renamed_agent(Traces())) as sim:
        assert sim.view().divergence is None
        assert sim.session == session


def test_another_agent_is_refused() -> None:
    """A journal is resumed with the agent of its name only."""
    config = SimulatedAgentConfig("another", _agent(Traces()), "stage.evalset.json")
    with pytest.raises(SimulationError, match=r"'stage'.*'another'"):
        Simulation.resume(Journal.from_json(_recorded()), config)
