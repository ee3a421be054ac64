"""The real `adk eval` judges golden traces: an agent that does the same again gets trajectory 1.0."""

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

QUERIES: dict[str, list[list[Any]]] = {
    "one": [[[["add", {"first": 2, "second": 3}]], "Five."]],
    "parallel": [
        [[["add", {"first": 1, "second": 1}], ["find", {"key": "a"}], ["add", {"first": 3, "second": 3}]]]
    ],
    "failed": [[[["find", {"key": "nothing"}]], [["find", {"key": "b"}]], "Found."]],
    "unknown": [[[["nonsense", {}]], "Sorry."]],
    "transfer": [[[["transfer_to_agent", {"agent_name": "colleague"}]]]],
    "agent_tool": [[[["expert", {"request": "1 and 2"}]], "The expert says three."]],
    "long_running": [[[["order", {"amount": 4}]], "Ordered."]],
    "confirmed": [[[["add", {"first": 1, "second": 1}], ["pay", {"amount": 4}]], "Paid."]],
    "several": [[[["add", {"first": 1, "second": 2}]]], [[["find", {"key": "c"}]], "There."], []],
}


def played(agents_dir: Path, turns: list[list[Any]]) -> Simulation:
    """Play a session with the real tools: each turn's steps are the user's words."""
    (entry,) = find_agents(agents_dir, demos=False)
    assert entry.config, entry.error
    sim = Simulation.open(entry.config, seats=Seats(tools={"*": "real"}))
    for turn in turns:
        assert sim.query(json.dumps(turn), wait=PATIENCE)
        for waiting in sim.session.open_calls:
            if waiting.is_confirmation:
                assert sim.confirm(waiting.call_id, confirmed=True, wait=PATIENCE)
    return sim


@pytest.mark.process
@pytest.mark.long
def test_an_agent_that_does_the_same_again_scores_one(tmp_path: Path) -> None:
    """Traces of every shape, in both forms, pass with trajectory 1.0, one by one by their ids; a changed one fails."""
    folder = write_desk(tmp_path)
    path = tmp_path / "desk.evalset.json"
    writer = EvalSetWriter(path, "desk")
    for name, turns in QUERIES.items():
        with played(tmp_path, turns) as sim:
            session = sim.session
        writer.write_eval_case(GoldenTraceBuilder(session, eval_id=name).build())
        writer.write_eval_case(
            GoldenTraceBuilder(session, form="invocation_events", eval_id=f"{name}_events").build()
        )
    whole = json.loads(path.read_text(encoding="utf-8"))
    changed = json.loads(json.dumps(whole["eval_cases"][0])) | {"eval_id": "changed"}
    changed["conversation"][0]["intermediate_data"]["tool_uses"][0]["args"]["first"] = 7
    path.write_text(json.dumps(whole | {"eval_cases": [*whole["eval_cases"], changed]}), encoding="utf-8")

    outcome = run_adk_eval(folder, path)

    names = [each for name in QUERIES for each in (name, f"{name}_events")]
    scores = {case.eval_id: case.scores["tool_trajectory_avg_score"] for case in outcome.cases}
    assert scores == dict.fromkeys(names, 1.0) | {"changed": 0.0}, outcome.output[-3000:]


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


@pytest.mark.long
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
