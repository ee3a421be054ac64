"""Finds the one agent that a command names: a folder in ADK's convention, a file of configs, or a demo agent."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path

from simulator.agent_config import SimulatedAgentConfig
from simulator.agents.agent_folder import AgentFolder
from simulator.agents.agent_settings import DEMOS, AgentSettings, demo_agent
from simulator.agents.catalogue import AgentCatalogue, Elsewhere, UnknownAgentError
from simulator.agents.load_failure import AgentLoadError
from simulator.base.validation_words import near


def agent_named(words: str, elsewhere: Elsewhere | None = None) -> SimulatedAgentConfig:
    """Load an agent.

    Args:
        words: A folder of one agent or of several, or a Python file or dotted module that lists configs, each with
            `#name` where there are several; or the name of a demo agent, where nothing lies at this path.
        elsewhere: Loads agents in processes of their own; by default this process does.

    Raises:
        UnknownAgentError: There is no such place, or none or several agents there; the text says which there are.
        AgentLoadError: The agent, or the file that lists it, cannot be loaded; the text says what failed and where.
    """
    place, name = _place_and_name(words)
    path = Path(place).expanduser()
    if path.is_dir():
        return _chosen(AgentCatalogue(AgentSettings(agents_dir=path, demos=False), elsewhere), words, name)
    if _is_here(place) and not path.exists():
        return _chosen(
            AgentCatalogue(AgentSettings(agents_dir=Path.cwd(), demos=False), elsewhere), words, name
        )
    if place in DEMOS and not name and not path.exists():
        return demo_agent(place)
    if path.is_file() or _is_a_module(place):
        return _chosen(AgentCatalogue(AgentSettings(agents_file=place, demos=False), elsewhere), words, name)
    raise _not_found(words, path)


def loaded_anew(config: SimulatedAgentConfig) -> SimulatedAgentConfig | None:
    """Load an agent of a folder again in this process, so that its code keeps nothing of earlier runs; None where that is not possible."""
    place = Path(config.origin)
    if config.absent or not config.origin or not place.is_absolute():
        return None
    try:
        folder = AgentFolder(place)
        (name,) = folder.names()
        return replace(config, agent=folder.load(name, anew=True).agent)
    except (Exception, SystemExit):  # noqa: BLE001 - an agent's own code may raise anything
        return None


def require_agent(words: str) -> None:
    """Check that something lies where an agent is named, and import nothing of it.

    Raises:
        UnknownAgentError: Nothing does; the text says what is near.
    """
    place, name = _place_and_name(words)
    path = Path(place).expanduser()
    if not (path.exists() or _is_here(place) or (place in DEMOS and not name) or _is_a_module(place)):
        raise _not_found(words, path)


def _is_here(place: str) -> bool:
    """Return whether the name is that of the agent's folder in which the command runs."""
    return place == Path.cwd().name and AgentFolder(Path.cwd()).is_single_agent


def _not_found(words: str, path: Path) -> UnknownAgentError:
    names = dict.fromkeys([*DEMOS, *_agents_beside(path.parent)])
    ends = {name.rpartition("/")[2]: name for name in names}
    alike = get_close_matches(path.name, ends, n=1)
    meant = f"did you mean {ends[alike[0]]}?" if alike else near(path.name, names)
    return UnknownAgentError(
        f"agent {words!r} not found: it is not a folder, Python file, dotted module or demo agent; {meant}"
    )


def _agents_beside(folder: Path) -> list[str]:
    """Return the paths of the agents and folders that lie where an agent was looked for, and of the agents further down."""
    found, beside = AgentFolder(folder), list[str]()
    with suppress(OSError):
        beside = sorted(each.name for each in folder.iterdir() if each.is_dir() and each.name[0] not in "._")
    with suppress(AgentLoadError):
        beside = [*(() if found.is_single_agent and folder != Path() else found.names()), *beside]
    return [(folder / name).as_posix() for name in beside]


def absolute_agent(words: str) -> str:
    """Write the words for an agent, as `agent_named` takes them, so that they mean the same in any working directory."""
    place, name = _place_and_name(words)
    path = Path(place).expanduser()
    if _is_here(place) and not path.exists():
        return str(Path.cwd())
    if not path.exists():
        return words  # a demo agent, a module, or nothing that is there
    return f"{path.absolute()}#{name}" if name else str(path.absolute())


def _place_and_name(words: str) -> tuple[str, str]:
    """Part a place from the name behind its last `#`; a path may hold that sign itself."""
    place, _, name = words.rpartition("#")
    if not place or Path(words).expanduser().exists():
        return words, ""
    return place, name


def _is_a_module(place: str) -> bool:
    parts = place.split(".")
    is_a_path = place.endswith(".py") or os.sep in place
    return not is_a_path and len(parts) > 1 and all(part.isidentifier() for part in parts)


def _chosen(catalogue: AgentCatalogue, words: str, name: str) -> SimulatedAgentConfig:
    entries = catalogue.entries()
    broken = [entry for entry in entries if entry.error is not None]
    if len(entries) == 1 and broken:
        raise AgentLoadError(f"no agent can be loaded from {words}: {broken[0].error}")
    names = [entry.name for entry in entries]
    if not name and len(names) != 1:
        raise UnknownAgentError(
            f"{words} contains several agents; choose one: {', '.join(f'#{each}' for each in names)}"
        )
    return catalogue.config(name or names[0])
