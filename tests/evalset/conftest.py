"""Gives the tests what runs commands, and the agent that does as it is told, with a set that is recorded of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from simulator import SimulatedAgentConfig
from tests.evalset.ending import ends, here
from tests.evalset.replay.desk_agent import config, write_desk
from tests.evalset.verify.desks import TWO_TURNS, recorded_set

__all__ = ["ends", "here"]


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> SimulatedAgentConfig:
    """The agent, as a person plays it; its tools must not run."""
    folder = tmp_path_factory.mktemp("played")
    write_desk(folder)
    return config(folder)


@pytest.fixture(scope="session")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An eval set with one case of two turns, which no test changes."""
    return recorded_set(tmp_path_factory.mktemp("kept"), {"two": TWO_TURNS})
