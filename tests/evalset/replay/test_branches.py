"""Branches that run at once replay in the order in which they had spoken, each with its own words."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents import LlmAgent, ParallelAgent
from google.adk.evaluation.eval_case import Invocation
from google.adk.workflow import START, Workflow, node

from evalset.golden_trace.golden_steps import spoken
from evalset.verify import verify
from simulator import Seats, Simulation
from tests.evalset.replay import asking
from tests.simulator.runtime.stage import PATIENCE, Scripted, call, say

# ADK warns of agents that are still everywhere.
pytestmark = pytest.mark.filterwarnings("ignore:ParallelAgent is deprecated:DeprecationWarning")


def look(mark: str) -> dict[str, str]:
    """Look at something."""
    raise SystemExit("a real tool ran")


def _said_last(request: Any) -> str:
    texts = [part.text for content in request.contents for part in content.parts or () if part.text]
    return str(texts[-1])


def same_agent() -> Workflow:
    """Let one agent work on two items at once."""

    def items() -> list[str]:
        return ["a", "b"]

    turns = [
        lambda request: [call("look", mark=_said_last(request))],
        lambda request: [say(f"seen {_said_last(request)}")],
    ]
    worker = LlmAgent(name="worker", model=Scripted(turns=turns), tools=[look], mode="single_turn")
    return Workflow(name="graph", edges=[(START, items, node(worker, parallel_worker=True))])


def two_agents() -> ParallelAgent:
    """Let two agents work at once."""
    both = [
        LlmAgent(
            name=f"agent_{mark}",
            model=Scripted(turns=[[call("look", mark=mark)], [say(f"seen {mark}")]]),
            tools=[look],
        )
        for mark in ("a", "b")
    ]
    return ParallelAgent(name="both", sub_agents=both)


@pytest.mark.parametrize("make", [same_agent, two_agents])
@pytest.mark.parametrize("last", ["a", "b"])
def test_branches_speak_in_the_recorded_order(make: Callable[[], Any], last: str, tmp_path: Path) -> None:
    """Whichever was answered last spoke last, and that is the final response; in a replay all answers are there at once."""
    with Simulation.open(asking.config(make()), seats=Seats(tools={"*": "person"})) as simulation:
        simulation.query("go", wait=PATIENCE)
        for request in sorted(simulation.pending, key=lambda one: one.arguments["mark"] == last):  # type: ignore[union-attr] # calls of tools
            simulation.answer(request, {"saw": "it"}, wait=PATIENCE)
        eval_set = asking.kept(simulation, tmp_path)
    (case,) = verify(eval_set, agent=asking.config(make()), models="recorded").cases
    (run,) = case.runs
    assert (run.passed, run.error) == (True, "")
    said = [spoken(Invocation.model_validate(turn.invocation).final_response) for turn in run.turns]
    assert said == [f"seen {last}"]
