"""Says whether an agent's files have changed since its process loaded them, and lets a session go on with them."""

from __future__ import annotations

import time
from weakref import WeakKeyDictionary

from app.live.live_sessions import LiveSession
from simulator.agents.agent_directory import directory_of
from simulator.kernel.agent_kernels import AgentKernels
from simulator.kernel.kernel_agent import KernelAgentConfig

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
    from simulator.kernel.remote_simulation import RemoteSimulation  # noqa: PLC0415 - imports ADK, which the first page does without

    config, simulation = live.config.as_loaded(), live.simulation
    if config is live.config:
        return
    live.config, live.directory = config, directory_of(config.root_agent)
    if isinstance(simulation, RemoteSimulation) and isinstance(config, KernelAgentConfig):
        simulation.config = config


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
