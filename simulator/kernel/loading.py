"""Loads the one agent of a kernel, as `adk web` does."""

from __future__ import annotations

from pathlib import Path

from simulator.agent_config import SimulatedAgentConfig
from simulator.agents.failure import AgentLoadError, failure_words
from simulator.agents.folder import AgentFolder


def loaded(folder: str, name: str) -> SimulatedAgentConfig:
    """Load an agent of a folder of agents, or the agent that a folder is.

    Raises:
        AgentLoadError: It cannot be loaded; the text says what failed and where.
    """
    agents = AgentFolder(Path(folder))
    try:
        return agents.load(name)
    except (Exception, SystemExit) as error:
        raise AgentLoadError(failure_words(error, agents.home)) from error
