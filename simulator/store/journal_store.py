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

from simulator.facts import Fact, TurnStarted
from simulator.journal import ROOT, Journal
from simulator.session import SessionFold
from simulator.session.adk_event_fields import message_text
from simulator.store import session_rows
from simulator.store.database import FACTS, SESSIONS, Database, Place
from simulator.store.durability import DurablePart, JournalTail, Writer
from simulator.store.errors import BrokenJournalError, HeadMovedError, StoreError, TakenError
from simulator.store.leases import Holder, Leases
from simulator.store.library import Library, SessionMetadata, opened_as, read, written
from simulator.store.session_rows import FactTree, SessionRecord, row_of_record
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
        self._drafts = DraftBox("typed text", database, self._writer)
        self._unsaved = UnsavedBox("unsaved edits", database, self._writer)
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
        kept = SessionMetadata(agent_key=agent_key, agent_digest=agent_digest, created_at=0.0, changed_at=0.0)
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
            place = session_rows.place_of(connection, session_id)
            found = session_rows.fact_rows(connection, session_id)
        tree = session_rows.tree_of(session_id, found, *place)
        if tree.damage and not up_to_damage:
            raise tree.damage
        return self._journal(session_id, tree, place)

    def place(self, session_id: str) -> Place:
        """Return where a session is in the store: cheap enough to ask each second whether another process went on.

        Raises:
            UnknownSessionError: There is none with this id.
        """
        with self._database.reading() as connection:
            return session_rows.place_of(connection, session_id)

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
        return not (self._drafts.is_durable and self._unsaved.is_durable)

    def export(self, session_id: str) -> str:
        """Write a session as one JSON file, as far as it is durable: its record without owner and token, and its journal.

        Raises:
            UnknownSessionError: There is none with this id.
            BrokenJournalError: It is broken.
        """
        return written(self.record(session_id), self.load(session_id), self.drafts(session_id))

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
        kept, journal, drafts = read(text)
        with self._database.reading() as connection:
            own = journal.fold.place_in_adk()["session_id"]
            taken = connection.scalar(select(SESSIONS.c.session_id).where(SESSIONS.c.session_id == own))
        if taken or not keeps_id:
            journal = opened_as(journal, self._new_id())
        stored = self._take_in(journal, owner, kept)
        self.put_drafts(stored.session_id, drafts)
        return self.record(stored.session_id)

    def _take_in(self, journal: Journal, owner: str, kept: SessionMetadata) -> StoredJournal:
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
            session_rows.row_of(record.session_id, number, parent, fact)
            for number, (parent, fact) in enumerate(zip(parents, facts, strict=True))
        ]
        try:
            with self._database.writing() as connection:
                connection.execute(insert(SESSIONS), row_of_record(record))
                connection.execute(insert(FACTS), news)
        except TakenError as error:
            raise StoreError(f"the session {record.session_id!r} already exists") from error
        tree = session_rows.FactTree(facts, parents, list(range(count)), journal.head, fold.forked())
        return self._journal(record.session_id, tree, Place(journal.head, count))

    def _journal(self, session_id: str, tree: session_rows.FactTree, place: Place) -> StoredJournal:
        shelf = DurablePart(
            session_id, self._database, self._writer, self._clock, stored=tree.stored, place=place
        )
        return StoredJournal(self, shelf, tree)


def _first_query(journal: Journal) -> str:
    first = next((fact for _, fact in journal.path() if isinstance(fact, TurnStarted)), None)
    return message_text(first.message)[:LONGEST_QUERY] if first else ""


LONGEST_QUERY = 500
"""How many characters of the first query the library keeps."""


