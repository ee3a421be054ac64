"""Opens and resumes sessions, in a kernel where the agent's code runs in one, else in this process."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from simulator.agent_config import SimulatedAgentConfig
from simulator.agents import expected_input
from simulator.base.json_values import JsonObject
from simulator.facts import EarlierData
from simulator.journal import Journal
from simulator.kernel.kernel_agent import KernelAgentConfig
from simulator.session import Seats

if TYPE_CHECKING:
    from simulator.runtime.commanding import Commanding


def opened(
    config: SimulatedAgentConfig,
    *,
    seats: Seats,
    initial_state: JsonObject,
    earlier: EarlierData,
    seed: str | None,
    user_id: str,
    keep: Callable[[Journal], Journal] | None,
) -> Commanding:
    """Begin a session; arguments as for `Simulation.open`.

    Raises:
        simulator.runtime.SimulationError: The agent cannot be simulated.
    """
    how: Any = {
        "seats": seats,
        "initial_state": initial_state,
        "earlier": earlier,
        "seed": seed,
        "user_id": user_id,
    }
    if isinstance(config, KernelAgentConfig):
        from simulator.kernel.remote_simulation import RemoteSimulation  # noqa: PLC0415 - ADK's import takes a second

        return RemoteSimulation.open(config, **how, keep=keep)
    from simulator.runtime import Simulation  # noqa: PLC0415 - as above

    return Simulation.open(config, **how, keep=keep)


def check_message(config: SimulatedAgentConfig, message: str | JsonObject) -> None:
    """Hold a message to the agent's input schema, as ADK does when the turn begins.

    Raises:
        simulator.agents.expected_input.UnfitMessageError: It does not fit; the text says where.
    """
    if isinstance(config, KernelAgentConfig):
        config.check_message(message)
    else:
        expected_input.check_message(config.root_agent, message)


def resumed(journal: Journal, config: SimulatedAgentConfig, *, wait: float) -> Commanding:
    """Go on with the session of a journal, as `Simulation.resume` does.

    Raises:
        simulator.runtime.SimulationError: The session has another agent, or its kernel cannot be started.
    """
    if isinstance(config, KernelAgentConfig):
        from simulator.kernel.remote_simulation import RemoteSimulation  # noqa: PLC0415 - ADK's import takes a second

        return RemoteSimulation.resume(journal, config, wait=wait)
    from simulator.runtime import Simulation  # noqa: PLC0415 - as above

    return Simulation.resume(journal, config, wait=wait)
