"""Looks after the kept sessions of this server from one thread: renews leases, notices other servers, lets the idle rest."""

from __future__ import annotations

import logging
import threading
import time
from typing import TYPE_CHECKING

from app.live.live_sessions import LiveSession, registry
from app.live.remote_sessions import FOLLOWED, Followed

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
