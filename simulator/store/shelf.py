"""Knows which part of a journal is durable, and stores the rest."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import NamedTuple

from simulator.facts import Fact
from simulator.store.batches import Attempt, Batch, Summary, write_batch
from simulator.store.database import Database
from simulator.store.postgresql import WRITER_SECONDS
from simulator.store.tables import Place
from simulator.store.writer import Unwritten, Writer


class Content(NamedTuple):
    """A journal from one fact on, and what the library shows of it."""

    facts: list[Fact]
    parents: list[int]
    head: int
    status: str
    turns: int


class Shelf(Unwritten):
    """What the store knows of one journal.

    The journal holds `lock` while it changes, and counts its changes in `changed`; `query` is what its user asked
    first, where that is new. `content` gives what the journal holds from a fact on.

    Args:
        session_id: The journal's session.
        database: Where it is stored.
        writer: Who stores it.
        clock: Says when something was stored.
        stored: The numbers in the store of the facts that are durable.
        place: Where the session is in the store.
    """

    def __init__(
        self,
        session_id: str,
        database: Database,
        writer: Writer,
        clock: Callable[[], float],
        *,
        stored: list[int],
        place: Place,
    ) -> None:
        super().__init__()
        self.session_id, self.database, self.writer = session_id, database, writer
        self.stored, self.place, self.superseded = stored, place, False
        self.lock = threading.Lock()
        self.changed = 0
        self.query: str | None = None
        self.token: str | None = None
        """Of the lease under which the journal is appended to."""
        self.content: Callable[[int], Content]
        self._changes_stored = 0
        self._attempts: list[Attempt] = []
        self._clock = clock

    @property
    def name(self) -> str:
        """What it is, in an error."""
        return f"session {self.session_id!r}"

    def changes(self) -> int:
        """How often something was appended or the head moved."""
        return self.changed

    def changes_stored(self) -> int:
        """How many of these changes are durable."""
        return self._changes_stored

    def store(self) -> None:
        """Store what is not durable; see `Unwritten`."""
        with self.lock:
            changed, batch = self.changed, self._batch()
        if changed == self._changes_stored:
            return
        with self.database.writing(unhurried=WRITER_SECONDS) as connection:
            written = write_batch(connection, batch, self._clock())
            # Before the commit, which may be done although it fails.
            self._attempts.append(written.attempt)
        with self.lock:
            self.stored.extend(written.numbers)
            self.place, self.superseded = written.place, written.superseded
            self._changes_stored, self._attempts = changed, []
            if self.query is batch.summary.query:
                self.query = None

    def _batch(self) -> Batch:
        facts, parents, head, status, turns = self.content(len(self.stored))
        return Batch(
            session_id=self.session_id,
            facts=facts,
            parents=parents,
            stored=self.stored,
            head=head,
            follows=self.place,
            superseded=self.superseded,
            attempts=self._attempts,
            summary=Summary(status, turns, self.query),
            token=self.token,
        )
