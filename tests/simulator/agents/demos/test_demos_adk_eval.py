"""The last word on the demo agents: golden traces of them, judged by the real `adk eval`."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from evalset import EvalSetWriter, GoldenTraceBuilder
from simulator.agents import DEMOS, DEMOS_DIR, demo_agent
from simulator.session import SimulationSession
from tests.harness.adk_process import adk_web, run_adk_eval
from tests.simulator.agents.playing import play, play_real, scripted, tools

pytestmark = pytest.mark.process

# What a person may answer instead of the real tools, so that another call follows than in the real world.
CHANGED: dict[str, tuple[str, dict[str, Any]]] = {
    "order_desk": (
        "Please cancel order A-1001 and refund me.",
        {
            "find_order": {"order_id": "A-1001", "status": "processing", "total": 12.5, "currency": "USD"},
            "cancel_order": {"order_id": "A-1001", "status": "cancelled"},
            "refund_order": {"refund_id": "R-1"},
        },
    ),
    "travel_planner": (
        "Book a hotel in Vienna from 2026-06-12 for 3 nights. My name is Ada Lovelace.",
        {
            "search_hotels": {"hotels": [{"hotel_id": "H-NEW-1", "total": 10}]},
            "book_hotel": {"booking_id": "B-1"},
        },
    ),
    "expense_approver": (
        "E-7 of engineering: hotel 180 EUR and dinner 75 EUR",
        {
            "check_policy": {"lines": [{"allowed_amount": 100}, {"allowed_amount": 75}]},
            "get_budget": {"remaining": 300},
            "reimburse": {"payment_id": "P-1"},
        },
    ),
}


def export(session: SimulationSession, path: Path, eval_id: str) -> None:
    """Append a session's golden trace to an eval set."""
    case = GoldenTraceBuilder(session).build()
    EvalSetWriter(path, session.agent_name).write_eval_case(case.model_copy(update={"eval_id": eval_id}))


@pytest.mark.long
@pytest.mark.parametrize("name", DEMOS)
def test_adk_eval_agrees_with_real_traces_and_not_with_changed_ones(name: str, tmp_path: Path) -> None:
    """Each example with the real tools is a case that passes with trajectory 1.0.

    The last case is of a session in which a person changed what the tools said. There the demo's model made other
    calls, so `adk eval`, which runs the real tools, finds another trajectory than the trace has.
    """
    eval_set = tmp_path / f"{name}_evals.evalset.json"
    played = [play_real(name, query) for query in DEMOS[name].example_queries]
    done = {f"real_{place}": session for place, session in enumerate(played) if not session.open_calls}
    for eval_id, session in done.items():
        export(session, eval_set, eval_id)
    query, answers = CHANGED[name]
    changed = play(name, query, answer=scripted(answers))
    assert tools(changed) in [tools(session) for session in done.values()]
    export(changed, eval_set, "changed")

    outcome = run_adk_eval(DEMOS_DIR / name, eval_set)

    assert len(done) >= 3
    scores = {case.eval_id: case.scores["tool_trajectory_avg_score"] for case in outcome.cases}
    assert scores == dict.fromkeys(done, 1.0) | {"changed": 0.0}, outcome.output[-3000:]
    assert {case.eval_id for case in outcome.cases if case.passed} == set(done)


@pytest.mark.long
def test_adk_web_serves_the_demos_and_finds_their_traces(tmp_path: Path) -> None:
    """The demos' folder is one for `adk web`: it lists a demo's eval set that lies there, and passes it."""
    root = tmp_path / "demos"
    shutil.copytree(DEMOS_DIR, root, ignore=shutil.ignore_patterns("__pycache__", ".adk", "*.evalset.json*"))
    for name, demo in DEMOS.items():
        default = demo_agent(name).resolve_eval_set_path().name
        export(play_real(name, demo.example_queries[0]), root / name / default, "first")
    with adk_web(root) as web:
        for name in DEMOS:
            assert web.eval_sets(name) == [f"{name}_evals"]
            assert [case.passed for case in web.run(name, f"{name}_evals", ["first"])] == [True]
