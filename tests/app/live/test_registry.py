"""Live sessions are shared, bounded, and closed."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any
from unittest.mock import Mock

import pytest

from app.live.live_sessions import Registry, RegistryFullError, registry
from app.live.unsent_texts import UnsentTexts
from simulator.agent_config import SimulatedAgentConfig
from simulator.agents.agent_directory import AgentDirectory
from simulator.journal import Journal
from simulator.session import SimulationSession


class Simulation:
    """Counts how often it was closed; fails at it where told to."""

    def __init__(self, session_id: str, *, fails: bool = False) -> None:
        self.session = SimulationSession(session_id=session_id)
        self.closed = 0
        self.journal = Journal()
        self._fails = fails

    def close(self) -> None:
        """End it."""
        self.closed += 1
        if self._fails:
            raise RuntimeError("does not close")


CONFIG: Any = SimulatedAgentConfig.__new__(SimulatedAgentConfig)


def test_the_number_of_sessions_is_bounded_and_each_is_taken_in_once() -> None:
    """Beyond the limit the registry says what to do, and nothing of the sessions of others; closing one makes room.

    A second simulation under the same id is refused, and the first stays.
    """
    sessions = Registry(limit=2)
    simulations: list[Any] = [Simulation(name) for name in "abc"]
    for simulation in simulations[:2]:
        sessions.add(simulation, CONFIG, AgentDirectory())
    with pytest.raises(RegistryFullError, match="close one"):
        sessions.add(simulations[2], CONFIG, AgentDirectory())
    sessions.close("a")
    second: Any = Simulation("b")
    with pytest.raises(ValueError, match="'b'"):
        sessions.add(second, CONFIG, AgentDirectory())
    sessions.add(simulations[2], CONFIG, AgentDirectory())
    assert [live.simulation for live in sessions.newest_first()] == [simulations[2], simulations[1]]
    assert simulations[0].closed == 1


def test_a_session_that_comes_back_needs_room_before_it_is_made() -> None:
    """Where there is none, nothing is made; one that is live is given as it is."""
    sessions = Registry(limit=1)
    held: Any = Simulation("a")
    sessions.add(held, CONFIG, AgentDirectory())
    make = Mock()
    with pytest.raises(RegistryFullError):
        sessions.get_or_take_in("b", make)
    live = sessions.get_or_take_in("a", make)
    assert not make.called
    assert live is not None
    assert live.simulation is held


def test_the_end_closes_all_that_can_be_closed() -> None:
    """One simulation that fails to close keeps no other open, and its error is reported."""
    sessions = Registry()
    simulations: list[Any] = [Simulation("a"), Simulation("b", fails=True), Simulation("c")]
    for simulation in simulations:
        sessions.add(simulation, CONFIG, AgentDirectory())
    errors = sessions.close_all()
    assert [str(error) for error in errors] == ["does not close"]
    assert [simulation.closed for simulation in simulations] == [1, 1, 1]
    assert sessions.newest_first() == []


def test_the_registry_outlives_a_reload_of_its_code() -> None:
    """There is one registry, on a module that has no file and so is never reloaded."""
    holder = sys.modules["golden_trace_studio_live"] if registry() else ModuleType("none")
    assert registry() is registry() is holder.__dict__["registry"]
    assert getattr(holder, "__file__", None) is None


def test_the_oldest_draft_goes_first() -> None:
    """The number of drafts is bounded; a draft that was changed lately stays."""
    drafts = UnsentTexts(limit=2)
    drafts["a"] = "1"
    drafts["b"] = "2"
    drafts["a"] = "3"
    drafts["c"] = "4"
    assert dict(drafts) == {"a": "3", "c": "4"}
    assert len(drafts) == 2
