"""A demo agent and a small project are played, undone, exported, replayed and verified, with any google-adk that is supported."""

from pathlib import Path
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.evaluation.eval_case import EvalCase

from evalset import GoldenTraceBuilder
from evalset.verify import verify
from simulator import Seats, Simulation, demo_agent
from simulator.runtime.adk.adk_private import children_of
from tests.evalset.replay.desk_agent import config, played, write_desk
from tests.evalset.verify.desks import ANSWERS, agents, recorded_set
from tests.simulator.runtime.stage import PATIENCE, agent_of, call, opened, say

QUERIES = ("check A, check B; note A; advisor visas", "wipe C", "wait", "transfer refunds")
LATER: dict[str, Any] = {**ANSWERS, "takes_long": {"status": "begun"}}


def desk(folder: Path) -> Simulation:
    """Play the project: parallel calls, state, an agent as a tool, a confirmation, a long-running tool, a transfer."""
    write_desk(folder)
    return played(config(folder), QUERIES, LATER)


def calls(simulation: Simulation) -> list[str]:
    """Return the names of all tools that were called, in order."""
    events: Any = [event for turn in simulation.journal.session().turns for event in turn.events]
    parts = [part for event in events for part in (event.get("content") or {}).get("parts") or []]
    return [part["functionCall"]["name"] for part in parts if "functionCall" in part]


def test_a_demo_agent_answers_by_its_own_model() -> None:
    """The shipped agent asks for the order; a person answers; it says what it found."""
    with Simulation.open(demo_agent("order_desk"), seats=Seats(tools={"*": "person"}), seed="s") as sim:
        sim.query("Where is order A-1002?", wait=PATIENCE)
        (request,) = sim.pending
        sim.answer(request, {"order_id": "A-1002", "status": "shipped", "carrier": "DHL"}, wait=PATIENCE)
        assert not sim.pending
        assert calls(sim) == ["find_order"]
        assert "A-1002" in str(sim.session.history[-1])


def test_the_project_is_played_and_its_session_goes_back_and_on(tmp_path: Path) -> None:
    """All ways are taken once; each step back and forth re-executes the turn in progress, and ends in the same events."""
    with desk(tmp_path) as sim:
        assert [name for name in calls(sim) if name != "look_up"] == [
            "check", "check", "note", "advisor", "wipe", "adk_request_confirmation", "takes_long", "transfer_to_agent", "pay",
        ]  # fmt: skip
        assert sim.session.current_state["noted"] == "A"
        before = [turn.events for turn in sim.journal.session().turns]
        for steps in (1, 3):
            for _ in range(steps):
                sim.undo(wait=PATIENCE)
            assert [turn.events for turn in sim.journal.session().turns] != before
            for _ in range(steps):
                sim.redo(wait=PATIENCE)
            assert sim.view().divergence is None
            assert [turn.events for turn in sim.journal.session().turns] == before


def test_a_session_is_exported_as_a_case_that_adk_reads(tmp_path: Path) -> None:
    """The case is ADK's own, and reads back equal from its JSON."""
    write_desk(tmp_path)
    with played(config(tmp_path), QUERIES[:1], ANSWERS) as sim:
        case = GoldenTraceBuilder(sim.session).build()
    assert isinstance(case, EvalCase)
    assert EvalCase.model_validate_json(case.model_dump_json()) == case
    assert len(case.conversation or []) == 1


@pytest.mark.parametrize("models", ["real", "recorded"])
def test_a_recorded_case_is_verified_and_no_real_tool_runs(tmp_path: Path, models: Any) -> None:
    """The replay finds what was recorded; an agent that asks for something else has changed."""
    kept = recorded_set(tmp_path / "kept", {"one": QUERIES[:1]})
    verification = verify(kept, agents_dir=agents(tmp_path / "same"), models=models)
    assert (verification.status, verification.exit_code) == ("passed", 0)
    other = agents(tmp_path / "other", ("return calls(tool, order=order)", 'return calls(tool, order="Z")'))
    assert verify(kept, agents_dir=other, models="real").status == "failed"


def test_callbacks_see_what_they_see_in_adk() -> None:
    """A callback before a tool changes its arguments, one after it its response; the model is shown both."""

    def before(tool: Any, args: dict[str, Any], tool_context: Any) -> None:
        args["mark"] = "changed"
        tool_context.state["seen"] = tool.name

    def after(tool: Any, args: Any, tool_context: Any, tool_response: Any) -> dict[str, Any]:
        return {**tool_response, "checked": True}

    def find(mark: str) -> dict[str, Any]:
        """Find something."""
        raise AssertionError("the real tool ran")

    agent = agent_of(
        [call("find", mark="a")], [say("done")], tools=[find], before_tool_callback=before, after_tool_callback=after
    )  # fmt: skip
    with opened(agent, tools="person") as sim:
        sim.query("go", wait=PATIENCE)
        (request,) = sim.pending
        assert getattr(request, "arguments", None) == {"mark": "changed"}
        sim.answer(request, {"found": 1}, wait=PATIENCE)
        assert sim.session.current_state["seen"] == "find"
        assert "'checked': True" in str(agent.model.asked[-1])  # type: ignore[union-attr] # a scripted model


def test_every_agent_of_a_tree_is_found() -> None:
    """Sub-agents are found below their parents; ADK's own way of finding them differs between versions."""
    leaf = LlmAgent(name="leaf", model="gemini-2.5-flash")
    root = LlmAgent(name="root", model="gemini-2.5-flash", sub_agents=[leaf])
    assert list(children_of(root)) == [leaf]
