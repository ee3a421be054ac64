"""Says what a turn, and those who answer the requests in it, need of the session that they belong to."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any, Protocol

from simulator.facts import AgentRan, Answered, Fact, ToolAnswered
from simulator.runtime.turns.fired_rules import Firing
from simulator.runtime.turns.waiting_request import WaitingRequest
from simulator.session import Seats
from simulator.session.fold import Counts


class SessionPort(Protocol):
    """A session as its turn and its players see it: what it holds, whom it asks, and where facts and words go."""

    @property
    def seed(self) -> str:
        """Where the session's chance comes from."""
        ...

    @property
    def seats(self) -> Seats:
        """Who plays now."""
        ...

    @property
    def counts(self) -> Counts:
        """How often tools were called and rules were moved, by what is a fact."""
        ...

    def answered_calls(self) -> tuple[ToolAnswered, ...]:
        """Return the tool calls that were answered in the session so far, in order."""
        ...

    def rules_named(self, tool_name: str) -> tuple[str, ...]:
        """Return the ids of the rules in force for a tool of this name."""
        ...

    def plays_agent_tool(self, tool_name: str, released: int | None) -> bool:
        """Return whether a rule or a player is set for an agent tool, as of the answer that was released last."""
        ...

    def brought(self, tool_name: str) -> str:
        """Return the digest of the declaration of a tool that only a tool set brings; empty for the agent's own."""
        ...

    def fired_before(self, fact: AgentRan) -> Firing:
        """Return what the rules that fired for a call do to its agent's answer."""
        ...

    def offer(self, waiting: WaitingRequest[Any]) -> Awaitable[Answered | None] | None:
        """Find somebody who answers a request; return the work of one who answers it where it is asked."""
        ...

    def now(self) -> float:
        """Return the time."""
        ...

    def append(self, fact: Fact) -> int:
        """Append a fact to the journal and return its number."""
        ...

    async def durable(self) -> None:
        """Wait until what was appended is kept, where the journal outlives this process."""
        ...

    def changed(self) -> None:
        """Say that there is something new to see."""
        ...

    def noticed(self) -> None:
        """Say so where nobody can be waiting for it."""
        ...

    def problem(self, text: str) -> None:
        """Keep a word for the person."""
        ...
