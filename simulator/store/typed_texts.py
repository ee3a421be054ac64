"""Keeps texts that were typed and not sent, in the background."""

from __future__ import annotations

import json
import logging
import threading
import zlib
from collections.abc import Mapping
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, bindparam, delete, insert, select, update

from simulator.base.json_values import fingerprint
from simulator.store.database import DRAFTS, SESSIONS, UNSAVED, WRITER_SECONDS, Database
from simulator.store.durability import Unwritten, Writer
from simulator.store.errors import StoreError
from simulator.store.session_rows import is_id

_LOG = logging.getLogger(__name__)


class DraftBox(Unwritten):
    """The drafts of all sessions, by session and name."""

    def __init__(self, database: Database, writer: Writer) -> None:
        super().__init__()
        self._database, self._writer = database, writer
        self._lock = threading.Lock()
        self._unwritten: dict[tuple[str, str], str | None] = {}
        self._changes, self._stored = 0, 0

    @property
    def name(self) -> str:
        """What it is, in an error."""
        return "typed text"

    def changes(self) -> int:
        """How often drafts were put."""
        return self._changes

    def changes_stored(self) -> int:
        """How many of these changes are durable."""
        return self._stored

    def put(self, session_id: str, changed: Mapping[str, str | None]) -> None:
        """Change drafts of a session; None takes one away."""
        with self._lock:
            self._unwritten |= {(session_id, name): text for name, text in changed.items()}
            self._changes += 1
        self._writer.tell(self)

    def of(self, session_id: str) -> dict[str, str]:
        """Return the drafts of a session as they are now, durable or not."""
        with self._lock:
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

    def store(self) -> None:
        """Store what is not durable; see `Unwritten`. Drafts of sessions that are gone are dropped."""
        with self._lock:
            changes, unwritten = self._changes, dict(self._unwritten)
        with self._database.writing(unhurried=WRITER_SECONDS) as connection:
            ids = sorted({session_id for session_id, _ in unwritten if is_id(session_id)})
            known = set(
                connection.scalars(select(SESSIONS.c.session_id).where(SESSIONS.c.session_id.in_(ids)))
            )
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
        with self._lock:
            for key, text in unwritten.items():
                if self._unwritten.get(key, text) is text:
                    self._unwritten.pop(key, None)
            self._stored = changes


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


class UnsavedBox(Unwritten):
    """The unsaved work of everybody."""

    def __init__(self, database: Database, writer: Writer) -> None:
        super().__init__()
        self._database, self._writer = database, writer
        self._lock = threading.Lock()
        self._unwritten: dict[tuple[str, str], Unsaved | None] = {}
        self._changes, self._stored = 0, 0

    @property
    def name(self) -> str:
        """What it is, in an error."""
        return "unsaved edits"

    def changes(self) -> int:
        """How often work was put."""
        return self._changes

    def changes_stored(self) -> int:
        """How many of these changes are durable."""
        return self._stored

    def put(self, owner: str, path: str, work: Unsaved | None) -> None:
        """Keep somebody's work on a file in the place of what was kept; None where there is none any more."""
        with self._lock:
            self._unwritten[owner, path] = work
            self._changes += 1
        self._writer.tell(self)

    def of(self, owner: str, path: str) -> Unsaved | None:
        """Return somebody's work on a file, durable or not; None where there is none.

        Raises:
            StoreError: The store does not answer, or the work is damaged.
        """
        with self._lock:
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

    def store(self) -> None:
        """Store what is not durable; see `Unwritten`."""
        with self._lock:
            changes, unwritten = self._changes, dict(self._unwritten)
        with self._database.writing(unhurried=WRITER_SECONDS) as connection:
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
                    row = {
                        "owner": owner,
                        "path": json.dumps(path),
                        "mark": mark,
                        "base": base,
                        "beside": beside,
                    }
                    connection.execute(insert(UNSAVED), row | body)
        with self._lock:
            for key, work in unwritten.items():
                if self._unwritten.get(key, work) is work:
                    self._unwritten.pop(key, None)
            self._stored = changes


def _place(owner: str, path: str) -> ColumnElement[bool]:
    return (UNSAVED.c.owner == owner) & (UNSAVED.c.path == json.dumps(path))
