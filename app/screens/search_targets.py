"""What the search finds, and how: commands, agents, sessions, cases and steps by the words in them. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Literal, TypeAlias

from simulator.base.frozen_value import Value

Kind: TypeAlias = Literal["command", "agent", "session", "case", "step"]

MOST_FOUND = 20
MOST_SECONDS = 1.0
"""So long a search looks into what is said within targets."""


class Target(Value):
    """A place or a command that can be found; its words may come from outside.

    Attributes:
        kind: What it is.
        name: Identifies it among its kind: the name of a command or an agent, the id of a session or a case, the number of a step.
        label: What it is called.
        about: What else is known of it.
        path: The eval set of a case.
        step: At which step of it words were found, as the page of it names the step; empty where they were not, or beside the steps.
        behind: How many steps of a session there are from that one on.
    """

    kind: Kind
    name: str
    label: str
    about: str = ""
    path: str = ""
    step: str = ""
    behind: int = 0


_AROUND = 24
"""So much of a text is shown before the words that were found in it."""


def around(text: str, words: Iterable[str]) -> str:
    """Return a text in one line, from just before the place where all of these words, in small letters, were said."""
    line = " ".join(text.split())
    found = (line.casefold().find(word) for word in words)
    start = max(0, max(found, default=0) - _AROUND)
    return f"\u2026{line[start:]}" if start else line


class Searchable:
    """Targets with their words in lower case, so that each search only looks.

    Args:
        targets: What can be found.
        says: Returns a target within which words are said, with where they are; None where they are not. It is asked where too little is found by labels.
        more: Gives what can be found besides, once there are words.
        clock: Says how many seconds have gone.
    """

    def __init__(
        self,
        targets: Iterable[Target],
        says: Callable[[Target, list[str]], Target | None] = lambda *_: None,
        more: Callable[[], Iterable[Target]] = tuple,
        clock: Callable[[], float] = float,
    ) -> None:
        self._says, self._more, self._clock = says, more, clock
        self._lines: list[tuple[str, str, Target]] = []
        self.is_cut = False
        """Whether the last search ended before all was looked at."""
        self._take(targets)

    def _take(self, targets: Iterable[Target]) -> None:
        self._lines += [
            (each.label.casefold(), f"{each.kind} {each.label} {each.about}".casefold(), each)
            for each in targets
        ]

    def found(self, words: str) -> list[Target]:
        """Return the targets that contain all words, at most `MOST_FOUND`; labels that begin with them first, then labels that contain them, last what says them."""
        wanted = words.casefold().split()
        if wanted:
            self._take(self._more())
            self._more = tuple
        start = " ".join(wanted)
        ranks: list[list[Target]] = [[], [], []]
        for label, said, target in self._lines:
            if all(word in said for word in wanted):
                is_in_label = all(word in label for word in wanted)
                ranks[0 if label.startswith(start) else 1 if is_in_label else 2].append(target)
        found = [target for rank in ranks for target in rank]
        ends = self._clock() + MOST_SECONDS
        self.is_cut = False
        return [*found, *islice(self._within(wanted, ends), max(0, MOST_FOUND - len(found)))][:MOST_FOUND]

    def _within(self, wanted: list[str], ends: float) -> Iterator[Target]:
        for _, said, target in self._lines:
            left = [word for word in wanted if word not in said]
            if self._clock() >= ends:
                self.is_cut = True
                return
            if left and (found := self._says(target, left)) is not None:
                yield found
