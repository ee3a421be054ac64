"""Keeps the facts of a session: an append-only tree with a head. Everything else is derived from it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, Literal

from pydantic import Field, TypeAdapter, ValidationError

from simulator.base.documents import LIMITS
from simulator.base.frozen_value import Value
from simulator.base.json_text import JsonTextError, read_json
from simulator.base.json_values import JsonObject
from simulator.base.validation_words import InputError, flaws, validated
from simulator.facts import Fact
from simulator.session import SessionFold, SimulationSession

ROOT = -1
"""The head of a journal that holds no fact."""

FORMAT = "golden-trace-studio/journal"
VERSION = 1


class JournalError(InputError):
    """A journal was asked for a fact that it does not hold, or read from something that is no journal."""


UNFIT = (ValueError, TypeError, KeyError, AttributeError, IndexError, ArithmeticError)
"""What reading an event of ADK's raises that is none."""


class _Node(Value):
    parent: int = Field(ge=ROOT)
    fact: Fact


class _Document(Value):
    format: Literal["golden-trace-studio/journal"]
    version: Literal[1]
    head: int
    nodes: tuple[_Node, ...]


_FACT: TypeAdapter[Fact] = TypeAdapter(Fact)


class Folds:
    """Folds the facts of a whole tree in the order of their numbers, each once.

    A fold goes on along one branch and is forked where another begins, so that many branches cost no more than
    their own facts. `parents` are the parents of all facts that will come, `head` the one whose fold is wanted last.
    """

    def __init__(self, parents: Iterable[int], head: int) -> None:
        self._uses = Counter(parents)
        self._uses[head] += 1
        self.folds = {ROOT: SessionFold()}

    def take(self, number: int, fact: Fact, parent: int) -> None:
        """Take in a fact behind its parent, which was taken in before.

        Raises:
            IllegalFactError: The fact cannot follow.
        """
        fold = self.give(parent)
        fold.take(number, fact)
        if self._uses[number]:
            self.folds[number] = fold

    def give(self, number: int) -> SessionFold:
        """Return the fold of what leads to a fact; it is the caller's own."""
        self._uses[number] -= 1
        return self.folds[number].forked() if self._uses[number] > 0 else self.folds.pop(number)


