"""Keeps texts that were typed and not sent, in the background."""

from __future__ import annotations

import json
import logging
import zlib
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, Generic, NamedTuple, TypeVar

from sqlalchemy import ColumnElement, Connection, bindparam, delete, insert, select, update

from simulator.base.json_values import fingerprint
from simulator.store.database import DRAFTS, SESSIONS, UNSAVED, WRITER_SECONDS, Database
from simulator.store.durability import Unwritten, Writer
from simulator.store.errors import StoreError
from simulator.store.session_rows import is_id

_LOG = logging.getLogger(__name__)

Kept = TypeVar("Kept")


class Box(Unwritten, Generic[Kept]):
    """What many people have typed, each under two keys; None where it was taken away.

    Args:
        name: What it is, in an error.
        database: Where it is stored.
        writer: Who stores it.
    """

    def __init__(self, name: str, database: Database, writer: Writer) -> None:
        super().__init__(name)
        self._database, self._writer = database, writer
        self._unwritten: dict[tuple[str, str], Kept | None] = {}

    def _keep(self, typed: Mapping[tuple[str, str], Kept | None]) -> None:
        with self.lock:
            self._unwritten |= typed
            self.changed += 1
        self._writer.tell(self)

    def store(self) -> None:
        """Store what is not durable; see `Unwritten`."""
        with self.lock:
            changed, unwritten = self.changed, dict(self._unwritten)
        with self._database.writing(unhurried=WRITER_SECONDS) as connection:
            self._write(connection, unwritten)
        with self.lock:
            for key, typed in unwritten.items():
                if self._unwritten.get(key, typed) is typed:
                    self._unwritten.pop(key, None)
            self.durable = changed

    @abstractmethod
    def _write(self, connection: Connection, unwritten: Mapping[tuple[str, str], Kept | None]) -> None:
        """Store what was typed."""


class DraftBox(Box[str]):
    """The drafts of all sessions, by session and name."""

    def put(self, session_id: str, changed: Mapping[str, str | None]) -> None:
        """Change drafts of a session; None takes one away."""
        self._keep({(session_id, name): text for name, text in changed.items()})

    def of(self, session_id: str) -> dict[str, str]:
        """Return the drafts of a session as they are now, durable or not."""
        with self.lock:
            unwritten = {name: text for (of, name), text in self._unwritten.items() if of == session_id}
        if not is_id(session_id):
            return {}
        with self._database.reading() as connection:
            found = connection.execute(
                select(DRAFTS.c.name, DRAFTS.c.text).where(DRAFTS.c.session_id == session_id)
            )
            stored = dict[str, str]()
            for name, text in found:
                try:
                    stored[json.loads(name)] = json.loads(text)
                except (TypeError, ValueError):
                    _LOG.warning("Session %r: a text that was typed is damaged: %r", session_id, name)
        return {name: text for name, text in {**stored, **unwritten}.items() if text is not None}

    def _write(self, connection: Connection, unwritten: Mapping[tuple[str, str], str | None]) -> None:
        """Store drafts; those of sessions that are gone are dropped."""
        ids = sorted({session_id for session_id, _ in unwritten if is_id(session_id)})
        known = set(connection.scalars(select(SESSIONS.c.session_id).where(SESSIONS.c.session_id.in_(ids))))
        rows = [
            {"of": session_id, "called": json.dumps(name), "now": json.dumps(text)}
            for (session_id, name), text in unwritten.items()
            if session_id in known
        ]
        if rows:
            place = (DRAFTS.c.session_id == bindparam("of")) & (DRAFTS.c.name == bindparam("called"))
            connection.execute(delete(DRAFTS).where(place), rows)
        if there := [row for row in rows if row["now"] != "null"]:
            values: dict[str, Any] = {
                "session_id": bindparam("of"),
                "name": bindparam("called"),
                "text": bindparam("now"),
            }
            connection.execute(insert(DRAFTS).values(values), there)


# Keeps work on files that nobody has saved yet, by its owner and the file: with what it was made on, so that it can be gone on with.


_FAST = 1


class Unsaved(NamedTuple):
    """Somebody's unsaved work on a file.

    Attributes:
        body: The work, as its author writes it.
        base: The file as it was when the work began.
        beside: What lay beside the file then; None where nothing did.
        at: When the work was changed last, in seconds since the epoch.
    """

    body: str
    base: bytes = b""
    beside: bytes | None = None
    at: float = 0.0


class UnsavedBox(Box[Unsaved]):
    """The unsaved work of everybody, by owner and file."""

    def put(self, owner: str, path: str, work: Unsaved | None) -> None:
        """Keep somebody's work on a file in the place of what was kept; None where there is none any more."""
        self._keep({(owner, path): work})

    def of(self, owner: str, path: str) -> Unsaved | None:
        """Return somebody's work on a file, durable or not; None where there is none.

        Raises:
            StoreError: The store does not answer, or the work is damaged.
        """
        with self.lock:
            if (owner, path) in self._unwritten:
                return self._unwritten[owner, path]
        if not is_id(owner):
            return None
        with self._database.reading() as connection:
            row = connection.execute(select(UNSAVED).where(_place(owner, path))).first()
        if row is None:
            return None
        try:
            beside = None if row.beside is None else zlib.decompress(row.beside)
            return Unsaved(json.loads(row.body), zlib.decompress(row.base), beside, row.at)
        except (TypeError, ValueError, zlib.error) as error:
            raise StoreError(f"the unsaved work on {path} is damaged in the session database") from error

    def _write(self, connection: Connection, unwritten: Mapping[tuple[str, str], Unsaved | None]) -> None:
        """Store the work."""
        for (owner, path), work in unwritten.items():
            if not is_id(owner):
                continue
            here = _place(owner, path)
            if work is None:
                connection.execute(delete(UNSAVED).where(here))
                continue
            mark = fingerprint(work.base) + fingerprint(work.beside or b"") + str(work.beside is None)
            body = {"body": json.dumps(work.body), "at": work.at}
            # What the work was made on is large, and the same for each change of it.
            changed = connection.execute(update(UNSAVED).where(here, UNSAVED.c.mark == mark).values(body))
            if not changed.rowcount:
                connection.execute(delete(UNSAVED).where(here))
                base = zlib.compress(work.base, _FAST)
                beside = None if work.beside is None else zlib.compress(work.beside, _FAST)
                row = {"owner": owner, "path": json.dumps(path), "mark": mark, "base": base, "beside": beside}
                connection.execute(insert(UNSAVED), row | body)


def _place(owner: str, path: str) -> ColumnElement[bool]:
    return (UNSAVED.c.owner == owner) & (UNSAVED.c.path == json.dumps(path))
