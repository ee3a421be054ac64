"""Says which agent an eval set belongs to, and where a process finds it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from evalset.adk_runs.eval_results import HISTORY
from evalset.adk_runs.process_agents import agent_folder, python_of
from evalset.adk_runs.run_spec import AgentPlace
from simulator.agent_config import SimulatedAgentConfig
from simulator.agents import AgentEntry, AgentSettings

_OTHER = (2, 0)
"""How little an agent fits that has nothing to do with a set."""


def fitting_agents(
    entries: Sequence[AgentEntry], eval_set: Path, app_names: Sequence[str]
) -> tuple[tuple[str, ...], bool]:
    """Order the names of the agents: first those in whose folder the set lies, the nearest before others, then those that its cases name, then the others.

    Returns:
        The names, and whether the first one is the set's own agent and not just the first of all.
    """
    ranks = {entry.name: _rank(entry, eval_set, app_names) for entry in entries}
    names = tuple(sorted(ranks, key=lambda name: ranks[name]))
    return names, bool(names) and ranks[names[0]] < _OTHER


def _rank(entry: AgentEntry, eval_set: Path, app_names: Sequence[str]) -> tuple[int, int]:
    config = entry.config
    home = config.resolve_eval_set_path().parent if config is not None else Path(entry.location)
    if home in eval_set.parents:
        return 0, -len(home.parts)
    is_named = entry.name in app_names or (config is not None and config.app_name in app_names)
    return (1, 0) if is_named else _OTHER


def place_of(entry: AgentEntry, config: SimulatedAgentConfig, settings: AgentSettings) -> AgentPlace:
    """Say where a process finds an agent."""
    return AgentPlace(
        name=entry.name,
        app_name=config.app_name,
        folder=agent_folder(config),
        agents_dir=settings.agents_dir.absolute() if settings.agents_dir else None,
        agents_file=settings.agents_file,
        demos=settings.demos,
        python=python_of(config),
    )


def history_of(config: SimulatedAgentConfig) -> Path:
    """Return the folder in which ADK keeps the results of an agent."""
    return config.resolve_eval_set_path().parent / HISTORY
