"""A journal that is kept: what is appended to it is stored in the background."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulator.facts import Fact, TurnStarted
from simulator.journal import ROOT, Journal
from simulator.session import SessionFold
from simulator.session.adk_event_fields import message_text
from simulator.store import fact_rows
from simulator.store.database_tables import Place
from simulator.store.durability import DurablePart, JournalTail
from simulator.store.errors import BrokenJournalError, HeadMovedError
from simulator.store.fact_rows import FactTree

if TYPE_CHECKING:
    from simulator.store.journal_store import JournalStore

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
        return self._shelf.changes_stored() < self._shelf.changed

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
        fold = self._fold
        return JournalTail(
            self._facts[first:], self._parents[first:], self._head, fold.state.value, fold.turns_so_far
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
            if shelf.changes_stored() < before:
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
            place = fact_rows.place_of(connection, self.session_id)
            # The numbers only grow, so the last one says whether each fact has the same number here and there.
            is_same_tree = not shelf.superseded and (not have or shelf.stored[-1] == have - 1)
            is_as_good = is_same_tree or (self._damage is not None and not shelf.superseded)
            if place == shelf.place and is_as_good:
                return place, None
            if not is_same_tree:
                found = fact_rows.fact_rows(connection, self.session_id)
            else:
                found = fact_rows.fact_rows(connection, self.session_id, have)
        if not is_same_tree:
            tree = fact_rows.tree_of(self.session_id, found, *place)
            if tree.damage and not self._damage:
                raise tree.damage
            return place, tree
        return place, self._grown(found, place)

    def _grown(self, found: list[fact_rows.FactRow], place: Place) -> FactTree:
        have = len(self)
        facts, parents = list(self._facts), list(self._parents)
        for number, row in enumerate(found, have):
            if row.number != number or not ROOT <= row.parent < number:
                raise BrokenJournalError(
                    self.session_id, number, "it is missing, or its parent does not come before it"
                )
            try:
                facts.append(fact_rows.read(row.body))
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
        while number not in {ROOT, self._head}:
            way.append(number)
            number = parents[number]
        fold = self._fold.forked() if number == self._head else SessionFold()
        for number in reversed(way):
            try:
                fold.take(number, facts[number])
            except ValueError as error:
                raise BrokenJournalError(self.session_id, number, str(error)) from error
        return fold
