"""Says which process plays a session: one at a time, only as long as it renews its lease, and only while it is there.

Nobody waits for these locks; those that let in one writer at a time are in `simulator.base.user_files`.
"""

from __future__ import annotations

import os
import secrets
import socket
import stat
import tempfile
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

from sqlalchemy import Connection, delete, insert, select, text, update

from simulator.base.user_files import HAS_FLOCK
from simulator.store.database import LEASES, SESSIONS, Database, Place
from simulator.store.errors import SessionHeldError, UnknownSessionError
from simulator.store.session_rows import is_id

if HAS_FLOCK:  # where the system has none, a lease ends by its time alone
    import fcntl

Life: TypeAlias = Literal["alive", "dead", "unknown"]
"""What is known of another holder; on other machines nothing is."""

_STALE_SECONDS = 86_400.0


def lock_folder() -> Path | None:
    """Return the folder of this user's lock files, made where there is none; None where there can be none."""
    if not HAS_FLOCK:
        return None
    folder = Path(tempfile.gettempdir()) / f"golden-trace-studio-{os.getuid()}"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
    except OSError:
        return None
    # Anybody may make files in the folder above: one that is not ours would let others feign our deaths.
    is_ours = found.st_uid == os.getuid() and stat.S_ISDIR(found.st_mode) and not found.st_mode & 0o077
    return folder if is_ours else None


class Holder:
    """Who opened a store, as others see it.

    Args:
        holder_id: Letters and digits that no other holder has; of chance by default.
        folder: Where the lock files are; `lock_folder()` by default.
        where: The machine and the process, in words for people.
    """

    def __init__(
        self, holder_id: str | None = None, *, folder: Path | None = None, where: str | None = None
    ) -> None:
        self.holder_id = holder_id or secrets.token_hex(12)
        self.where = where or f"{socket.gethostname()}, process {os.getpid()}"
        self._folder = folder or lock_folder()
        self._lock = threading.Lock()
        self._descriptor: int | None = None

    def hold(self) -> None:
        """Show that this process is alive, until it ends or `drop`; where no file can be made, nobody is shown anything."""
        with self._lock:
            if self._folder is None or self._descriptor is not None:
                return
            self._tidy(self._folder)
            try:
                path = self._folder / self.holder_id
                descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            except OSError:
                return
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                os.close(descriptor)
            else:
                self._descriptor = descriptor

    def drop(self) -> None:
        """Let go of the lock; others then find this holder dead."""
        with self._lock:
            if self._descriptor is not None:
                os.close(self._descriptor)
            self._descriptor = None

    def life(self, holder_id: str) -> Life:
        """Return whether another holder is alive, as far as it is of this machine and this user."""
        if self._folder is None or not holder_id.isalnum():
            return "unknown"
        return _life(self._folder / holder_id)

    def _tidy(self, folder: Path) -> None:
        """Remove what processes that died long ago have left."""
        for path in folder.iterdir():
            try:
                is_old = time.time() - path.stat().st_mtime > _STALE_SECONDS
                if is_old and _life(path) == "dead":
                    path.unlink()
            except OSError:  # another one was faster
                continue


def _life(path: Path) -> Life:
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return "unknown"
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return "alive"
    except OSError:
        return "unknown"
    else:
        return "dead"
    finally:
        os.close(descriptor)


LEASE_SECONDS = 6.0
"""How long a lease lasts that nobody renews; after so long a process that died on another machine is given up."""

RENEW_SECONDS = 1.5
"""How often a holder has to renew its leases."""


class Standing(NamedTuple):
    """How a session stands in the store.

    Attributes:
        place: Where it is.
        token: Of the lease under which it is played; None where nobody has one.
        where: The machine and process that plays it; empty where `is_free`.
        is_free: Anyone may play it: no one has a lease, it has expired, or its holder is dead.
    """

    place: Place
    token: str | None
    where: str
    is_free: bool


