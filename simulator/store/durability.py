"""Knows which part of a journal is durable, and stores the rest."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy import Connection, insert, select, update

from simulator.facts import Fact
from simulator.journal import ROOT
from simulator.store.background_writer import Unwritten, Writer
from simulator.store.database import Database
from simulator.store.database_tables import FACTS, LEASES, SESSIONS, Place
from simulator.store.errors import UnknownSessionError
from simulator.store.fact_rows import row_of
from simulator.store.postgresql import WRITER_SECONDS
from simulator.store.session_records import plain, words


class JournalTail(NamedTuple):
    """The tail of a journal, from one fact on, and what the library shows of the session."""

    facts: list[Fact]
    parents: list[int]
    head: int
    status: str
    turns: int


class DurablePart(Unwritten):
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
        self.content: Callable[[int], JournalTail]
        self._changes_stored = 0
        self._attempts: list[CommitAttempt] = []
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


# Writes what one journal has appended: optimistic on the head, and nothing twice.


@dataclass(frozen=True)
class CommitAttempt:
    """A transaction that failed, by what it would have left: the numbers of the first facts of the batch, the head, and whose it is.

    Where the database was lost in the middle of a commit, nobody knows whether it was done.
    """

    numbers: tuple[int, ...]
    head: int
    superseded: bool


@dataclass(frozen=True)
class Summary:
    """What the library shows of a session as it is at its head. `query` is None where it is as it was."""

    status: str
    turns: int
    query: str | None


@dataclass(frozen=True)
class Batch:
    """What a journal holds and the store does not yet.

    Attributes:
        session_id: Whose it is.
        facts: Those that are not stored, in their order.
        parents: Their parents, as the journal numbers them.
        stored: The numbers in the store of the facts before them.
        head: The journal's head, as the journal numbers it.
        follows: Where the session was in the store when this journal last read or wrote it.
        superseded: Somebody else went on with the session; the head is theirs.
        attempts: What may have been done already, the oldest first.
        summary: For the library.
        token: Of the lease under which it was appended; None where there is none.
    """

    session_id: str
    facts: Sequence[Fact]
    parents: Sequence[int]
    stored: Sequence[int]
    head: int
    follows: Place
    superseded: bool
    attempts: Sequence[CommitAttempt]
    summary: Summary
    token: str | None = None


@dataclass(frozen=True)
class CommitResult:
    """The result of storing a batch: the numbers of its facts in the store, where the session is now, and whose head it is."""

    numbers: tuple[int, ...]
    place: Place
    superseded: bool

    @property
    def attempt(self) -> CommitAttempt:
        """What is to be looked for, should it not be known whether this was done."""
        return CommitAttempt(self.numbers, self.place.head, self.superseded)


def write_batch(connection: Connection, batch: Batch, now: float) -> CommitResult:
    """Store a batch behind what the store holds by now.

    Where the head is another one than the journal knows, or somebody else plays the session by now, its facts become a
    branch and the head stays.

    Raises:
        UnknownSessionError: The session was deleted for good.
    """
    row = _locked(connection, batch.session_id)
    place = Place(row.head, row.length)
    done = _done(connection, batch, place) if place != batch.follows else None
    first = len(done.numbers) if done else 0
    fresh = range(place.length, place.length + len(batch.facts) - first)
    numbers = (*(done.numbers if done else ()), *fresh)
    stored = [*batch.stored, *numbers]
    rows = [
        row_of(batch.session_id, number, stored[parent] if parent != ROOT else ROOT, fact)
        for number, parent, fact in zip(fresh, batch.parents[first:], batch.facts[first:], strict=True)
    ]
    if rows:
        connection.execute(insert(FACTS), rows)
    known_head = done.head if done else batch.follows.head
    superseded = batch.superseded or place.head != known_head or (done is not None and done.superseded)
    superseded = superseded or _is_taken_over(connection, batch)
    wanted = stored[batch.head] if batch.head != ROOT else ROOT
    after = Place(place.head if superseded else wanted, place.length + len(rows))
    written = CommitResult(numbers, after, superseded)
    if after != place or not superseded:
        _note(connection, batch, row.changed_at, written, now)
    return written


def _locked(connection: Connection, session_id: str) -> Any:
    # The row's lock makes those who write to one session take turns; SQLite has one writer at a time anyway.
    columns = SESSIONS.c.head, SESSIONS.c.length, SESSIONS.c.changed_at
    query = select(*columns).where(SESSIONS.c.session_id == session_id).with_for_update()
    row = connection.execute(query).first()
    if row is None:
        raise UnknownSessionError(
            f"session {session_id!r} was deleted permanently; later steps are not saved"
        )
    return row


def _is_taken_over(connection: Connection, batch: Batch) -> bool:
    # A statement of its own behind the lock: what was claimed while this one waited for it is to be seen.
    if batch.token is None:
        return False
    query = select(LEASES.c.token).where(LEASES.c.session_id == batch.session_id)
    return connection.scalar(query) not in {None, batch.token}


def _done(connection: Connection, batch: Batch, place: Place) -> CommitAttempt | None:
    """Find the attempt that was done after all."""
    for attempt in reversed(batch.attempts):
        if not attempt.numbers:
            if attempt.head == place.head:
                return attempt
            continue
        stored = [*batch.stored, *attempt.numbers]
        wanted = [
            row_of(batch.session_id, number, stored[parent] if parent != ROOT else ROOT, fact)
            for number, parent, fact in zip(attempt.numbers, batch.parents, batch.facts, strict=False)
        ]
        found = connection.execute(
            select(FACTS)
            .where(FACTS.c.session_id == batch.session_id, FACTS.c.number >= attempt.numbers[0])
            .order_by(FACTS.c.number)
        )
        here = set(attempt.numbers)
        if [dict(row) for row in found.mappings() if row["number"] in here] == wanted:
            return attempt
    return None


def _note(connection: Connection, batch: Batch, changed_at: float, written: CommitResult, now: float) -> None:
    here, summary = SESSIONS.c.session_id == batch.session_id, batch.summary
    # A clock that was set back must not make the newest session look old.
    values: dict[str, Any] = {**written.place._asdict(), "changed_at": max(now, changed_at)}
    if not written.superseded:
        values |= {"status": summary.status, "turns": summary.turns}
    if not written.superseded and summary.query is not None:
        values["query"] = plain(summary.query)
        row = connection.execute(select(SESSIONS).where(here)).mappings().one()
        values["words"] = words({**row, **values})
    connection.execute(update(SESSIONS).where(here).values(**values))
