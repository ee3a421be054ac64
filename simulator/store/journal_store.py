"""The store: journals in a database, which outlive the processes that append to them."""

from __future__ import annotations

import secrets
import time
import weakref
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Self

from sqlalchemy import insert, select

from simulator.facts import TurnStarted
from simulator.journal import Journal
from simulator.session.adk_event_fields import message_text
from simulator.store import fact_rows, session_files
from simulator.store.background_writer import Writer
from simulator.store.database import Database
from simulator.store.database_tables import FACTS, SESSIONS, Place
from simulator.store.durability import DurablePart
from simulator.store.errors import StoreError, TakenError
from simulator.store.leases import Leases
from simulator.store.library import Library
from simulator.store.process_locks import Holder
from simulator.store.session_records import SessionRecord, row_of_record
from simulator.store.stored_journal import LONGEST_QUERY, StoredJournal
from simulator.store.typed_texts import DraftBox, Unsaved, UnsavedBox

PATIENCE = 5.0
"""Seconds for which a statement waits for another program's lock."""

_AT_EXIT = 5.0


class JournalStore(Library):
    """Journals, drafts and the library of sessions in one database. Safe to use from several threads.

    Several processes may use one database. `JournalStore.open` makes one.
    """

    def __init__(
        self,
        database: Database,
        clock: Callable[[], float],
        new_id: Callable[[], str],
        holder: Holder | None = None,
    ) -> None:
        super().__init__(database, clock, new_id)
        self._holder = holder or Holder()
        self.leases = Leases(database, clock, new_id, self._holder)
        self._writer = Writer(database.name, at_end=database.close, on_late=database.suspect)
        database.when_back(self._writer.retry)
        self._drafts = DraftBox(database, self._writer)
        self._unsaved = UnsavedBox(database, self._writer)
        # Also when the process ends: what was appended last is stored then.
        self._end = weakref.finalize(self, self._writer.stop, _AT_EXIT)

    @classmethod
    def open(
        cls,
        url: str | Path,
        *,
        patience: float = PATIENCE,
        clock: Callable[[], float] = time.time,
        new_id: Callable[[], str] = lambda: secrets.token_urlsafe(18),
        holder: Holder | None = None,
    ) -> Self:
        """Open a store; the file, its folder and the tables are made where there are none, older ones are brought up.

        Args:
            url: A path of a SQLite file, or a URL of SQLite or PostgreSQL.
            patience: For how many seconds a statement waits for another program's lock.
            clock: Says what time it is, in seconds since the epoch.
            new_id: Makes ids and tokens that nobody can guess.
            holder: Who plays the sessions that are claimed; by default this process.

        Raises:
            StoreError: It cannot be opened, or was made by a newer version of the studio.
        """
        return cls(Database(url, patience=patience), clock, new_id, holder)

    @property
    def name(self) -> str:
        """Which database it is, without its password."""
        return self._database.name

    @property
    def caution(self) -> str:
        """What of this database's keeping is not certain, in words; empty where what is stored outlives a power cut."""
        return self._database.caution

    def close(self, timeout: float = 10.0) -> None:
        """Store what is not durable, for so many seconds at most, and let go of the sessions and of the database.

        Raises:
            StoreError: Something could not be stored; it is named.
        """
        self._end.detach()
        left = self._writer.stop(timeout)
        if timeout > 0 and not left:
            # A lease that cannot be ended now ends with its holder.
            with suppress(StoreError):
                self.leases.release_all()
            self._database.close()
        self._holder.drop()
        if left:
            reasons = dict.fromkeys(f"{item.name}: {item.error or 'timed out'}" for item in left)
            raise StoreError("not saved: " + "; ".join(reasons))

    def begin(self, journal: Journal, *, owner: str, agent_key: str, agent_digest: str = "") -> StoredJournal:
        """Take in the journal of a new session, and return the one to go on with instead. It is durable at once.

        Raises:
            StoreError: There is a session with this id already, the journal opens none, or it cannot be stored.
        """
        kept = session_files.SessionMetadata(
            agent_key=agent_key, agent_digest=agent_digest, created_at=0.0, changed_at=0.0
        )
        now = self._clock()
        return self._take_in(journal, owner, kept.model_copy(update={"created_at": now, "changed_at": now}))

    def load(self, session_id: str, *, up_to_damage: bool = False) -> StoredJournal:
        """Return the journal of a session, to read and to go on with. It takes time in proportion to its length.

        Args:
            session_id: Its id.
            up_to_damage: Where something is broken, give all that is whole, with `damage` set; what is broken stays in
                the store, with all that follows it.

        Raises:
            UnknownSessionError: There is none with this id.
            BrokenJournalError: Something is broken: which fact, and why.
        """
        with self._database.reading() as connection:
            place = fact_rows.place_of(connection, session_id)
            found = fact_rows.fact_rows(connection, session_id)
        tree = fact_rows.tree_of(session_id, found, *place)
        if tree.damage and not up_to_damage:
            raise tree.damage
        return self._journal(session_id, tree, place)

    def place(self, session_id: str) -> Place:
        """Return where a session is in the store: cheap enough to ask each second whether another process went on.

        Raises:
            UnknownSessionError: There is none with this id.
        """
        with self._database.reading() as connection:
            return fact_rows.place_of(connection, session_id)

    def drafts(self, session_id: str) -> dict[str, str]:
        """Return what was typed into a session's editors and not sent, by name."""
        return self._drafts.of(session_id)

    def put_drafts(self, session_id: str, changed: Mapping[str, str | None]) -> None:
        """Change drafts, None takes one away; does not wait for the database. Unknown sessions have none."""
        self._drafts.put(session_id, changed)

    def keep_drafts(self, timeout: float = 30.0) -> None:
        """Wait until all drafts, and all unsaved work, of up to now are durable.

        Raises:
            StoreError: They are not; nothing is lost, and it is tried again.
        """
        end = time.monotonic() + timeout
        self._writer.wait(self._drafts, timeout)
        self._writer.wait(self._unsaved, max(0.0, end - time.monotonic()))

    def unsaved(self, owner: str, path: str) -> Unsaved | None:
        """Return somebody's unsaved work on a file; None where there is none.

        Raises:
            StoreError: The store does not answer.
        """
        return self._unsaved.of(owner, path)

    def put_unsaved(
        self, owner: str, path: str, body: str, base: bytes = b"", beside: bytes | None = None
    ) -> None:
        """Keep somebody's unsaved work on a file, with what it was made on; does not wait for the database."""
        self._unsaved.put(owner, path, Unsaved(body, base, beside, self._clock()))

    def drop_unsaved(self, owner: str, path: str) -> None:
        """Keep no unsaved work of somebody on a file any more; does not wait for the database."""
        self._unsaved.put(owner, path, None)

    @property
    def trouble(self) -> str | None:
        """Why drafts or unsaved work are not durable, in words; None where there is no such trouble."""
        return self._drafts.trouble or self._unsaved.trouble

    @property
    def has_unwritten_drafts(self) -> bool:
        """Whether a draft, or unsaved work, is not durable yet."""
        return any(box.changes_stored() < box.changes() for box in (self._drafts, self._unsaved))

    def export(self, session_id: str) -> str:
        """Write a session as one JSON file, as far as it is durable: its record without owner and token, and its journal.

        Raises:
            UnknownSessionError: There is none with this id.
            BrokenJournalError: It is broken.
        """
        return session_files.written(self.record(session_id), self.load(session_id), self.drafts(session_id))

    def import_(self, text: str, owner: str, *, keeps_id: bool = True) -> SessionRecord:
        """Take in a session that `export` wrote.

        Args:
            text: What it wrote.
            owner: Whose it is now.
            keeps_id: Whether it keeps its own id where that is free. Where others keep sessions here, it would say
                of an id whether one of them has it.

        Raises:
            StoreError: The text is no such file, or cannot be stored.
        """
        kept, journal, drafts = session_files.read(text)
        with self._database.reading() as connection:
            own = journal.fold.place_in_adk()["session_id"]
            taken = connection.scalar(select(SESSIONS.c.session_id).where(SESSIONS.c.session_id == own))
        if taken or not keeps_id:
            journal = session_files.opened_as(journal, self._new_id())
        stored = self._take_in(journal, owner, kept)
        self.put_drafts(stored.session_id, drafts)
        return self.record(stored.session_id)

    def _take_in(self, journal: Journal, owner: str, kept: session_files.SessionMetadata) -> StoredJournal:
        fold, count = journal.fold, len(journal)
        adk = fold.place_in_adk()
        record = SessionRecord(
            **kept.model_dump(),
            session_id=adk["session_id"],
            owner=owner,
            app_name=adk["app_name"],
            agent_name=fold.agent_name,
            query=_first_query(journal),
            status=fold.state.value,
            turns=fold.turns_so_far,
            head=journal.head,
            length=count,
        )
        facts = [journal.fact(number) for number in range(count)]
        parents = [journal.parent(number) for number in range(count)]
        news = [
            fact_rows.row_of(record.session_id, number, parent, fact)
            for number, (parent, fact) in enumerate(zip(parents, facts, strict=True))
        ]
        try:
            with self._database.writing() as connection:
                connection.execute(insert(SESSIONS), row_of_record(record))
                connection.execute(insert(FACTS), news)
        except TakenError as error:
            raise StoreError(f"the session {record.session_id!r} already exists") from error
        tree = fact_rows.FactTree(facts, parents, list(range(count)), journal.head, fold.forked())
        return self._journal(record.session_id, tree, Place(journal.head, count))

    def _journal(self, session_id: str, tree: fact_rows.FactTree, place: Place) -> StoredJournal:
        shelf = DurablePart(
            session_id, self._database, self._writer, self._clock, stored=tree.stored, place=place
        )
        return StoredJournal(self, shelf, tree)


def _first_query(journal: Journal) -> str:
    first = next((fact for _, fact in journal.path() if isinstance(fact, TurnStarted)), None)
    return message_text(first.message)[:LONGEST_QUERY] if first else ""
