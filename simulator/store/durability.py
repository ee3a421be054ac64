"""Knows which part of a journal is durable, and stores the rest behind, in one thread that never lets go of what could not be stored."""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy import Connection, insert, select, update

from simulator.facts import Fact
from simulator.journal import ROOT
from simulator.store.database import FACTS, LEASES, SESSIONS, WRITER_SECONDS, Database, Place
from simulator.store.errors import StoreError, UnknownSessionError
from simulator.store.session_rows import plain, row_of, words

LATE_SECONDS = 2.0
"""What waits longer to be stored is told of."""

_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 30.0


class Unwritten(ABC):
    """Something that is changed in any thread, under its lock, and stored by the writer's.

    Args:
        name: What it is, in an error.
    """

    def __init__(self, name: str) -> None:
        self.name, self.lock = name, threading.Lock()
        self.changed = self.durable = 0
        """How often it was changed, and how many of these changes are durable."""
        self.error: StoreError | None = None
        """What went wrong when it was last tried to store it."""
        self.waits = False
        """It is in the writer's queue."""
        self.tries = 0
        """How often it was tried to store it."""
        self.since: float | None = None
        """Since when, by the monotonic clock, something of it waits to be stored; None where nothing does."""

    @property
    def trouble(self) -> str | None:
        """Why something is not durable, in words: it failed, or takes long. None where there is no such trouble."""
        if self.error is not None:
            return str(self.error)
        since = self.since
        if since is None or time.monotonic() - since < LATE_SECONDS:
            return None
        return f"{self.name}: saving takes longer than {LATE_SECONDS:g} s"

    @property
    def is_durable(self) -> bool:
        """Whether nothing of it is left to be stored."""
        return self.durable >= self.changed

    @abstractmethod
    def store(self) -> None:
        """Store what is not durable, in the writer's thread.

        Raises:
            StoreError: It could not; nothing was lost.
        """


class Writer:
    """A thread that stores what it is told of, one thing after another.

    What fails is tried again when something else could be stored, when somebody waits for it or changes it, and by
    itself after a while.

    Args:
        name: Of the database, for who looks at the threads.
        at_end: Is called by the thread when it has stored its last.
        on_late: Is called by a waiting caller when its time is over, before it is told.
    """

    def __init__(
        self, name: str, at_end: Callable[[], None], on_late: Callable[[], None] = lambda: None
    ) -> None:
        self._at_end, self._on_late = at_end, on_late
        self._changed = threading.Condition()
        self._queue: OrderedDict[Unwritten, None] = OrderedDict()
        self._failed: dict[Unwritten, None] = {}
        self._now: Unwritten | None = None
        self._pause = _FIRST_PAUSE
        self._stops, self._gives_up = False, False
        self._thread = threading.Thread(target=self._run, name=f"store {name}", daemon=True)
        self._thread.start()

    def tell(self, item: Unwritten) -> None:
        """Say that something was changed; takes no longer than a look where it waits to be stored anyway."""
        if item.since is None:
            item.since = time.monotonic()
        # The writer unsets `waits` before it looks what there is to store, so no change can be overlooked.
        if not item.waits:
            with self._changed:
                self._enqueue(item)

    def wait(self, item: Unwritten, timeout: float) -> None:
        """Wait until all changes of up to now are durable.

        Raises:
            StoreError: They could not be stored, or not within so many seconds.
        """
        goal, end = item.changed, time.monotonic() + timeout
        with self._changed:
            # A try that has begun may not know the newest changes.
            enough = item.tries + (2 if self._now is item else 1)
            while item.durable < goal:
                if item.tries >= enough and item.error:
                    raise item.error
                if self._stops and self._now is not item and not item.waits:
                    raise StoreError(f"{item.name} is not saved: the store is closed")
                self._enqueue(item)
                if item.waits:
                    self._queue.move_to_end(item, last=False)
                if not self._changed.wait(end - time.monotonic()) and time.monotonic() >= end:
                    self._on_late()
                    raise item.error or StoreError(f"{item.name} is still not saved after {timeout:g} s")

    def retry(self) -> None:
        """Try at once what failed before."""
        with self._changed:
            self._pause = _FIRST_PAUSE
            self._retry()

    def stop(self, timeout: float) -> list[Unwritten]:
        """Store what there is, end the thread, and return what could not be stored within so many seconds."""
        with self._changed:
            self._stops, self._gives_up = True, timeout <= 0
            for item in [] if self._gives_up else self._failed:
                self._enqueue(item, even_if_closed=True)
            self._changed.notify_all()
        # Where the last reference to the store goes in this very thread, there is nothing to wait for.
        if self._thread is not threading.current_thread():
            self._thread.join(max(timeout, 0))
        with self._changed:
            self._gives_up = True
            return [*self._failed, *(item for item in self._queue if item not in self._failed)]

    def _enqueue(self, item: Unwritten, *, even_if_closed: bool = False) -> None:
        if not item.waits and (even_if_closed or not self._stops) and self._now is not item:
            item.waits = True
            self._queue[item] = None
            self._changed.notify_all()

    def _run(self) -> None:
        while (item := self._next()) is not None:
            error: StoreError | None = None
            try:
                item.store()
            except StoreError as found:
                error = found
            except Exception as found:  # noqa: BLE001 - the thread goes on for the others; the error is shown and kept
                error = StoreError(f"{item.name} cannot be saved: {type(found).__name__}: {found}")
            self._end(item, error)
            # Nothing is to live on because the thread still has a name for it while it waits.
            del item, error
        self._at_end()

    def _next(self) -> Unwritten | None:
        with self._changed:
            while not self._queue:
                if self._stops:
                    return None
                if not self._changed.wait(self._pause if self._failed else None):
                    self._pause = min(self._pause * 2, _LONGEST_PAUSE)
                    self._retry()
            if self._gives_up:
                return None
            item, _ = self._queue.popitem(last=False)
            item.waits, self._now = False, item
            return item

    def _end(self, item: Unwritten, error: StoreError | None) -> None:
        with self._changed:
            item.tries, item.error, self._now = item.tries + 1, error, None
            self._failed.pop(item, None)
            if error is None:
                self._pause = _FIRST_PAUSE
                self._retry()
                is_done = item.is_durable
                item.since = None if is_done else time.monotonic()
                if not is_done:
                    self._enqueue(item, even_if_closed=True)
            elif not isinstance(
                error, UnknownSessionError
            ):  # for what is gone for good, a further try is in vain
                self._failed[item] = None
            self._changed.notify_all()

    def _retry(self) -> None:
        if not self._stops:
            for item in self._failed:
                self._enqueue(item)


