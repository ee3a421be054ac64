"""Code that swallows its cancellation, or makes another error of it, keeps nobody from stopping or closing a session."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types

from simulator.facts import TurnEnded
from simulator.runtime import Simulation
from simulator.runtime.errors import SimulationError
from tests.harness.processes import wait_until
from tests.simulator.runtime.stage import PATIENCE, agent_of, call, opened, say

_BEGUN: list[str] = []


async def _hang(how: str) -> None:
    """Hang until cancelled; then swallow that, make another error of it, or hang again."""
    _BEGUN.append(how)
    while True:
        try:
            await asyncio.sleep(2 * PATIENCE)
        except asyncio.CancelledError as cancelled:
            if how == "other error":
                raise RuntimeError("cancelled, in other words") from cancelled
            if how == "swallowed":
                return


class Slow(BaseLlm):
    """A model that hangs before it speaks."""

    model: str = "slow"
    how: str

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Hang, then speak."""
        await _hang(self.how)
        yield LlmResponse(content=types.Content(role="model", parts=[say("late")]))


def _agent(where: str, how: str) -> LlmAgent:
    if where == "model":
        return LlmAgent(name="clerk", model=Slow(how=how))

    async def before(**_: Any) -> None:
        await _hang(how)

    async def slow() -> str:
        """Take long."""
        await _hang(how)
        return "late"

    if where == "callback":
        return agent_of([say("done")], before_agent_callback=before)
    return agent_of([call("slow")], tools=[slow])


def _playing(where: str, how: str) -> Simulation:
    _BEGUN.clear()
    sim = opened(_agent(where, how), tools="real")
    assert not sim.query("go", wait=0.0)
    wait_until(lambda: bool(_BEGUN), what="the agent's code", seconds=PATIENCE)
    return sim


_WHERE = pytest.mark.parametrize("where", ["callback", "model", "tool"])
_HOW = pytest.mark.parametrize("how", ["swallowed", "other error"])


@_WHERE
@_HOW
def test_stop_ends_the_turn(where: str, how: str) -> None:
    """As one that was stopped, and the session goes on."""
    with _playing(where, how) as sim:
        sim.stop()
        assert sim.session.turns[0].stopped
        sim.set_player("agent", "person")
        assert not sim.session.is_running


@_WHERE
@_HOW
def test_a_close_leaves_no_word_in_the_journal(where: str, how: str) -> None:
    """What the agent does after it was let go is no fact."""
    sim = _playing(where, how)
    before = len(sim.journal)
    sim.close()
    assert len(sim.journal) == before
    assert not [fact for _, fact in sim.journal.path() if isinstance(fact, TurnEnded)]


@_WHERE
@_HOW
def test_an_undo_takes_the_turn_back(where: str, how: str) -> None:
    """To before the query."""
    with _playing(where, how) as sim:
        sim.undo()
        assert not sim.session.turns


def test_code_that_never_ends_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stop says that it cannot end the turn, after some attempts, and does not hang itself."""
    for module in ("session_engine", "adk.task_cancellation"):
        monkeypatch.setattr(f"simulator.runtime.{module}.PATIENCE_WITH_CANCELLATION", 0.01)
    sim = _playing("callback", "never")
    with pytest.raises(SimulationError, match="ignores cancellation"):
        sim.stop()
