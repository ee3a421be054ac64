"""Recorded latencies replay on request: tools take the time that they took, people's thinking is not waited for, and a stop ends it."""

from __future__ import annotations

import asyncio
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

AN_HOUR = 3_600.0


def agent() -> Any:
    """Make an agent that calls one tool."""
    return agent_of([call("book", place="Rome")], [say("booked")], tools=[book], name="agent")


def slow(eval_set: Path, source: str = "real") -> Path:
    """Record that the call took an hour, and was answered by this source."""

    def change(before: RecordedEnvironment) -> RecordedEnvironment:
        case = before.cases["case"]
        (turn,) = case.turns
        (recorded,) = turn.calls
        author = recorded.author.model_copy(update={"source": source})
        calls = (recorded.model_copy(update={"latency_ms": AN_HOUR * 1000, "author": author}),)
        turns = (turn.model_copy(update={"calls": calls}),)
        return before.model_copy(update={"cases": {"case": case.model_copy(update={"turns": turns})}})

    change_environment(sidecar_of(eval_set), change)
    return eval_set


@pytest.mark.parametrize(
    ("source", "latencies", "waits"),
    [
        ("real", True, True),
        ("real", False, False),
        *((who, True, False) for who in ("written", "edited", "generated")),
    ],
)
def test_a_tool_takes_its_time_where_that_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, source: str, latencies: bool, waits: bool
) -> None:
    """By default nothing is waited for; nor for an answer that somebody wrote, or took as a draft: the latency is theirs."""
    eval_set = slow(kept(played(agent(), []), tmp_path), source)
    waited, sleep = list[float](), asyncio.sleep

    async def at_once(seconds: float, *_: Any) -> None:
        waited.append(seconds)
        await sleep(0)

    monkeypatch.setattr(asyncio, "sleep", at_once)
    events = run_of(agent(), HermeticEnvironment(sidecar_of(eval_set), latencies=latencies))
    assert events[-1].content.parts[0].text == "booked"
    assert (AN_HOUR in waited) is waits


def test_a_run_is_cancelled_in_the_middle_of_a_latency(tmp_path: Path) -> None:
    """`verify` ends it at its timeout, and says so; without the latency it passes."""
    eval_set = slow(kept(played(agent(), []), tmp_path))
    late = verify(eval_set, agent=asking.config(agent()), latencies=True, timeout=0.5)
    assert "0.5 s" in late.cases[0].runs[0].error
    assert verify(eval_set, agent=asking.config(agent())).status == "passed"
