"""Keeps the sessions that are played on another server, as this one shows them: to read, and up to date."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simulator.store import StoredJournal

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
