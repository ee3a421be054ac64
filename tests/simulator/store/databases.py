"""A database to keep sessions in, whose stores a test opens, closes and kills, and which it damages by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from sqlalchemy import Connection, Engine, create_engine, text

from simulator.facts import Fact, SeatChanged, SessionOpened
from simulator.journal import Journal
from simulator.store import JournalStore, StoredJournal
from simulator.store.errors import StoreError, database_url
from simulator.store.leases import Holder
from tests.simulator.session.making import selected

NewUrl: TypeAlias = Callable[[], str | Path]
"""Makes an empty database."""
ME, KEY = "me@example.org", "demos/clerk"


def new_journal(session_id: str = "session", *facts: Fact) -> Journal:
    """Return a journal whose agent is selected."""
    return Journal([SessionOpened(at=1.0, session_id=session_id, seed="seed"), selected(), *facts])


def seat(target: str = "find") -> SeatChanged:
    """Nobody answers a tool from now on; tests tell such facts apart by their tools."""
    return SeatChanged(at=5.0, seat="tool", target=target, player="refuse")


def append(journal: Journal, facts: Iterable[Fact]) -> None:
    """Append one fact after another."""
    for fact in facts:
        journal.append(fact)


def keep(journal: Journal, *facts: Fact) -> None:
    """Append facts, and wait until all is durable."""
    append(journal, facts)
    journal.keep()


def facts_of(journal: Journal, number: int | None = None) -> list[Fact]:
    """Return the facts on the way to one, or to the head."""
    return [fact for _, fact in (journal.path() if number is None else journal.path(number))]


class Clock:
    """Says what a test set it to."""

    def __init__(self, now: float = 1000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        """Return the time."""
        return self.now


class Kept:
    """One database."""

    def __init__(self, url: str | Path) -> None:
        self.url, self.clock = url, Clock()
        self._ids = map("id-{}".format, count(1))
        self._open: list[JournalStore] = []

    @property
    def is_sqlite(self) -> bool:
        """It is a file."""
        return isinstance(self.url, Path)

    def store(self, *, patience: float = 60.0, holder: Holder | None = None) -> JournalStore:
        """Open a store of it, as another process would."""
        store = JournalStore.open(
            self.url, patience=patience, clock=self.clock, new_id=lambda: next(self._ids), holder=holder
        )
        self._open.append(store)
        return store

    def begun(self, *facts: Fact, patience: float = 60.0) -> tuple[JournalStore, StoredJournal]:
        """Open a store, and take a new session in that begins with these facts."""
        store = self.store(patience=patience)
        return store, begun(store, "session", *facts)

    def kill(self, store: JournalStore) -> None:
        """Let a store end as a process that is killed: what is not durable is lost."""
        self._open.remove(store)
        with suppress(StoreError):
            store.close(timeout=0)
        # A transaction that was in progress is over when a process is gone, one way or the other.
        store._writer._thread.join()

    def forget(self, store: JournalStore) -> None:
        """Let a test alone have a store."""
        self._open.remove(store)

    def drop_all(self) -> None:
        """End all stores."""
        while self._open:
            self.kill(self._open[-1])

    def engine(self) -> Engine:
        """Connect beside all stores, to do what a store never does."""
        return create_engine(database_url(self.url))

    def run(self, statement: str, **values: Any) -> list[Any]:
        """Run a statement beside all stores."""
        engine = self.engine()
        try:
            with engine.begin() as connection:
                found = connection.execute(text(statement), values)
                return list(found) if found.returns_rows else []
        finally:
            engine.dispose()

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold a lock that keeps everybody else from writing while the block runs."""
        engine = self.engine()
        with engine.connect() as connection:
            _lock(connection, is_sqlite=self.is_sqlite)
            yield
            connection.rollback()
        engine.dispose()


def _lock(connection: Connection, *, is_sqlite: bool) -> None:
    if is_sqlite:
        connection.exec_driver_sql("BEGIN IMMEDIATE")
    else:
        connection.exec_driver_sql(
            "LOCK TABLE studio_sessions, studio_facts, studio_unsaved IN ACCESS EXCLUSIVE MODE"
        )


def begun(store: JournalStore, session_id: str = "session", *facts: Fact) -> StoredJournal:
    """Take a new session in."""
    return store.begin(new_journal(session_id, *facts), owner=ME, agent_key=KEY)


def raising(work: Callable[[], object]) -> str:
    """Do what raises a StoreError, and return what it says."""
    with pytest.raises(StoreError) as raised:
        work()
    return str(raised.value)
