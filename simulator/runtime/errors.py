"""What can go wrong when a simulation is commanded or re-executed."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from simulator.base.frozen_value import Value
from simulator.environment.world.invariants import Contradiction


class SimulationError(ValueError):
    """A command that does not fit what the session is doing; nothing was changed."""


class ContradictionError(SimulationError):
    """An answer contradicts the world, or an output schema that a person has set; it can be given all the same, by saying so."""

    def __init__(self, tool_name: str, found: Sequence[Contradiction]) -> None:
        self.tool_name, self.contradictions = tool_name, tuple(found)
        super().__init__(
            f"the response of {tool_name} contradicts what is known: "
            + "; ".join(each.what for each in found)
        )


def ends_the_work(error: BaseException) -> bool:
    """Return whether an exception ends the work that it comes through, and is not what came of it.

    Real code may raise anything: `SystemExit`, or the `CancelledError` of a task of its own. Only where the task
    itself is cancelled, or its coroutine closed, nobody is left who could take an answer.
    """
    if isinstance(error, GeneratorExit):
        return True
    task = asyncio.current_task()
    return isinstance(error, asyncio.CancelledError) and (task is None or task.cancelling() > 0)


class ReplayDivergence(Value):
    """The point where a re-execution left the recorded way.

    `fact` is the number of the recorded answer that no longer fits, `what` the parts of the request that differ.
    """

    fact: int
    key: str
    what: tuple[str, ...]
    waiting: tuple[str, ...] = ()

    def sentence(self) -> str:
        """Say it to a person."""
        if "never asked" in self.what:
            return f"step {self.fact} was recorded, but the agent no longer reaches it"
        return f"step {self.fact} no longer matches the agent's request: {', '.join(self.what)} changed"


class Diverged(Exception):  # noqa: N818 - a finding about the agent, not a fault of the program
    """The agent asks for something else than it did when the journal was written."""

    def __init__(self, fact: int, key: str, what: Sequence[str], waiting: Sequence[str] = ()) -> None:
        self.divergence = ReplayDivergence(fact=fact, key=key, what=tuple(what), waiting=tuple(waiting))
        super().__init__(self.divergence.sentence())
