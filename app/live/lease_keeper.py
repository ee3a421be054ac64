"""Looks after the kept sessions of this server from one thread: renews leases, notices other servers, lets the idle rest.

A session that another server plays is followed here (`FOLLOWED`): to read, and up to date.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from threading import Lock
from typing import TYPE_CHECKING

from app.live.live_sessions import LiveSession, registry

if TYPE_CHECKING:
    from simulator.store import JournalStore, Standing, StoredJournal

LOOK_SECONDS = 0.4
"""How often it is asked how the sessions stand: one query for all of them, and none where there are none."""

IDLE_SECONDS = 1_800.0
"""A kept session that nobody has looked at for so long goes to rest, and comes back when somebody does."""

_IDLE_LOOK_SECONDS = 30.0
_LOG = logging.getLogger(__name__)


class Attendant:
    """One thread for one store."""

    def __init__(self, store: JournalStore) -> None:
        self._store = store
        self._over = threading.Event()
        self._renewed = self._rested = time.monotonic()
        self._moved: dict[str, int] = {}
        self._thread = threading.Thread(target=self._run, name="attendant", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the thread."""
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._over.wait(LOOK_SECONDS):
            try:
                self.look()
            except (
                ValueError
            ) as error:  # a StoreError: the pages say what cannot be stored; it is tried again
                _LOG.debug("The store does not respond: %s", error)
            except Exception:  # noqa: BLE001 - the thread goes on for the other sessions; the error is in the log
                _LOG.exception("Renewing the session leases failed")

    def look(self) -> None:
        """Look once how all sessions stand.

        Raises:
            simulator.store.StoreError: The store does not answer; nothing was changed.
        """
        from simulator.store import RENEW_SECONDS  # noqa: PLC0415 - takes half a second, and is there by now

        now = time.monotonic()
        played = {
            live.session_id: (live, journal)
            for live in registry().newest_first()
            if (journal := _stored(live))
        }
        followed = dict(FOLLOWED.shown())
        if now - self._renewed >= RENEW_SECONDS:  # also of a session that is just being restored
            self._renewed = now
            self._store.leases.renew()
        standings = self._store.leases.standings([*played, *followed])
        for session_id, standing in standings.items():
            if session_id in played:
                self._attend(*played[session_id], standing)
            elif session_id in followed:
                _follow(followed[session_id], standing)
        if now - self._rested >= _IDLE_LOOK_SECONDS:
            self._rested = now
            registry().rest(IDLE_SECONDS)

    def _attend(self, live: LiveSession, journal: StoredJournal, standing: Standing) -> None:
        """Stop playing a session that somebody else plays or has gone on with."""
        if standing.token is None:  # lost with a database that was put back, say
            journal.claim()
        elif standing.token != journal.token:
            _LOG.info("Session %r now runs elsewhere: %s", live.session_id, standing.where)
            FOLLOWED.follow(live.session_id, live.owner, journal, standing.where, taken=True)
            registry().close(live.session_id)
        elif standing.place.head == journal.place.head or journal.has_unwritten:
            self._moved.pop(live.session_id, None)
        elif self._moved.get(live.session_id) != standing.place.head:
            # Seen twice: between the query and the look at the journal, this server itself may have written.
            self._moved[live.session_id] = standing.place.head
        else:
            self._moved.pop(live.session_id)
            registry().close(live.session_id)  # who looks at it brings it back as it is now


def _stored(live: LiveSession) -> StoredJournal | None:
    from simulator.store import StoredJournal  # noqa: PLC0415 - as in `look`

    journal = live.simulation.journal
    return journal if isinstance(journal, StoredJournal) and journal.token is not None else None


def _follow(followed: Followed, standing: Standing) -> None:
    """Take in what was done elsewhere."""
    if followed.journal.refresh() or (standing.is_free, standing.where) != (followed.is_free, followed.where):
        followed.is_free, followed.where = standing.is_free, standing.where or followed.where
        FOLLOWED.changed(followed)


# ---------------------------------------------------------------- sessions elsewhere


FORGET_SECONDS = 60.0
"""A session that no page has shown for so long is followed no more."""


@dataclass
class Followed:
    """A session that is played elsewhere.

    Attributes:
        owner: Whose it is; nobody else is shown it.
        journal: What has happened in it, as far as it was read.
        where: The machine and process that plays it, in words.
        taken: It was played here until it was taken over there.
        is_free: Nobody plays it any more, so it can be played here.
        version: Grows with each change.
        used: When a page last showed it.
    """

    owner: str
    journal: StoredJournal
    where: str
    taken: bool = False
    is_free: bool = False
    version: int = 0
    used: float = field(default_factory=time.monotonic)


class FollowedSessions:
    """The followed sessions of this server by id. Safe to use from several threads."""

    def __init__(self) -> None:
        self._sessions: dict[str, Followed] = {}
        self._versions = count(1)
        self._lock = Lock()

    def follow(
        self, session_id: str, owner: str, journal: StoredJournal, where: str, *, taken: bool = False
    ) -> Followed:
        """Follow a session from now on; that it was taken over is remembered."""
        with self._lock:
            before = self._sessions.get(session_id)
            taken = taken or (before is not None and before.taken)
            made = Followed(owner, journal, where, taken=taken, version=next(self._versions))
            self._sessions[session_id] = made
        return made

    def peek(self, session_id: str) -> Followed | None:
        """Return a followed session, without counting that as a look at it."""
        return self._sessions.get(session_id)

    def of(self, owner: str, session_id: str) -> Followed | None:
        """Return a followed session of an owner, which a page shows; another's is no more than none."""
        found = self._sessions.get(session_id)
        if found is None or found.owner != owner:
            return None
        found.used = time.monotonic()
        return found

    def drop(self, session_id: str) -> None:
        """Follow a session no more."""
        with self._lock:
            self._sessions.pop(session_id, None)

    def changed(self, followed: Followed) -> None:
        """Count a change."""
        followed.version = next(self._versions)

    def shown(self) -> Iterator[tuple[str, Followed]]:
        """Yield those that pages show, and forget the others."""
        before = time.monotonic() - FORGET_SECONDS
        with self._lock:
            self._sessions = {each: found for each, found in self._sessions.items() if found.used > before}
            found = list(self._sessions.items())
        yield from found

    def clear(self) -> None:
        """Follow none."""
        with self._lock:
            self._sessions.clear()


FOLLOWED = FollowedSessions()
"""Those of this server."""
