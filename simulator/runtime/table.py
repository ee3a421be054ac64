"""Says what those who answer the agent's requests need of the session that they sit at."""

from __future__ import annotations

from typing import Any, Protocol

from simulator.environment.rules import InjectionRule
from simulator.facts import Fact
from simulator.runtime.waiting import Waiting
from simulator.session import Seats


class Table(Protocol):
    """What the answering of requests reads from the session, and writes to it."""

    @property
    def seats(self) -> Seats:
        """Who plays now."""
        ...

    def rules_for(self, waiting: Waiting[Any]) -> tuple[InjectionRule, ...]:
        """Give the rules that were in force when a request was asked."""
        ...

    def now(self) -> float:
        """Give the time."""
        ...

    def append(self, fact: Fact) -> int:
        """Append a fact."""
        ...

    def changed(self) -> None:
        """Say that there is something new to see."""
        ...

    def noticed(self) -> None:
        """Say so where nobody can be waiting for it."""
        ...

    def problem(self, text: str) -> None:
        """Tell the person something."""
        ...
