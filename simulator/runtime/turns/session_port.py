"""Says what those who answer the agent's requests need of the session that they sit at."""

from __future__ import annotations

from typing import Protocol

from simulator.facts import Fact
from simulator.session import Seats
from simulator.session.call_counts import Counts


class SessionPort(Protocol):
    """What the answering of requests reads from the session, and writes to it."""

    @property
    def seats(self) -> Seats:
        """Who plays now."""
        ...

    @property
    def counts(self) -> Counts:
        """How often tools were called and rules were moved, by what is a fact."""
        ...

    @property
    def seed(self) -> str:
        """Where the session's chance comes from."""
        ...

    def now(self) -> float:
        """Return the time."""
        ...

    def append(self, fact: Fact) -> int:
        """Append a fact."""
        ...

    async def durable(self) -> None:
        """Wait until what was appended is kept, where it is."""
        ...

    def changed(self) -> None:
        """Say that there is something new to see."""
        ...

    def noticed(self) -> None:
        """Say so where nobody can be waiting for it."""
        ...

    def problem(self, text: str) -> None:
        """Recognise the person something."""
        ...
