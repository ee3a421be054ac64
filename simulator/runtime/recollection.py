"""Remembers for drafts what the tools of a session have answered, and learns only what is new since the draft before."""

from __future__ import annotations

from collections.abc import Sequence

from simulator.environment.recall import EarlierAnswer, Memory
from simulator.facts import Fact, Failed, Returned, ToolAnswered


class Recollection:
    """The answers along a journal's path, and what they add up to.

    It goes along with one journal, so that a draft costs the same in a long session; after an undo, or on another
    branch, it begins anew.
    """

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self._known = 0
        self._last: int | None = None
        self._answers: list[EarlierAnswer] = []
        self._memory = Memory(())

    def along(self, path: Sequence[tuple[int, Fact]]) -> tuple[tuple[EarlierAnswer, ...], Memory]:
        """Give the answers on a path of the journal, oldest first, and the memory of them; it is not to be changed."""
        # A fact has one parent, so where it stands at the same place all before it is the same too.
        if self._known and (len(path) < self._known or path[self._known - 1][0] != self._last):
            self._begin()
        for _, fact in path[self._known :]:
            if isinstance(fact, ToolAnswered) and isinstance(fact.outcome, (Returned, Failed)):
                self._learn(fact, fact.outcome)
        if path:
            self._known, self._last = len(path), path[-1][0]
        return tuple(self._answers), self._memory

    def _learn(self, fact: ToolAnswered, outcome: Returned | Failed) -> None:
        answer = EarlierAnswer(
            tool_name=fact.tool_name,
            arguments=fact.arguments,
            response=outcome.value if isinstance(outcome, Returned) else outcome.response(),
        )
        self._answers.append(answer)
        self._memory.take(answer)