class StoredJournal(Journal):
    """A journal whose facts and head are also in a store.

    `append` and `move_head` do not wait for the store; `keep` does. All but `keep` and `refresh` may be called on a
    thread that must not wait.
    """

    def __init__(self, store: JournalStore, shelf: DurablePart, tree: FactTree) -> None:
        super().__init__()
        self._store = store  # as long as somebody appends, there has to be somebody who writes
        self._shelf, self._damage = shelf, tree.damage
        self._hold(tree.facts, tree.parents, tree.head, tree.fold)
        shelf.content = self._content

    @property
    def session_id(self) -> str:
        """The id of the session in the store."""
        return self._shelf.session_id

    @property
    def outlives(self) -> bool:
        """Whether it outlives the process: it does."""
        return True

    @property
    def superseded(self) -> bool:
        """Somebody else went on with the session: what is appended here is stored as a branch, and the head is theirs."""
        return self._shelf.superseded

    @property
    def damage(self) -> BrokenJournalError | None:
        """What of the stored session is broken, and so is not in here."""
        return self._damage

    @property
    def trouble(self) -> str | None:
        """Why something is not durable, in words; None where there is no such trouble."""
        return self._shelf.trouble

    @property
    def first_unstored(self) -> int | None:
        """The number of the first fact that is not durable yet, where there is one; all later ones are not either."""
        durable = len(self._shelf.stored)
        return durable if durable < len(self) else None

    @property
    def place(self) -> Place:
        """Where the session was in the store when this journal last read or wrote it; as `JournalStore.place` says it."""
        return self._shelf.place

    @property
    def has_unwritten(self) -> bool:
        """Whether something that was appended is not durable yet."""
        return not self._shelf.is_durable

    def append(self, fact: Fact) -> int:
        """Append a fact as `Journal.append` does; it is stored soon after.

        Raises:
            IllegalFactError: The fact cannot follow; the journal is as it was.
        """
        shelf = self._shelf
        with shelf.lock:
            number = super().append(fact)
            if type(fact) is TurnStarted and fact.turn == 0:
                shelf.query = message_text(fact.message)[:LONGEST_QUERY]
            shelf.changed += 1
        shelf.writer.tell(shelf)
        return number

    def move_head(self, number: int) -> None:
        """Move the head as `Journal.move_head` does; that is stored soon after.

        Raises:
            JournalError: There is no such fact.
        """
        shelf = self._shelf
        with shelf.lock:
            super().move_head(number)
            shelf.changed += 1
        shelf.writer.tell(shelf)

    def keep(self, timeout: float = 30.0) -> None:
        """Wait until all that was appended up to now is durable, for so many seconds at most.

        Raises:
            StoreError: It is not. Nothing is lost: it is tried again by itself, with the next fact, and by `keep`.
            HeadMovedError: It is, but somebody else went on with the session meanwhile; see `superseded`.
        """
        self._shelf.writer.wait(self._shelf, timeout)
        if self.superseded:
            raise HeadMovedError(
                f"session {self.session_id!r} was continued elsewhere; "
                "the steps done here are kept as a separate branch"
            )

    @property
    def token(self) -> str | None:
        """The token of the lease under which the session is played; None where nobody claimed it here."""
        return self._shelf.token

    def claim(self, *, by_force: bool = False) -> None:
        """Claim the session for the owner of this journal; take in with `refresh` then what others did before.

        Args:
            by_force: Also take it from somebody who plays it: what they append from then on becomes a branch.

        Raises:
            SessionHeldError: Somebody else plays it.
            StoreError: It is not there any more, or the store does not answer.
        """
        self._shelf.token = self._store.leases.claim(self.session_id, by_force=by_force)

    def release(self) -> None:
        """Let others play the session, where it was claimed here; what is not durable yet is stored all the same.

        Raises:
            StoreError: The store does not answer; the lease ends by itself then.
        """
        if self._shelf.token is not None:
            self._store.leases.release(self._shelf.token)

    def _content(self, first: int) -> JournalTail:
        """Return what is to be stored from a fact on; the shelf's lock is held."""
        fold = self.fold
        return JournalTail(
            self._facts[first:], self._parents[first:], self.head, fold.state.value, fold.turns_so_far
        )

    def refresh(self) -> bool:
        """Take in what others have stored since; say whether there was something.

        Nothing is taken in while something of this journal is not durable. Numbers of facts stay as they are, but for
        a journal that is `superseded` or had its facts stored under other numbers: that one is read anew, and then is
        what everybody sees.

        Raises:
            StoreError: The store cannot be read.
            BrokenJournalError: What is stored is broken; the journal is as it was.
        """
        shelf = self._shelf
        with shelf.lock:
            before = shelf.changed
            if not shelf.is_durable:
                return False
        place, news = self._news()
        if news is None:
            return False
        with shelf.lock:
            if shelf.changed != before:  # appended meanwhile: that comes first
                return False
            self._damage = news.damage
            self._hold(news.facts, news.parents, news.head, news.fold)
            shelf.stored, shelf.place, shelf.superseded = news.stored, place, False
        return True

    def _news(self) -> tuple[Place, FactTree | None]:
        shelf, have = self._shelf, len(self)
        with shelf.database.reading() as connection:
            place = session_rows.place_of(connection, self.session_id)
            # The numbers only grow, so the last one says whether each fact has the same number here and there.
            is_same_tree = not shelf.superseded and (not have or shelf.stored[-1] == have - 1)
            is_as_good = is_same_tree or (self._damage is not None and not shelf.superseded)
            if place == shelf.place and is_as_good:
                return place, None
            if not is_same_tree:
                found = session_rows.fact_rows(connection, self.session_id)
            else:
                found = session_rows.fact_rows(connection, self.session_id, have)
        if not is_same_tree:
            tree = session_rows.tree_of(self.session_id, found, *place)
            if tree.damage and not self._damage:
                raise tree.damage
            return place, tree
        return place, self._grown(found, place)

    def _grown(self, found: list[session_rows.FactRow], place: Place) -> FactTree:
        have = len(self)
        facts, parents = list(self._facts), list(self._parents)
        for number, row in enumerate(found, have):
            if row.number != number or not ROOT <= row.parent < number:
                raise BrokenJournalError(
                    self.session_id, number, "it is missing, or its parent does not come before it"
                )
            try:
                facts.append(session_rows.read(row.body))
            except ValueError as error:
                raise BrokenJournalError(self.session_id, number, str(error)) from error
            parents.append(row.parent)
        if not ROOT <= place.head < len(facts):
            raise BrokenJournalError(
                self.session_id, place.head, "it is missing, but the session's head is there"
            )
        fold = self._fold_at(place.head, facts, parents)
        return FactTree(facts, parents, list(range(len(facts))), place.head, fold)

    def _fold_at(self, head: int, facts: list[Fact], parents: list[int]) -> SessionFold:
        way: list[int] = []
        number = head
        while number not in {ROOT, self.head}:
            way.append(number)
            number = parents[number]
        fold = self.fold.forked() if number == self.head else SessionFold()
        for number in reversed(way):
            try:
                fold.take(number, facts[number])
            except ValueError as error:
                raise BrokenJournalError(self.session_id, number, str(error)) from error
        return fold
