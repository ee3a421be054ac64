"""Says in plain words where the studio keeps its sessions, and what went wrong there; a database is named by its host and its name alone.

`database_url` reads the path, folder or address that somebody gave; `in_words` writes an error of the database without secrets. All that the store raises is a `StoreError`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, IntegrityError, SQLAlchemyError

from simulator.base.user_files import data_folder, made_folder, narrow_file
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


FILE_NAME = "sessions.db"
_NO_URL = (
    "not a database URL: use the path of a file, or postgresql://user:password@host:port/database. Percent-encode special "
    "characters in the user name and password (@ as %40, : as %3A, / as %2F)"
)
_KIND_PLACE = 2


def default_path(env: Mapping[str, str]) -> Path:
    """Return the file for sessions where nobody named another, in the folder of a user's data; nothing is created."""
    return data_folder(env) / FILE_NAME


def database_url(place: str | Path) -> URL:
    """Return the database's URL for a path of a file, or of a folder that holds it, or for a URL of SQLite or PostgreSQL.

    Raises:
        StoreError: It is a URL of something else, or of nothing that could be kept.
    """
    if isinstance(place, Path) or "://" not in place:
        if isinstance(place, str) and looks_like_address(place):
            raise StoreError(_NO_URL)
        path = Path(place).absolute()
        return URL.create("sqlite", database=str(path / FILE_NAME if path.is_dir() else path))
    try:
        url = make_url(place)
    except (ArgumentError, ValueError):  # whose words quote a part of it, which may be the password
        raise StoreError(_NO_URL) from None
    if "@" in (url.host or ""):
        raise StoreError(_NO_URL)
    match url.get_backend_name():
        case "sqlite" if url.database and url.database != ":memory:" and not url.query:
            return URL.create("sqlite", database=str(Path(url.database).absolute()))
        case "sqlite":
            raise StoreError("sessions need a file; name one, as in sqlite:///sessions.db")
        case "postgresql" | "postgres":
            return url.set(drivername="postgresql+psycopg")
        case other:
            raise StoreError(
                f"sessions can be stored in SQLite (the path of a file) or PostgreSQL (postgresql://...), not in {other}"
            )


def file_of(place: str | Path) -> Path | None:
    """Return the file that a path or a URL of SQLite names; None for a database on a server.

    Raises:
        StoreError: It is the address of nothing that could be kept.
    """
    url = database_url(place)
    return Path(str(url.database)) if url.get_backend_name() == "sqlite" else None


def made_file(url: URL) -> tuple[int, int] | None:
    """Make a SQLite file for this user alone, in a folder for this user alone, where there is none; return its identity.

    Raises:
        StoreError: It cannot be made.
    """
    if url.get_backend_name() != "sqlite":
        return None
    path = Path(str(url.database))
    log, did = path.with_name(f"{path.name}-wal"), "opened" if path.exists() else "created"
    try:
        if did == "opened" and not path.stat().st_size and log.is_file() and log.stat().st_size:
            # SQLite takes it for a new database, and removes the log.
            raise StoreError(
                f"the session database {path}: the file is empty, but steps of it are in {log}. Put a copy of the file back, or use another database"
            )
        made_folder(path.parent, private=not path.parent.exists())
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
        for each in (path, *(path.with_name(f"{path.name}{ending}") for ending in ("-wal", "-shm"))):
            narrow_file(each)
        return identity(path)
    except OSError as error:
        raise StoreError(f"the session database {path}: it cannot be {did} ({error.strerror})") from error


_NETWORK = frozenset(
    {"afs", "ceph", "cifs", "glusterfs", "lustre", "ncpfs", "nfs", "nfs4", "smb3", "smbfs", "9p"}
)
_NETWORK_FUSE = ("fuse.sshfs", "fuse.glusterfs", "fuse.rclone", "fuse.s3fs", "fuse.gcsfuse", "fuse.davfs")
MOUNTS = Path("/proc/self/mounts")
"""Where Linux says what is mounted."""


def network_file_system(path: Path, mounts: Path = MOUNTS) -> str:
    """Return the kind of the network file system that a path is on; empty where it is on a disk, or nobody knows."""
    try:
        lines = [line.split() for line in mounts.read_text(encoding="utf-8", errors="replace").splitlines()]
    except OSError:
        return ""
    here = path.resolve()
    # A blank in a mount point is written as an octal escape.
    points = [(Path(line[1].replace("\\040", " ")), line[2]) for line in lines if len(line) > _KIND_PLACE]
    around = [(len(point.parts), kind) for point, kind in points if here.is_relative_to(point)]
    kind = max(around, key=lambda found: found[0], default=(0, ""))[1]
    return kind if kind in _NETWORK or kind.startswith(_NETWORK_FUSE) else ""


def identity(path: Path) -> tuple[int, int] | None:
    """Return what tells a file from another one at the same path; None where there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
