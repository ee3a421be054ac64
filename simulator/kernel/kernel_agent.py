"""The agent of a session whose code runs in kernels only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from simulator.agent_config import SimulatedAgentConfig
from simulator.agents.agent_fingerprint import remember_fingerprint
from simulator.agents.expected_input import StateNeeds, UnfitMessageError
from simulator.base.json_values import JsonObject
from simulator.kernel.agent_kernels import AgentKernels
from simulator.kernel.kernel import KernelError, RefusedError

_CHECK_SECONDS = 5.0


@dataclass(frozen=True)
class KernelAgentConfig(SimulatedAgentConfig):
    """As `SimulatedAgentConfig`, for an agent that the studio itself never loads: `agent` is its likeness.

    Attributes:
        kernels: The kernels that play its sessions.
        unreachable: Why the models of some agents cannot be asked from its environment, by the agent's name.
        has_app: Its module has an `App`.
        rewrites: Whether a callback of its may change what a tool answered.
        own_code: The nodes whose own code may run tools, or make agents, that are only known when it runs.
        source: Its folder or file; empty where nobody can tell.
        outline: The outline that all this was taken from.
    """

    kernels: AgentKernels = field(kw_only=True, compare=False, repr=False)
    unreachable: dict[str, str] = field(default_factory=dict, kw_only=True)
    has_app: bool = field(default=False, kw_only=True)
    rewrites: bool = field(default=False, kw_only=True)
    own_code: tuple[str, ...] = field(default=(), kw_only=True)
    source: str = field(default="", kw_only=True)
    outline: JsonObject = field(default_factory=dict, kw_only=True, compare=False, repr=False)

    @classmethod
    def of_outline(cls, outline: JsonObject, kernels: AgentKernels) -> KernelAgentConfig:
        """Return an agent that kernels play, by the outline that one of them has drawn."""
        from simulator.kernel.agent_outline import AgentOutline, likeness  # noqa: PLC0415 - importing ADK takes a second

        drawn = AgentOutline.model_validate(outline)
        agent = likeness(drawn)
        remember_fingerprint(agent, drawn.fingerprint)
        return cls(
            name=drawn.name,
            agent=agent,
            eval_set_path=drawn.eval_set_path,
            app_name=drawn.app_name,
            origin=drawn.origin,
            kernels=kernels,
            unreachable=drawn.unreachable,
            has_app=drawn.has_app,
            rewrites=drawn.rewrites,
            own_code=drawn.own_code,
            source=drawn.source,
            placeholders=drawn.placeholders,
            outline=outline,
        )

    @property
    def runs_elsewhere(self) -> bool:
        """Whether the agent's code runs in a process of its own: it does."""
        return True

    @property
    def has_new_code(self) -> bool | None:
        """Whether its files are others than those that its kernel loaded last."""
        return self.kernels.has_new_code

    def as_loaded(self) -> SimulatedAgentConfig:
        """Return it as its kernel has loaded it last; the same one where the agent's outline is the same."""
        last = self.kernels.last_outline
        if last is None or last is self.outline or last == self.outline or not self.outline:
            return self
        return replace(KernelAgentConfig.of_outline(last, self.kernels), name=self.name)

    def model_problem(self, name: str) -> str | None:
        """Return why a model cannot be asked from the agent's process, which asks it; None where it can."""
        try:
            problem: str | None = self._told("problem_here", {"name": name})
        except (KernelError, RefusedError) as error:
            return f"the model {name} could not be checked: {error}"
        return problem

    def variables_set(self, names: Sequence[str]) -> frozenset[str]:
        """Return which of some variables the environment of the agent's process has; all where it does not tell."""
        try:
            return frozenset(self._told("set_here", {"names": [*names]}))
        except (KernelError, RefusedError):
            return frozenset(names)

    def _told(self, function: str, arguments: JsonObject) -> Any:
        asked: JsonObject = {"function": function, "arguments": arguments}
        return self.kernels.kernel().ask("run", asked, patience=_CHECK_SECONDS)

    def check_message(self, message: str | JsonObject) -> None:
        """Hold a message to the agent's input schema, by the agent's own code.

        Raises:
            UnfitMessageError: It does not fit.
        """
        try:
            self._told("check_here", {"message": message})
        except RefusedError as error:
            raise UnfitMessageError(str(error)) from error
        except KernelError:  # who goes on hears of it, and the turn checks again
            return


def needs_of(config: SimulatedAgentConfig) -> StateNeeds:
    """Return what the instructions of a loaded agent need of the state."""
    if isinstance(config, KernelAgentConfig):
        return StateNeeds.model_validate(config.outline.get("needs", {}))
    # Importing ADK takes a second: not before an agent is there, which has imported it.
    from simulator.kernel.agent_outline import own_code_of  # noqa: PLC0415 - as above
    from simulator.runtime.knowledge.instruction_state import state_needs  # noqa: PLC0415 - as above

    return state_needs(config.agent, bool(own_code_of(config)))
