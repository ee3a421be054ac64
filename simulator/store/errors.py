"""Says in plain words what went wrong between the studio and its database, which is named by its host and its name alone."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import quote, quote_plus

from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError, IntegrityError, SQLAlchemyError

from simulator.base.validation_words import InputError

HIDDEN = "***"
"""Stands where something of an address is not shown."""

_SHOWN = frozenset({"host", "hostaddr", "port", "dbname"})
"""What of a query may be seen; any other value can be a secret, or the path of one."""

_LONG_ENOUGH = 4
_PLAIN_NAME = re.compile(r"[^=@:/?&\s]+")
_KEY_AND_VALUE = re.compile(
    r"\s*(?:user|host|hostaddr|port|dbname|service|passfile)\s*=|.*\b\w*password\s*=",
    re.IGNORECASE | re.DOTALL,
)
_SCHEME = re.compile(r"\s*(?:postgres|postgresql|sqlite)(?:\+\w+)?(?::|/{2})", re.IGNORECASE)


def looks_like_address(place: str) -> bool:
    """Return whether a text that is no URL was meant as the address of a server, not as the path of a file."""
    return bool(_SCHEME.match(place) or _KEY_AND_VALUE.match(place))


def shown_name(url: URL) -> str:
    """Return the path of a file, or the hosts, ports and name of a database on a server."""
    if url.get_backend_name() == "sqlite":
        return str(url.database)
    port = f":{url.port}" if url.port is not None else ""
    hosts = [f"{_bracketed(url.host)}{port}"] if url.host else []
    hosts += [host for listed in _of_query(url, "host") for host in listed.split(",") if host]
    names = [url.database or "", *_of_query(url, "dbname")]
    name = next(filter(None, reversed(names)), "")
    return f"postgresql://{','.join(hosts)}/{name if _PLAIN_NAME.fullmatch(name) else HIDDEN if name else ''}"


def masked(text: str, url: URL) -> str:
    """Take out of a text what an address holds beside host, port and name, however it is written there."""
    values = [url.username or "", str(url.password or "")]
    values += [value for key in url.query if key not in _SHOWN for value in _of_query(url, key)]
    values += [
        name for name in (url.database or "", *_of_query(url, "dbname")) if not _PLAIN_NAME.fullmatch(name)
    ]
    forms = {
        form
        for value in values
        if value
        for form in (value, quote(value, safe=""), quote_plus(value), repr(value)[1:-1])
    }
    for form in sorted(forms, key=len, reverse=True):
        # A short one can stand in the middle of a word that has nothing to do with it.
        edge = r"\b" if len(form) < _LONG_ENOUGH and form.isalnum() else ""
        text = re.sub(f"{edge}{re.escape(form)}{edge}", HIDDEN, text)
    return text


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _of_query(url: URL, key: str) -> tuple[str, ...]:
    value = url.query.get(key, ())
    return (value,) if isinstance(value, str) else tuple(value)


class StoreError(InputError):
    """The store could not do what it was asked for; what was not durable is still in memory."""


class TakenError(StoreError):
    """The database holds a row with this key already."""


class UnknownSessionError(StoreError):
    """The store holds no session with this id, or it was deleted for good."""


class BrokenJournalError(StoreError):
    """A stored session cannot be read from fact `number` on that branch; `reason` says why."""

    def __init__(self, session_id: str, number: int, reason: str) -> None:
        super().__init__(f"session {session_id!r}: fact {number} is broken: {reason}")
        self.session_id, self.number, self.reason = session_id, number, reason


class HeadMovedError(StoreError):
    """Somebody else went on with the session meanwhile; what was appended here is stored as a branch beside it."""


class SessionHeldError(StoreError):
    """Somebody else plays the session at the moment: `where`, in words for people."""

    def __init__(self, session_id: str, where: str) -> None:
        super().__init__(f"session {session_id!r} is being played elsewhere: {where}")
        self.session_id, self.where = session_id, where


_SQLITE = {
    "SQLITE_BUSY": "it is locked by another program",
    "SQLITE_LOCKED": "it is locked by another program",
    "SQLITE_FULL": "the disk is full",
    "SQLITE_READONLY": "it is read-only; check the permissions of the file and its folder",
    "SQLITE_CANTOPEN": "it cannot be opened; check the permissions of the file and its folder",
    "SQLITE_PERM": "it cannot be opened; check the permissions of the file and its folder",
    "SQLITE_IOERR": "the disk cannot be read or written",
    "SQLITE_CORRUPT": "the file is damaged",
    "SQLITE_NOTADB": "the file is not a database",
}
_POSTGRESQL = {
    "55P03": "it is locked by another program",
    "57014": "it did not respond in time",
    "53100": "its disk is full",
    "53300": "it accepts no more connections",
    "25006": "it is read-only",
    "28P01": "it rejected the password",
    "28000": "it rejected this user",
    "3D000": "the database does not exist",
    "42501": "this user lacks permission",
}
_LOST = {"57P01", "57P02", "57P03", "08000", "08001", "08003", "08006", None}


def in_words(error: SQLAlchemyError, url: URL) -> StoreError:
    """Return the store's error for one of the database at `url`, of which host and name alone are shown.

    Raise it `from None`: the words of the error itself hold the statement, its values, and parts of the address.
    """
    cause: Any = error.orig if isinstance(error, DBAPIError) else None
    name = str(getattr(cause, "sqlite_errorname", ""))
    # An extended code begins with its family: SQLITE_IOERR_WRITE, SQLITE_READONLY_DBMOVED.
    reason = next((words for family, words in _SQLITE.items() if name.startswith(family)), None)
    if reason is None and hasattr(cause, "sqlstate"):
        lost = cause.sqlstate in _LOST or (isinstance(error, DBAPIError) and error.connection_invalidated)
        reason = _POSTGRESQL.get(cause.sqlstate) or ("it is not responding" if lost else None)
    said = " ".join(masked(str(cause if cause is not None else error), url).split())
    made = TakenError if isinstance(error, IntegrityError) else StoreError
    return made(f"the session database {shown_name(url)}: {reason or 'it failed'} ({said})")