class JournalTail(NamedTuple):
    """The tail of a journal, from one fact on, and what the library shows of the session."""

    facts: list[Fact]
    parents: list[int]
    head: int
    status: str
    turns: int


class DurablePart(Unwritten):
    """What the store knows of one journal.

    The journal counts its changes in `changed`; `query` is what its user asked
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
        super().__init__(f"session {session_id!r}")
        self.session_id, self.database, self.writer = session_id, database, writer
        self.stored, self.place, self.superseded = stored, place, False
        self.query: str | None = None
        self.token: str | None = None
        """Of the lease under which the journal is appended to."""
        self.content: Callable[[int], JournalTail]
        self._attempts: list[CommitResult] = []
        self._clock = clock

    def store(self) -> None:
        """Store what is not durable; see `Unwritten`."""
        with self.lock:
            changed, batch = self.changed, self._batch()
        if changed == self.durable:
            return
        with self.database.writing(unhurried=WRITER_SECONDS) as connection:
            written = write_batch(connection, batch, self._clock())
            # Before the commit: where the database is lost in the middle of it, nobody knows whether it was done.
            self._attempts.append(written)
        with self.lock:
            self.stored.extend(written.numbers)
            self.place, self.superseded = written.place, written.superseded
            self.durable, self._attempts = changed, []
            if self.query is batch.query:
                self.query = None

    def _batch(self) -> Batch:
        return Batch(
            session_id=self.session_id,
            **self.content(len(self.stored))._asdict(),
            stored=self.stored,
            follows=self.place,
            superseded=self.superseded,
            attempts=self._attempts,
            query=self.query,
            token=self.token,
        )


# Writes what one journal has appended: optimistic on the head, and nothing twice.


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
        attempts: What earlier tries have left, the oldest first, if they were done after all.
        status: What the library shows of the session as it is at its head; so `turns`.
        query: What its user asked first; None where that is as it was.
        token: Of the lease under which it was appended; None where there is none.
    """

    session_id: str
    facts: Sequence[Fact]
    parents: Sequence[int]
    stored: Sequence[int]
    head: int
    follows: Place
    superseded: bool
    attempts: Sequence[CommitResult]
    status: str
    turns: int
    query: str | None = None
    token: str | None = None


@dataclass(frozen=True)
class CommitResult:
    """The result of storing a batch: the numbers of its facts in the store, where the session is now, and whose head it is."""

    numbers: tuple[int, ...]
    place: Place
    superseded: bool


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
    known_head = done.place.head if done else batch.follows.head
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


def _done(connection: Connection, batch: Batch, place: Place) -> CommitResult | None:
    """Find the attempt that was done after all."""
    for attempt in reversed(batch.attempts):
        if not attempt.numbers:
            if attempt.place.head == place.head:
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
    here = SESSIONS.c.session_id == batch.session_id
    # A clock that was set back must not make the newest session look old.
    values: dict[str, Any] = {**written.place._asdict(), "changed_at": max(now, changed_at)}
    if not written.superseded:
        values |= {"status": batch.status, "turns": batch.turns}
    if not written.superseded and batch.query is not None:
        values["query"] = plain(batch.query)
        row = connection.execute(select(SESSIONS).where(here)).mappings().one()
        values["words"] = words({**row, **values})
    connection.execute(update(SESSIONS).where(here).values(**values))
