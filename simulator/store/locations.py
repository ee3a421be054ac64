"""Says where the sessions are kept: which database a word stands for, and the file that is taken where none is named."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from simulator.base.user_files import data_folder, made_folder, narrow_file
from simulator.store.errors import StoreError, looks_like_address

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
