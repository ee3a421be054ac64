"""Says where a process finds an agent: its folder in ADK's convention, or the words that name it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from simulator.agent_config import SimulatedAgentConfig
from simulator.agents import DEMOS, absolute_agent, agent_named
from simulator.kernel.kernel_agent import KernelAgentConfig, KernelLoader

if TYPE_CHECKING:
    from evalset.adk_runs.run_spec import AgentPlace

_AGENT_FILES = ("agent.py", "root_agent.yaml", "__init__.py")


def agent_folder(config: SimulatedAgentConfig) -> Path | None:
    """Find the folder that `adk eval` takes for an agent; None where it was made by other code."""
    candidates = (Path(config.origin) if config.origin else None, config.resolve_eval_set_path().parent)
    for folder in filter(None, candidates):
        if folder.is_absolute() and any((folder / name).is_file() for name in _AGENT_FILES):
            return folder
    return None


def python_of(config: SimulatedAgentConfig) -> Path | None:
    """Return the interpreter of an agent's project; None where that is this process's."""
    if not isinstance(config, KernelAgentConfig) or str(config.kernels.python) == sys.executable:
        return None
    return config.kernels.python


def named_place(words: str, python: Path | None = None) -> tuple[AgentPlace, SimulatedAgentConfig]:
    """Load the agent that a command names, and say where another process finds it.

    Args:
        words: As `simulator.agents.named_agent.agent_named` takes them.
        python: The interpreter of its process; None for that of its project, where that has an environment of its own.

    Raises:
        UnknownAgentError: There is no such agent.
        AgentLoadError: It cannot be loaded.
    """
    from evalset.adk_runs.run_spec import AgentPlace  # noqa: PLC0415 - it imports ADK, and a page asks for folders before that

    config = agent_named(words, KernelLoader(python))
    in_adks_way = Path(words.rpartition("#")[0] or words).expanduser().is_dir() or words in DEMOS
    folder = agent_folder(config) if in_adks_way else None
    place = AgentPlace(
        name=config.name,
        app_name=config.app_name,
        folder=folder,
        words=absolute_agent(words),
        python=python_of(config),
    )
    return place, config
