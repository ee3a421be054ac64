"""Says what those who answer the agent's requests need of the session that they sit at."""

from __future__ import annotations

from typing import Protocol

from simulator.facts import Fact
from simulator.session import Seats


class Table(Protocol):
    """What the answering of requests reads from the session, and writes to it."""

    @property
    def seats(self) -> Seats:
        """Who plays now."""
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