class Journal:
    """Facts, each with the number of the fact before it, and a head.

    The path from the root to the head is the session. Moving the head back and appending there makes a branch;
    no fact is ever changed or removed. Numbers count from 0 in the order of appending.

    Attributes:
        head: The number of the last fact of the path, or -1.
        fold: What the facts up to the head add up to.
    """

    head: int
    fold: SessionFold

    def __init__(self, facts: Iterable[Fact] = ()) -> None:
        self._facts: list[Fact] = []
        self._parents: list[int] = []
        self.head = ROOT
        self.fold = SessionFold()
        for fact in facts:
            self.append(fact)

    def __len__(self) -> int:
        return len(self._parents)

    def append(self, fact: Fact) -> int:
        """Append a fact at the head, move the head to it and return its number.

        Raises:
            IllegalFactError: The fact cannot follow; the journal is as it was.
        """
        number = len(self._facts)
        self.fold.take(number, fact)
        # In this order, as another thread may be reading.
        self._facts.append(fact)
        self._parents.append(self.head)
        self.head = number
        return number

    def fact(self, number: int) -> Fact:
        """Return one fact by its number.

        Raises:
            JournalError: There is none with this number.
        """
        if not 0 <= number < len(self._facts):
            raise JournalError(f"the journal has no fact {number}; its length is {len(self._facts)}")
        return self._facts[number]

    def parent(self, number: int) -> int:
        """Return the number of the fact before one, or -1 where it begins.

        Raises:
            JournalError: There is none with this number.
        """
        self.fact(number)
        return self._parents[number]

    def newest_below(self, number: int, *, besides: int | None = None) -> int:
        """Return the newest of the facts that follow this one, itself where none does; `besides` begins a branch that is left out."""
        below, newest = {number}, number
        for later in range(number + 1, len(self._parents)):
            if self._parents[later] in below and later != besides:
                below.add(later)
                newest = later
        return newest

    def tips(self) -> list[int]:
        """Return the last fact of each branch, the oldest first."""
        followed = set(self._parents)
        return [number for number in range(len(self._parents)) if number not in followed]

    def path(self, head: int | None = None) -> list[tuple[int, Fact]]:
        """Return the facts from the first to `head` (the journal's own by default), with their numbers.

        Raises:
            JournalError: `head` is no fact of this journal.
        """
        return list(self.backwards(head))[::-1]

    def backwards(self, head: int | None = None) -> Iterator[tuple[int, Fact]]:
        """Yield the facts of `path` one by one, the newest first.

        Raises:
            JournalError: As `path`.
        """
        number = self.head if head is None else head
        while number != ROOT:
            yield number, self.fact(number)
            number = self._parents[number]

    def move_head(self, number: int) -> None:
        """Go back (or to another branch): what follows is appended after fact `number`, or -1 for the start.

        Raises:
            JournalError: There is no such fact.
        """
        path = self.path(number)
        fold = SessionFold()
        for place, fact in path:
            fold.take(place, fact)
        self.fold, self.head = fold, number

    @property
    def outlives(self) -> bool:
        """Whether it outlives the process; this one does not."""
        return False

    @property
    def trouble(self) -> str | None:
        """Why something that should outlive the process does not yet, in words; None where there is no such trouble."""
        return None

    @property
    def superseded(self) -> bool:
        """Whether somebody else went on with the session, so that what is appended here is a branch."""
        return False

    @property
    def first_unstored(self) -> int | None:
        """The number of the first fact that should outlive the process and does not yet; None where there is none."""
        return None

    def keep(self, timeout: float = 30.0) -> None:
        """Wait until all that was appended is durable, for so many seconds at most; here nothing outlives the process."""

    def release(self) -> None:
        """Let others play the session, where it was claimed for this journal; here nobody else can."""

    def session(self, live_events: Iterable[JsonObject] = ()) -> SimulationSession:
        """Return the session that the path adds up to; `live_events` as in `SessionFold.session`."""
        return self.fold.session(live_events)

    def branched(self, number: int) -> Journal:
        """Return a journal of its own with the facts up to `number`."""
        return Journal(fact for _, fact in self.path(number))

    def to_json(self) -> str:
        """Write the journal: format, version, head, and each fact with its parent.

        Safe in any thread: while an agent runs, what it appends in the meantime is left out.
        """
        head, parents = self.head, tuple(self._parents)
        nodes = [
            {"parent": parent, "fact": _FACT.dump_python(fact, mode="json")}
            for parent, fact in zip(parents, self._facts, strict=False)
        ]
        return json.dumps(
            {"format": FORMAT, "version": VERSION, "head": head, "nodes": nodes}, ensure_ascii=False
        )

    @classmethod
    def from_json(cls, text: str) -> Journal:
        """Read what `to_json` wrote. Each branch is checked, fact by fact.

        Raises:
            JournalError: The text is no journal of this version, or its facts cannot follow each other.
        """
        document = _read(text)
        facts, parents = [node.fact for node in document.nodes], [node.parent for node in document.nodes]
        folds = Folds(parents, document.head)
        for number, (fact, parent) in enumerate(zip(facts, parents, strict=True)):
            if parent >= number:
                raise JournalError(f"fact {number} follows fact {parent}, which comes later")
            try:
                folds.take(number, fact, parent)
            except UNFIT as error:
                raise JournalError(f"fact {number}: {_words(error)}") from error
        if not ROOT <= document.head < len(facts):
            raise JournalError(f"the journal has no fact {document.head}; its length is {len(facts)}")
        fold = folds.give(document.head)
        try:
            fold.forked().session()  # what ADK wrote is in facts as it is, and is looked at only here
        except UNFIT as error:
            raise JournalError(f"the history of the session cannot be read: {_words(error)}") from error
        journal = cls()
        journal._hold(facts, parents, document.head, fold)
        return journal

    def _hold(self, facts: list[Fact], parents: list[int], head: int, fold: SessionFold) -> None:
        # In this order, as another thread may be reading.
        self.fold, self._facts, self._parents, self.head = fold, facts, parents, head


def _words(error: Exception) -> str:
    return str(error) if isinstance(error, ValueError) else f"an event is none of ADK's: {error}"


def _read(text: str) -> _Document:
    try:
        data: Any = read_json(text, most=LIMITS["session"])
    except JsonTextError as error:
        raise JournalError(f"not JSON: {error}") from error
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise JournalError(f"not a journal: its format is not {FORMAT!r}")
    if data.get("version") != VERSION:
        raise JournalError(
            f"journal version {data.get('version')!r:.40} is not supported; this studio reads version {VERSION}"
        )
    try:
        return validated(_Document, data)
    except ValidationError as error:
        raise JournalError("\n".join(f"not a journal: {each}" for each in flaws(error))) from error