class Leases:
    """The leases of the sessions in one database. Safe to use from several threads.

    A lease is one claim of one session and has a token of its own. What is appended under a token that is no longer the
    session's is stored as a branch.

    Args:
        database: Where they are.
        clock: Says what time it is, where the database has no clock of its own.
        new_id: Makes tokens that nobody can guess.
        holder: Who claims.
    """

    def __init__(
        self, database: Database, clock: Callable[[], float], new_id: Callable[[], str], holder: Holder
    ) -> None:
        self._database, self._clock, self._new_id, self._holder = database, clock, new_id, holder
        self._tokens: set[str] = set()

    def claim(self, session_id: str, *, by_force: bool = False) -> str:
        """Claim a session, and return the token of the lease; one that this holder had before is worth nothing then.

        Args:
            session_id: The session.
            by_force: Also take it from somebody who plays it.

        Raises:
            UnknownSessionError: There is none with this id.
            SessionHeldError: Somebody else plays it.
        """
        self._holder.hold()
        token = self._new_id()
        with self._database.writing() as connection:
            # The row's lock makes a claim and what is appended take turns.
            here = SESSIONS.c.session_id == session_id
            known = is_id(session_id) and connection.scalar(
                select(SESSIONS.c.session_id).where(here).with_for_update()
            )
            if not known:
                raise UnknownSessionError(f"the store has no session {session_id!r}")
            now = self._now(connection)
            found = connection.execute(select(LEASES).where(LEASES.c.session_id == session_id)).first()
            if found is not None and not by_force and not self._is_free(found, now):
                raise SessionHeldError(session_id, found.place)
            connection.execute(delete(LEASES).where(LEASES.c.session_id == session_id))
            connection.execute(insert(LEASES), self._row(session_id, token, now))
        self._tokens.add(token)
        return token

    def release(self, token: str) -> None:
        """Let go of a session; a token that is worth nothing any more is no error."""
        self._tokens.discard(token)
        with self._database.writing() as connection:
            connection.execute(delete(LEASES).where(LEASES.c.token == token))

    def release_all(self) -> None:
        """Let go of every session."""
        if self._tokens:
            with self._database.writing() as connection:
                connection.execute(delete(LEASES).where(LEASES.c.holder == self._holder.holder_id))
            self._tokens.clear()

    def renew(self) -> None:
        """Hold all that this holder has for another while; call it each RENEW_SECONDS."""
        if self._tokens:
            with self._database.writing() as connection:
                until = self._now(connection) + LEASE_SECONDS
                mine = LEASES.c.holder == self._holder.holder_id
                connection.execute(update(LEASES).where(mine).values(until=until))

    def standings(self, session_ids: Iterable[str]) -> dict[str, Standing]:
        """Return how sessions stand, in one query; those that the store does not hold are left out."""
        wanted = sorted(filter(is_id, set(session_ids)))
        if not wanted:
            return {}
        columns = (
            SESSIONS.c.session_id,
            SESSIONS.c.head,
            SESSIONS.c.length,
            LEASES.c.token,
            LEASES.c.holder,
            LEASES.c.place,
            LEASES.c.until,
        )
        query = select(*columns).join_from(SESSIONS, LEASES, isouter=True)
        with self._database.reading() as connection:
            now = self._now(connection)
            found = connection.execute(query.where(SESSIONS.c.session_id.in_(wanted))).all()
        return {row.session_id: self._standing(row, now) for row in found}

    def _standing(self, row: Any, now: float) -> Standing:
        free = row.token is None or self._is_free(row, now)
        return Standing(Place(row.head, row.length), row.token, "" if free else row.place, free)

    def _is_free(self, lease: Any, now: float) -> bool:
        if lease.holder == self._holder.holder_id or lease.until <= now:
            return True
        life = self._holder.life(lease.holder)
        # The clock was set back since: nobody who is alive leaves it at that for longer than a moment.
        is_of_the_future = lease.until > now + 2 * LEASE_SECONDS
        return life == "dead" or (life == "unknown" and is_of_the_future)

    def _row(self, session_id: str, token: str, now: float) -> dict[str, Any]:
        return {
            "session_id": session_id,
            "token": token,
            "holder": self._holder.holder_id,
            "place": self._holder.where,
            "until": now + LEASE_SECONDS,
        }

    def _now(self, connection: Connection) -> float:
        """Return the time by one clock for all machines."""
        if connection.dialect.name == "postgresql":
            return float(
                connection.scalar(text("SELECT extract(epoch FROM clock_timestamp())::float8")) or 0.0
            )
        return self._clock()
