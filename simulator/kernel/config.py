"""The agent of a session whose code runs in kernels only."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from simulator.agent_config import SimulatedAgentConfig

if TYPE_CHECKING:
    from simulator.kernel.pool import AgentKernels


@dataclass(frozen=True)
class KernelAgentConfig(SimulatedAgentConfig):
    """As `SimulatedAgentConfig`, for an agent that the studio itself never loads: `agent` is its likeness.

    Attributes:
        kernels: The kernels that play its sessions.
        unreachable: Why the models of some agents cannot be asked from its environment, by the agent's name.
        has_app: Its module has an `App`.
    """

    kernels: AgentKernels = field(kw_only=True, compare=False, repr=False)
    unreachable: dict[str, str] = field(default_factory=dict, kw_only=True)
    has_app: bool = field(default=False, kw_only=True)

    @property
    def runs_elsewhere(self) -> bool:
        """Whether the agent's code runs in a process of its own: it does."""
        return True
