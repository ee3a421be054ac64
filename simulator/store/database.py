"""Opens the database and gives transactions to read and to write in."""

from __future__ import annotations

import logging
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL
from sqlalchemy.exc import SQLAlchemyError

from simulator.store import places, schema
from simulator.store.errors import StoreError, in_words

_LOG = logging.getLogger(__name__)
_BROUGHT_UP = (
    "The database of sessions, %s, was brought from schema version %d to %d; an older studio opens it no more"
)
_WRITES = "studio_writes"
_MOMENT = 0.01


class Database:
    """A database that holds the tables of this version. Safe to use from several threads.

    Args:
        place: A path of a SQLite file or a URL of PostgreSQL; the file and the tables are made where there are none.
        patience: For how many seconds a statement waits for another program's lock.

    Raises:
        StoreError: It cannot be opened, is none of ours, or was made by a newer version.
    """

    def __init__(self, place: str | Path, *, patience: float) -> None:
        url = places.database_url(place)
        self._file = Path(str(url.database)) if url.get_backend_name() == "sqlite" else None
        self.name = str(self._file or url.render_as_string(hide_password=True))
        self._identity = places.made_file(url)
        self._engine = _engine(url, patience)
        options: dict[str, Any] = {} if self._file else {"isolation_level": "REPEATABLE READ"}
        self._readers = self._engine.execution_options(**options)
        self._writers = self._engine.execution_options(**{_WRITES: True})
        try:
            with self.writing() as connection:
                before = schema.migrate(connection)
        except StoreError:
            self.close()
            raise
        if before is not None:
            # A warning, as it is written where nobody has set up a log too: an older studio opens it no more.
            _LOG.warning(_BROUGHT_UP, self.name, before, len(schema.STEPS) + 1)

    def close(self) -> None:
        """Let go of all connections that nobody uses at the moment."""
        self._engine.dispose()

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Give a transaction that sees the database as it is at one moment.

        Raises:
            StoreError: The database does not do what it is asked for.
        """
        with self._transaction(self._readers) as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Give a transaction that is committed at the end of the block, and undone where it raises.

        Raises:
            StoreError: As `reading`; it may have been committed all the same if the database was lost just then.
        """
        with self._transaction(self._writers) as connection:
            yield connection

    @contextmanager
    def _transaction(self, engine: Engine) -> Iterator[Connection]:
        # SQLite would go on writing to a file that has lost its name, and all of it would be lost.
        if self._file and places.identity(self._file) != self._identity:
            self._engine.dispose()
            raise StoreError(
                f"the database of sessions, {self._file}: the file is gone, or is another one now"
            )
        try:
            with engine.begin() as connection:
                yield connection
        except SQLAlchemyError as error:
            raise in_words(error, self.name) from error


def _engine(url: URL, patience: float) -> Engine:
    if url.get_backend_name() == "sqlite":
        engine = create_engine(url)
        event.listen(engine, "connect", lambda dbapi, _: _prepare_sqlite(dbapi, patience))
        event.listen(engine, "begin", _begin_sqlite)
        return engine
    try:
        wait = {"connect_timeout": max(2, round(patience))}
        engine = create_engine(url, pool_pre_ping=True, connect_args=wait)
    except ImportError as error:
        raise StoreError(
            "sessions in PostgreSQL need its driver: pip install 'golden-trace-studio[postgres]'"
        ) from error
    event.listen(engine, "connect", lambda dbapi, _: _prepare_postgresql(dbapi, patience))
    return engine


def _prepare_sqlite(connection: Any, patience: float) -> None:
    # The driver shall begin no transaction by itself: `_begin_sqlite` says which kind.
    connection.isolation_level = None
    # First of all, as the other settings may wait for a lock too.
    connection.execute(f"PRAGMA busy_timeout = {round(patience * 1000)}")
    _write_ahead(connection, patience)
    # No wait for the disk at each commit. A crash of this process loses nothing of what was committed; a power cut
    # can lose the newest commits, but the file is never left inconsistent.
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute("PRAGMA foreign_keys = ON")


def _write_ahead(connection: Any, patience: float) -> None:
    """Let readers and the writer not wait for each other; a file stays so once it is."""
    end = time.monotonic() + patience
    while connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
        try:
            found = connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]
        except sqlite3.OperationalError as error:
            # SQLite does not wait here, whatever the timeout: two that open a new file at once would both be refused.
            if not error.sqlite_errorname.startswith("SQLITE_BUSY") or time.monotonic() > end:
                raise
            time.sleep(_MOMENT)
        else:
            if found != "wal":  # some file systems cannot; then they do wait, and all else holds
                return


def _begin_sqlite(connection: Connection) -> None:
    # One who reads first and writes then would be refused, not made to wait, if another has written in between.
    writes = connection.get_execution_options().get(_WRITES)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _prepare_postgresql(connection: Any, patience: float) -> None:
    connection.autocommit = True
    connection.execute(f"SET lock_timeout = {round(patience * 1000)}")
    connection.autocommit = False
