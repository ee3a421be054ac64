"""The order desk's tools that the tests of the players share, and how they ask and look."""

from __future__ import annotations

from typing import Any

import pytest

from simulator.runtime import Simulation
from simulator.runtime.answering.pipeline import Pipeline
from tests.simulator.runtime.answering.going import answers_of
from tests.simulator.runtime.stage import PATIENCE, call


def find(order_id: str) -> dict[str, str]:
    """Find an order."""
    return {"order_id": order_id, "status": "really open"}


def other(order_id: str) -> dict[str, str]:
    """Do something else with an order."""
    return {"order_id": order_id, "other": "really done"}


def breaks() -> dict[str, str]:
    """Break."""
    raise ConnectionError("the line is dead")


FIND = [call("find", order_id="A-1")]


def waits_noted(monkeypatch: pytest.MonkeyPatch) -> list[float | None]:
    """Take down the seconds that rules let pass, and do not wait."""
    waited: list[float | None] = []

    async def noted(_self: Pipeline[Any], _call: Any, seconds: float | None) -> None:
        waited.append(seconds)

    monkeypatch.setattr(Pipeline, "wait", noted)
    return waited


def asked(sim: Simulation, query: str = "go") -> Any:
    """Let the user ask; return the one request that waits."""
    assert sim.query(query, wait=PATIENCE)
    return waits(sim)


def waits(sim: Simulation) -> Any:
    """Return the one request that waits."""
    (request,) = sim.pending
    return request


def response_of(sim: Simulation) -> Any:
    """Return what the agent saw as its last tool's answer, in the turns that have ended."""
    return answers_of(sim)[-1]
