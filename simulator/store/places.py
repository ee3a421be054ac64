"""Says where the sessions are kept: which database a word stands for, and the file that is taken where none is named."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from simulator.store.errors import StoreError

FILE_NAME = "sessions.db"
FOLDER_NAME = "golden-trace-studio"
DATA_DIR = "GOLDEN_TRACE_DATA_DIR"


def default_path(env: Mapping[str, str]) -> Path:
    """Give the file for sessions where nobody named another; nothing is created.

    It is in the folder that GOLDEN_TRACE_DATA_DIR names, else in the one where the platform keeps a user's data.
    """
    if folder := env.get(DATA_DIR):
        return Path(folder).expanduser() / FILE_NAME
    # What is no absolute path counts as not set, as the XDG base directory specification says.
    data = Path(env.get("XDG_DATA_HOME", ""))
    home = Path(env["HOME"]) if env.get("HOME") else Path.home()
    return (data if data.is_absolute() else home / ".local" / "share") / FOLDER_NAME / FILE_NAME


def database_url(place: str | Path) -> URL:
    """Give the database's URL for a path of a file, or for a URL of SQLite or PostgreSQL.

    Raises:
        StoreError: It is a URL of something else, or of nothing that could be kept.
    """
    if isinstance(place, Path) or "://" not in place:
        return URL.create("sqlite", database=str(Path(place).absolute()))
    try:
        url = make_url(place)
    except (ArgumentError, ValueError) as error:
        raise StoreError(f"not a URL of a database: {error}") from error
    match url.get_backend_name():
        case "sqlite" if url.database and url.database != ":memory:" and not url.query:
            return URL.create("sqlite", database=str(Path(url.database).absolute()))
        case "sqlite":
            raise StoreError("sessions are kept in a file; name one, as in sqlite:///sessions.db")
        case "postgresql" | "postgres":
            return url.set(drivername="postgresql+psycopg")
        case other:
            raise StoreError(
                f"sessions are kept in SQLite (a path of a file) or PostgreSQL (postgresql://...), not in {other}"
            )


def made_file(url: URL) -> tuple[int, int] | None:
    """Make a SQLite file for this user alone, in a folder for this user alone, where there is none; give its identity.

    Raises:
        StoreError: It cannot be made.
    """
    if url.get_backend_name() != "sqlite":
        return None
    path = Path(str(url.database))
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
        return identity(path)
    except OSError as error:
        raise StoreError(f"the database of sessions, {path}: it cannot be made ({error.strerror})") from error


def identity(path: Path) -> tuple[int, int] | None:
    """Give what tells a file from another one at the same path; None where there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
