"""Several turns: state, a transfer and memory carry over as in ADK, whatever happens to the server between, and `adk eval` agrees."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evalset import EvalSetWriter, GoldenTraceBuilder
from simulator import Journal, SimulatedAgentConfig, Simulation
from simulator.agents import find_agents
from simulator.facts import TurnEnded, TurnStarted
from simulator.session import Seats
from simulator.session.history import FinalResponse, ToolOutput
from tests.evalset.desk import write_desk
from tests.evalset.sessions import PATIENCE
from tests.harness.adk_process import run_adk_eval

REMEMBERS = """
from google.adk.tools import load_memory


async def remember(callback_context):
    await callback_context.add_session_to_memory()


root_agent.output_key = "last_said"
root_agent.after_agent_callback = remember
root_agent.tools.append(load_memory)
"""
SUM = "The sum is violet."
TURNS: tuple[Any, ...] = (
    [[["add", {"first": 2, "second": 3}]], SUM],
    [[["load_memory", {"query": "violet"}]], "It was violet."],
    [[["transfer_to_agent", {"agent_name": "colleague"}]]],
    [],
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An agent that keeps its words in the state, and each turn in ADK's memory."""
    written = write_desk(tmp_path / "agents")
    with (written / "agent.py").open("a", encoding="utf-8") as file:
        file.write(REMEMBERS)
    return written


@pytest.fixture
def config(folder: Path) -> SimulatedAgentConfig:
    """The same, as the studio finds it."""
    (entry,) = find_agents(folder.parent, demos=False)
    assert entry.config, entry.error
    return entry.config


def ask(sim: Simulation, turn: int) -> None:
    """Say what the user says in a turn."""
    assert sim.query(json.dumps(TURNS[turn]), wait=PATIENCE)


def opened(config: SimulatedAgentConfig) -> Simulation:
    """Open a session in which the real tools answer."""
    return Simulation.open(config, seed="s", session_id="id", seats=Seats(tools={"*": "real"}))


def remembered(sim: Simulation) -> str:
    """Return what was found in the memory last."""
    found = [str(each.result) for each in sim.session.history if isinstance(each, ToolOutput)]
    return next((each for each in reversed(found) if "memories" in each), "")


def last_agent(sim: Simulation) -> str:
    """Return who gave the last answer."""
    return next(each.agent for each in reversed(sim.session.history) if isinstance(each, FinalResponse))


def test_state_memory_and_a_transfer_carry_over(config: SimulatedAgentConfig) -> None:
    """The second turn finds what the first has said; who a turn was handed to answers the next one too."""
    with opened(config) as sim:
        ask(sim, 0)
        assert sim.session.current_state == {"last_said": SUM}
        ask(sim, 1)
        assert SUM in remembered(sim)
        ask(sim, 2)
        assert last_agent(sim) == "colleague"
        ask(sim, 3)
        assert last_agent(sim) == "colleague"
        assert sim.session.current_state == {"last_said": "It was violet."}
        assert len(sim.session.turns) == 4


def test_what_is_remembered_comes_back_with_the_journal_and_goes_with_an_undo(
    config: SimulatedAgentConfig,
) -> None:
    """After a restart between the turns, and in the midst of one, the memory is what it was; taken back, it is gone."""
    with opened(config) as sim:
        ask(sim, 0)
        text = sim.journal.to_json()
        begun = next(number for number, fact in sim.journal.path() if isinstance(fact, TurnStarted))
        assert sim.move_head(sim.journal.parent(begun), wait=PATIENCE)
        ask(sim, 1)
        assert SUM not in remembered(sim)
    with Simulation.resume(Journal.from_json(text), config, wait=PATIENCE) as again:
        ask(again, 1)
        assert SUM in remembered(again)
        noted = [fact.memories for _, fact in again.journal.path() if isinstance(fact, TurnEnded)]
        assert [len(each) for each in noted] == [1, 1]
        assert "violet" not in str(noted)  # the events stand in the journal once


@pytest.mark.long
@pytest.mark.process
def test_adk_eval_agrees_with_the_trace_of_all_turns(
    folder: Path, config: SimulatedAgentConfig, tmp_path: Path
) -> None:
    """One invocation for each turn, the same calls again, and the same last words."""
    with opened(config) as sim:
        for turn in range(len(TURNS)):
            ask(sim, turn)
        assert sim.complete(wait=PATIENCE)
        case = GoldenTraceBuilder(sim.session, eval_id="turns").build()
    assert len(case.conversation or ()) == 4
    path = tmp_path / "turns.evalset.json"
    EvalSetWriter(path, "desk").write_eval_case(case)
    outcome = run_adk_eval(
        folder, path, criteria={"tool_trajectory_avg_score": 1.0, "response_match_score": 1.0}
    )
    (judged,) = outcome.cases
    assert judged.scores["tool_trajectory_avg_score"] == 1.0, outcome.output[-3000:]
    assert judged.scores["response_match_score"] == 1.0, outcome.output[-3000:]
