"""Recorded latencies replay on request: tools take the time that they took, people's thinking is not waited for, and a stop ends it."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from evalset import HermeticEnvironment
from evalset.recorded.recording import RecordedEnvironment
from evalset.recorded.recording_files import change_environment, sidecar_of
from evalset.verify import verify
from tests.evalset.replay import asking
from tests.evalset.replay.asking import book, kept, played
from tests.evalset.replay.test_inputs import run_of
from tests.simulator.runtime.stage import agent_of, call, say

AN_HOUR = 3_600_000.0


def agent() -> Any:
    """Make an agent that calls one tool."""
    return agent_of([call("book", place="Rome")], [say("booked")], tools=[book], name="agent")


def slow(folder: Path, latency_ms: float, source: str = "real") -> Path:
    """Record a case whose call took so long, and was answered by this source."""
    eval_set = kept(played(agent(), []), folder)

    def change(before: RecordedEnvironment) -> RecordedEnvironment:
        case = before.cases["case"]
        (turn,) = case.turns
        (recorded,) = turn.calls
        author = recorded.author.model_copy(update={"source": source})
        calls = (recorded.model_copy(update={"latency_ms": latency_ms, "author": author}),)
        turns = (turn.model_copy(update={"calls": calls}),)
        return before.model_copy(update={"cases": {"case": case.model_copy(update={"turns": turns})}})

    change_environment(sidecar_of(eval_set), change)
    return eval_set


def seconds_of(eval_set: Path, **more: Any) -> float:
    """Replay a query, and return how long it took."""
    plugin = HermeticEnvironment(sidecar_of(eval_set), **more)
    began = time.monotonic()
    events = run_of(agent(), plugin)
    assert events[-1].content.parts[0].text == "booked"
    return time.monotonic() - began


def test_a_tool_takes_its_time_where_that_is_asked_for(tmp_path: Path) -> None:
    """By default the answer is there at once, though an hour is recorded."""
    assert seconds_of(slow(tmp_path, 300.0), latencies=True) >= 0.3
    other = tmp_path / "other"
    other.mkdir()
    assert seconds_of(slow(other, AN_HOUR)) < 600


@pytest.mark.parametrize("source", ["written", "edited", "generated"])
def test_how_long_a_person_took_is_not_waited_for(tmp_path: Path, source: str) -> None:
    """Of an answer that somebody wrote, or took as a draft, the latency is theirs."""
    assert seconds_of(slow(tmp_path, AN_HOUR, source), latencies=True) < 600


def test_a_run_is_cancelled_in_the_middle_of_a_latency(tmp_path: Path) -> None:
    """`verify` ends it at its timeout, and says so; without the latency it passes."""
    eval_set = slow(tmp_path, AN_HOUR)
    late = verify(eval_set, agent=asking.config(agent()), latencies=True, timeout=0.5)
    assert "longer than 0.5 s" in late.cases[0].runs[0].error
    assert verify(eval_set, agent=asking.config(agent())).status == "passed"
