"""Loads what a kernel is asked for: an agent of a folder, as `adk web` does, one of a file of configs, or a demo agent."""

from __future__ import annotations

from pathlib import Path

from simulator.agent_config import SimulatedAgentConfig
from simulator.agents.agent_folder import AgentFolder
from simulator.agents.configs_file import ConfigsFile
from simulator.agents.demo_agents import demo_agent
from simulator.agents.load_failure import AgentLoadError, failure_words
from simulator.base.json_values import JsonObject
from simulator.kernel.own_packages import share_names


def of_folder(folder: Path, name: str) -> JsonObject:
    """Say which agent of a folder of agents is loaded; or which folder is the agent."""
    return {"folder": str(folder), "name": name}


def of_file(file: str, place: int) -> JsonObject:
    """Say which of the configs of a file is loaded, counted from 0."""
    return {"file": file, "place": place}


def of_demo(name: str) -> JsonObject:
    """Say which demo agent is loaded."""
    return {"demo": name}


def loaded(asked: JsonObject) -> SimulatedAgentConfig:
    """Load an agent.

    Raises:
        AgentLoadError: It cannot be loaded; the text says what failed and where.
    """
    match asked:
        case {"demo": str(name)}:
            return demo_agent(name)
        case {"file": str(file), "place": int(place)}:
            configs = listed(file)
            if place >= len(configs):
                raise AgentLoadError(f"{file} now lists fewer agents ({len(configs)})")
            return configs[place]
        case {"folder": str(folder), "name": str(name)}:
            agents = AgentFolder(Path(folder))
            share_names(agents.home, name)
            try:
                return agents.load(name)
            except (Exception, SystemExit) as error:
                raise AgentLoadError(failure_words(error, agents.home)) from error
        case _:
            raise AgentLoadError("no agent was named")


def listed(file: str) -> tuple[SimulatedAgentConfig, ...]:
    """Run a file, or import a module, and return the configs that it lists.

    Raises:
        AgentLoadError: It lists none; the text says what failed and where.
    """
    configs = ConfigsFile(file)
    share_names(configs.home, "" if configs.path else file)
    try:
        return configs.configs()
    except (Exception, SystemExit) as error:
        raise AgentLoadError(failure_words(error, configs.home)) from error
