"""Recognises an agent that was renamed since a stored session began, and lets it answer to its earlier name there."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import Any

from simulator.agent_config import AgentConfigError, SimulatedAgentConfig
from simulator.agents.agent_fingerprint import agent_fingerprint, fingerprint_parts, loaded_fingerprint
from simulator.environment.declared_tools import STEERING


def fitting_configs(
    before: str, app_name: str, called: Collection[str], configs: Iterable[SimulatedAgentConfig]
) -> tuple[SimulatedAgentConfig, ...]:
    """Return the agents that declare every tool as the agent of a session did.

    Args:
        before: The fingerprint of the agent when the session began; where it is empty, the names of the called tools decide.
        app_name: The name that its app had.
        called: The names of the tools that were called. Without a tool no agent fits: nothing speaks for one.
        configs: The agents that are loaded.
    """
    wanted: dict[str, str | None] = _tools(before)
    wanted = wanted or dict.fromkeys(name for name in called if name not in STEERING)
    if not wanted:
        return ()
    return tuple(config for config in configs if _declares(config, app_name, wanted))


def under_earlier_name(
    config: SimulatedAgentConfig, name: str, app_name: str, before: str = "", spoke: Collection[str] = ()
) -> SimulatedAgentConfig:
    """Return a renamed agent under the names that a session's journal has for it, so that all that is recorded fits.

    The agent itself is a copy; other sessions have it under its new name.

    Args:
        config: The agent under its new name.
        name: The name of the agent in the journal.
        app_name: The name of its app in the journal.
        before: The fingerprint of the agent when the session began, which names it and those below it.
        spoke: The names of the agents that made a turn in the session; they count where there is no fingerprint.

    Raises:
        AgentConfigError: Several agents in it were renamed, and which name was the root's is not known.
    """
    now = _agents(loaded_fingerprint(config.root_agent))
    then = _agents(before) or frozenset(spoke)
    gone = then - now
    root: str = config.root_agent.name
    if gone and root not in then:
        root = _earlier_name(gone, (name, app_name))
    return called(config, name, app_name, root)


def called(config: SimulatedAgentConfig, name: str, app_name: str, root: str) -> SimulatedAgentConfig:
    """Return an agent under other names; the agent itself is a copy where its own name is another one."""
    agent, own = config.agent, config.root_agent
    if own.name != root:
        renamed = _named(own, root)
        agent = renamed if agent is own else agent.model_copy(update={"root_agent": renamed})
    return replace(config, name=name, app_name=app_name, agent=agent)


def _earlier_name(gone: Collection[str], likely: Iterable[str]) -> str:
    if len(gone) == 1:
        return next(iter(gone))
    found = next((name for name in likely if name in gone), None)
    if found is None:
        raise AgentConfigError(
            f"several agents were renamed ({', '.join(sorted(gone))}), so the root agent cannot be identified"
        )
    return found


def _named(root: Any, name: str) -> Any:
    # A workflow has no `clone`, and no parents to be kept apart.
    return (getattr(root, "clone", None) or root.model_copy)(update={"name": name})


def _declares(config: SimulatedAgentConfig, app_name: str, wanted: dict[str, str | None]) -> bool:
    tools = _tools(agent_fingerprint(config.root_agent, (config.app_name, app_name)))
    return all(name in tools and digest in {None, tools[name]} for name, digest in wanted.items())


def _tools(fingerprint: str) -> dict[str, str | None]:
    """Return the digest of each tool's arguments by the tool's name."""
    return {
        name: said.get("arguments", "")
        for kind, name, said in fingerprint_parts(fingerprint)
        if kind == "tool"
    }


def _agents(fingerprint: str) -> frozenset[str]:
    return frozenset(name for kind, name, _ in fingerprint_parts(fingerprint) if kind == "agent")
