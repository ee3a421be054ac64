"""Opens a session and lets the user ask: how nearly each test of the players begins; and what the agent saw."""

from __future__ import annotations

from typing import Any

from simulator.runtime import Simulation
from tests.simulator.runtime.stage import going, tool_facts

__all__ = ["answers_of", "going", "sources"]


def answers_of(sim: Simulation, tool_name: str = "") -> list[Any]:
    """Return what the agent saw of its tools, or of this one, call by call."""
    events: Any = [event for turn in sim.session.turns for event in turn.events]
    parts = [part for event in events for part in (event.get("content") or {}).get("parts") or ()]
    seen = [part["functionResponse"] for part in parts if "functionResponse" in part]
    return [each["response"] for each in seen if tool_name in {"", each["name"]}]


def sources(sim: Simulation) -> list[tuple[str, str | None]]:
    """Return who answered each call."""
    return [(fact.provenance.source, fact.provenance.by) for fact in tool_facts(sim)]
