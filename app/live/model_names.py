"""Says of a model by its name whether it can be asked, and which keys are there. Nothing is sent anywhere."""

from __future__ import annotations

import os
from collections.abc import Sequence

from simulator.agent_config import SimulatedAgentConfig
from simulator.kernel.kernel_agent import KernelAgentConfig


def model_problem(name: str, config: SimulatedAgentConfig | None = None) -> str | None:
    """Return why a model cannot be asked; None where it can, as far as can be told.

    Args:
        name: The model.
        config: The agent whose process asks it; None for this process.
    """
    if isinstance(config, KernelAgentConfig):
        return config.model_problem(name.strip())
    # Importing ADK takes a second: not before a model is named.
    from simulator.runtime.models.reachability import model_problem as reason_for  # noqa: PLC0415 - as above

    return reason_for(name.strip(), os.environ)


def variables_set(names: Sequence[str], config: SimulatedAgentConfig | None = None) -> frozenset[str]:
    """Return which of some variables are set, for the agent's process or this one."""
    if isinstance(config, KernelAgentConfig):
        return config.variables_set(names)
    return frozenset(name for name in names if os.environ.get(name))
