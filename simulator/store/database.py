"""Opens the database, brings it to the schema of this version, and gives transactions to read and to write in."""

from __future__ import annotations

import logging
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

from sqlalchemy import (
    Column,
    Connection,
    Engine,
    Integer,
    MetaData,
    Table,
    create_engine,
    event,
    insert,
    inspect,
    select,
    text,
    update,
)
from sqlalchemy.engine import URL
from sqlalchemy.exc import SQLAlchemyError

from simulator.store.database_tables import METADATA
from simulator.store.errors import StoreError, in_words, shown_name
from simulator.store.locations import database_url, identity, made_file, network_file_system
from simulator.store.postgresql import UPGRADE_SECONDS, Line, be_patient, postgresql_engine

Step: TypeAlias = Callable[[Connection], None]


def _add_leases(connection: Connection) -> None:
    connection.execute(
        text(
            "CREATE TABLE studio_leases (session_id VARCHAR NOT NULL PRIMARY KEY "
            "REFERENCES studio_sessions (session_id) ON DELETE CASCADE, token VARCHAR NOT NULL, "
            "holder VARCHAR NOT NULL, place TEXT NOT NULL, until DOUBLE PRECISION NOT NULL)"
        )
    )


def _add_unsaved(connection: Connection) -> None:
    binary = "BYTEA" if connection.dialect.name == "postgresql" else "BLOB"
    connection.execute(
        text(
            "CREATE TABLE studio_unsaved (owner VARCHAR NOT NULL, path TEXT NOT NULL, body TEXT NOT NULL, "
            f"at DOUBLE PRECISION NOT NULL, mark VARCHAR NOT NULL, base {binary} NOT NULL, beside {binary}, "
            "PRIMARY KEY (owner, path))"
        )
    )


STEPS: tuple[Step, ...] = (_add_leases, _add_unsaved)
"""The n-th brings a database from version n to n + 1, counted from 1. A step is never changed once it was released."""

_VERSION = Table("studio_schema", MetaData(), Column("version", Integer, nullable=False))
_ONE_AT_A_TIME = 0x601DE17  # any number that nobody else takes for their advisory lock


def migrate(connection: Connection, steps: Sequence[Step] = STEPS, tables: MetaData = METADATA) -> int | None:
    """Make the tables in a database that has none, or take the steps that it lacks; return the version that it had then.

    Args:
        connection: In a transaction that is for writing; another process waits, and then finds all done.
        steps: See `STEPS`.
        tables: What there is after the last step.

    Raises:
        StoreError: The database was made by a newer version of the studio.
    """
    latest = len(steps) + 1
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _ONE_AT_A_TIME})
    if not inspect(connection).has_table(_VERSION.name):
        _VERSION.create(connection)
        tables.create_all(connection)
        connection.execute(insert(_VERSION).values(version=latest))
        return None
    version = connection.scalar(select(_VERSION.c.version))
    if not isinstance(version, int) or version < 1:
        raise StoreError(
            f"the session database is damaged: its schema version is {version!r}. Use a copy of it, or another database"
        )
    if version > latest:
        raise StoreError(
            f"the session database has schema version {version}, but this studio supports up to {latest}. "
            "Start the newer studio that created it, or use another database"
        )
    if version < latest:
        be_patient(connection, UPGRADE_SECONDS)
    for step in steps[version - 1 :]:
        step(connection)
    if version < latest:
        connection.execute(update(_VERSION).values(version=latest))
        return int(version)
    return None


_LOG = logging.getLogger(__name__)
_BROUGHT_UP = (
    "The session database %s was upgraded from schema version %d to %d. Older studios cannot open it"
)
_ON_A_NETWORK = (
    "The file is on a network file system ({kind}), where locks and disk writes are not reliable. The newest steps "
    "can be lost if a server or the network fails, and only one machine may use it. Use a file on a local disk, or PostgreSQL"
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
        url = database_url(place)
        self._file = Path(str(url.database)) if url.get_backend_name() == "sqlite" else None
        self._url, self.name = url, shown_name(url)
        self._identity = made_file(url)
        self._engine, self._line = _engine(url, patience)
        options: dict[str, Any] = {} if self._file else {"isolation_level": "REPEATABLE READ"}
        self._readers = self._engine.execution_options(**options)
        self._writers = self._engine.execution_options(**{_WRITES: True})
        try:
            with self.writing() as connection:
                before = migrate(connection)
        except StoreError:
            self.close()
            raise
        kind = network_file_system(self._file) if self._file else ""
        self.caution = _ON_A_NETWORK.format(kind=kind) if kind else ""
        if self.caution:
            _LOG.warning("The session database %s: %s", self.name, self.caution)
        if before is not None:
            # A warning, as it is written where nobody has set up a log too: an older studio opens it no more.
            _LOG.warning(_BROUGHT_UP, self.name, before, len(STEPS) + 1)

    def close(self) -> None:
        """Let go of all connections that nobody uses at the moment."""
        if self._line is not None:
            self._line.close()
        self._engine.dispose()

    def when_back(self, call: Callable[[], None]) -> None:
        """Call this each time the server answers again after it did not."""
        if self._line is not None:
            self._line.on_return = call

    def suspect(self) -> None:
        """Note that somebody waited in vain: until a server has answered, nobody else waits for it. Takes no time itself."""
        if self._line is not None:
            self._line.lose()

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Return a transaction that sees the database as it is at one moment.

        Raises:
            StoreError: The database does not do what it is asked for.
        """
        with self._transaction(self._readers) as connection:
            yield connection

    @contextmanager
    def writing(self, *, unhurried: float = 0.0) -> Iterator[Connection]:
        """Return a transaction that is committed at the end of the block, and undone where it raises.

        Args:
            unhurried: Seconds for which a server may say nothing, where nobody waits for this; 0 for the usual ones.

        Raises:
            StoreError: As `reading`; it may have been committed all the same if the database was lost just then.
        """
        with self._transaction(self._writers) as connection:
            if unhurried:
                be_patient(connection, unhurried)
            yield connection

    @contextmanager
    def _transaction(self, engine: Engine) -> Iterator[Connection]:
        # SQLite would go on writing to a file that has lost its name, and all of it would be lost.
        if self._file and identity(self._file) != self._identity:
            self._engine.dispose()
            raise StoreError(f"the session database {self._file}: the file was removed or replaced")
        if self._line is not None and self._line.is_lost:
            raise StoreError(f"the session database {self.name}: it is not responding ({self._line.words()})")
        try:
            with engine.begin() as connection:
                yield connection
        except SQLAlchemyError as error:
            raise in_words(error, self._url) from None


def _engine(url: URL, patience: float) -> tuple[Engine, Line | None]:
    if url.get_backend_name() == "sqlite":
        engine = create_engine(url, hide_parameters=True)
        event.listen(engine, "connect", lambda dbapi, _: _prepare_sqlite(dbapi, patience))
        event.listen(engine, "begin", _begin_sqlite)
        return engine, None
    return postgresql_engine(url, patience)


def _prepare_sqlite(connection: Any, patience: float) -> None:
    # The driver shall begin no transaction by itself: `_begin_sqlite` says which kind.
    connection.isolation_level = None
    # First of all, as the other settings may wait for a lock too.
    connection.execute(f"PRAGMA busy_timeout = {round(patience * 1000)}")
    _write_ahead(connection, patience)
    # Each commit waits for the disk, so that not even a power cut loses what was acknowledged. With the write-ahead log
    # that is one call of fsync; NORMAL would survive a killed process, and lose the newest commits with the power.
    connection.execute("PRAGMA synchronous = FULL")
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
