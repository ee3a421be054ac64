"""Says whether an agent's files have changed since its process loaded them, and lets a session go on with them."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from app.live.live_sessions import LiveSession
from simulator.agents.agent_directory import directory_of
from simulator.kernel.agent_kernels import AgentKernels
from simulator.kernel.kernel_agent import KernelAgentConfig
from simulator.session.history import HistoryEntry, ToolCall

if TYPE_CHECKING:
    from evalset.recorded.known_agents import KnownAgent

LOOKS_EVERY = 2.0
"""How long a look at an agent's files counts, in seconds: pages ask at each run, and a project may have thousands."""

_looked: WeakKeyDictionary[AgentKernels, tuple[float, bool]] = WeakKeyDictionary()


def has_new_code(live: LiveSession) -> bool:
    """Return whether the agent's files are others than those that its process has loaded; cheap."""
    config = live.config
    if live.read_only or live.at_rest or not isinstance(config, KernelAgentConfig):
        return False
    now = time.monotonic()
    when, found = _looked.get(config.kernels, (now - LOOKS_EVERY, False))
    if now - when >= LOOKS_EVERY:
        when, found = now, config.kernels.has_new_code
        _looked[config.kernels] = when, found
    return found


def know_new_code(live: LiveSession) -> None:
    """Show the agent of a session as its process has loaded it last: its tools, its agents, its models."""
    config, simulation = live.config.as_loaded(), live.simulation
    if config is live.config:
        return
    from evalset.recorded.known_agents import known_agent  # noqa: PLC0415 - imports ADK, which the first page does without
    from simulator.kernel.remote_simulation import RemoteSimulation  # noqa: PLC0415 - as above

    live.agents_before.append((len(simulation.journal), known_agent(live.config)))
    live.agent_now = known_agent(config)
    live.config, live.directory = config, directory_of(config.root_agent)
    if isinstance(simulation, RemoteSimulation) and isinstance(config, KernelAgentConfig):
        simulation.config = config


def misfit_calls(live: LiveSession, history: Iterable[HistoryEntry]) -> tuple[str, ...]:
    """Say which calls of a history do not fit the tools of the agent as its process has loaded it since, and why."""
    if live.agent_now is None:
        return ()
    calls = (entry for entry in history if isinstance(entry, ToolCall))
    return tuple(
        f"turn {call.turn + 1}: {words}" for call in calls if (words := _misfit(live, live.agent_now, call))
    )


def _misfit(live: LiveSession, now: KnownAgent, call: ToolCall) -> str:
    from evalset.recorded.known_agents import misfit  # noqa: PLC0415 - imports ADK, which the first page does without

    then = next((agent for facts, agent in live.agents_before if call.fact < facts), None)
    declared = then.digest(call.tool_name) if then is not None else None
    tool = now.tools.get(call.tool_name)
    if declared is None or (tool is None and (now.brings_more or now.can_call(call.tool_name))):
        return ""  # it was made since, or nobody knows how it was declared, or whether it is
    return misfit(call.tool_name, call.arguments, declared, tool)


def take_new_code(live: LiveSession) -> None:
    """Start the agent's process anew, and bring the session back there: where it diverges, its view says so.

    Raises:
        simulator.kernel.kernel.KernelError: The agent cannot be loaded any more; the text says why.
    """
    config = live.config
    if not isinstance(config, KernelAgentConfig):
        return
    _looked.pop(config.kernels, None)
    config.kernels.restart()
    live.simulation.model_view()  # a session that only waits would come back at its next step: not before it was answered
