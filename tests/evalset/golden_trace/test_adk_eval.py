"""The real `adk eval` judges golden traces: an agent that does the same again gets trajectory 1.0."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evalset import EvalSetWriter, GoldenTraceBuilder
from simulator.agents import find_agents
from simulator.runtime import Simulation
from simulator.session import Seats
from tests.evalset.desk import write_desk
from tests.evalset.sessions import PATIENCE
from tests.harness.adk_process import run_adk_eval

pytestmark = [pytest.mark.process, pytest.mark.long]

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
