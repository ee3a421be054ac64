"""Says what the page needs of a simulation, so that a test can put a small one of its own in its place."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal, Protocol

from simulator.base.json_values import JsonObject
from simulator.environment.injection.rules import InjectionRule
from simulator.facts import AgentPlayer, Outcome, ToolPlayer, UserPlayer

if TYPE_CHECKING:
    from simulator.journal import Journal
    from simulator.runtime import SimulationView
    from simulator.runtime.simulated_environment import SimulatedEnvironment
    from simulator.seats.answers import Answer
    from simulator.seats.requests import ModelRequest, Request
    from simulator.session import SimulationSession


class LiveSimulation(Protocol):
    """The commands and views of `simulator.runtime.Simulation` that the page uses; `wait` is in seconds."""

    @property
    def session(self) -> SimulationSession:
        """The session as it stands."""
        ...

    @property
    def journal(self) -> Journal:
        """The session's journal; to be read, not to be appended to."""
        ...

    @property
    def version(self) -> int:
        """A number that grows with every change; cheap to read."""
        ...

    @property
    def environment(self) -> SimulatedEnvironment:
        """What the environment knows, and how it is shaped."""
        ...

    def view(self) -> SimulationView:
        """Return one consistent snapshot."""
        ...

    def model_view(self) -> ModelRequest | None:
        """Return what the model was last shown."""
        ...

    def query(
        self,
        message: str | JsonObject,
        *,
        state_delta: JsonObject | None = None,
        by: str = "",
        wait: float | None = None,
    ) -> bool:
        """Say something as the user; `by` names who says it, where that is no person."""
        ...

    def answer(self, request: Request | str, answer: Answer | Any, *, wait: float | None = None) -> bool:
        """Answer a pending request, given itself or its key."""
        ...

    def run_real(self, request: Request | str, *, wait: float | None = None) -> bool:
        """Let the real tool, the real code or the agent's own model answer this one request."""
        ...

    def inject(
        self,
        request: Request | str,
        rule: InjectionRule,
        outcome: Outcome | None = None,
        *,
        wait: float | None = None,
    ) -> bool:
        """Let one fault answer this one tool call, or change its outcome."""
        ...

    def confirm(
        self, call_id: str, confirmed: bool, payload: Any = None, *, wait: float | None = None
    ) -> bool:
        """Answer ADK's question whether a tool may run."""
        ...

    def reply(self, call_id: str, response: Any, *, wait: float | None = None) -> bool:
        """Answer another open call."""
        ...

    def set_player(
        self,
        seat: Literal["agent", "tool"],
        player: AgentPlayer | ToolPlayer,
        target: str = "*",
        *,
        wait: float | None = None,
    ) -> bool:
        """Let somebody else sit down."""
        ...

    def set_user(
        self,
        player: UserPlayer,
        *,
        script: Iterable[str | JsonObject] = (),
        scenario: JsonObject | None = None,
        config: JsonObject | None = None,
        hold: bool = True,
        wait: float | None = None,
    ) -> bool:
        """Let somebody else speak for the user."""
        ...

    def accept(self, message: str | JsonObject | None = None, *, wait: float | None = None) -> bool:
        """Say the user's message that is held, or what a person has made of it."""
        ...

    def complete(self, over: bool = True, *, wait: float | None = None) -> bool:
        """Say that the conversation is over, or that it goes on after all."""
        ...

    def set_rules(self, rules: Iterable[InjectionRule]) -> None:
        """Replace the injection rules."""
        ...

    def switch_rule(self, rule_id: str, enabled: bool) -> None:
        """Switch one rule on or off."""
        ...

    def stop(self) -> None:
        """Stop the turn that is running."""
        ...

    def undo(self, *, wait: float | None = None) -> bool:
        """Take back the last step that a person took; wait at most so many seconds for what follows."""
        ...

    def redo(self, *, wait: float | None = None) -> bool:
        """Bring back the step that was taken back last."""
        ...

    def move_head(self, fact: int, *, wait: float | None = None) -> bool:
        """Go to a fact of the journal, on this branch or another one."""
        ...

    def go_on(self, *, wait: float | None = None) -> bool:
        """Let those who sit there answer what a person came back to."""
        ...

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for the next pause; False if `timeout` seconds were not enough."""
        ...

    def close(self) -> None:
        """End everything that runs for it."""
        ...
