"""Opens the database, brings it to the schema of this version, and gives transactions to read and to write in; what PostgreSQL needs besides.

The tables come first: sessions, their facts, texts that were typed and not sent, who plays, and unsaved work on files. A PostgreSQL
server that was stopped, or is behind a cut line, says nothing at all: a connection that is silent for longer than the server's own patience is given up, and another thread looks
whether it answers again.
"""

from __future__ import annotations

import logging
import sqlite3
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from sqlalchemy import (
    Boolean,
    Column,
    Connection,
    Double,
    Engine,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
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

from simulator.store.errors import (
    StoreError,
    database_url,
    identity,
    in_words,
    made_file,
    network_file_system,
    shown_name,
)

METADATA = MetaData()

# The names say whose they are: a PostgreSQL database may be shared, and ADK has a table `sessions` too.
SESSIONS = Table(
    "studio_sessions",
    METADATA,
    Column("session_id", String, primary_key=True),
    Column("owner", String, nullable=False),
    Column("app_name", String, nullable=False),
    Column("agent_name", String, nullable=False),
    Column("agent_key", String, nullable=False),
    Column("agent_digest", String, nullable=False),
    Column("name", Text, nullable=False),
    Column("query", Text, nullable=False),
    Column("tags", Text, nullable=False),  # a JSON list
    Column("notes", Text, nullable=False),
    Column("words", Text, nullable=False),  # what a search looks in, without upper case
    Column("status", String, nullable=False),
    Column("turns", Integer, nullable=False),
    Column("created_at", Double, nullable=False),
    Column("changed_at", Double, nullable=False),
    Column("archived", Boolean, nullable=False),
    Column("deleted_at", Double),
    Column("shared_token", String, unique=True),
    Column("head", Integer, nullable=False),
    Column("length", Integer, nullable=False),
    Index("studio_sessions_of_owner", "owner", "changed_at"),
)

FACTS = Table(
    "studio_facts",
    METADATA,
    Column("session_id", ForeignKey(SESSIONS.c.session_id, ondelete="CASCADE"), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("parent", Integer, nullable=False),
    Column("kind", String, nullable=False),
    Column("at", Double, nullable=False),
    Column("body", Text, nullable=False),  # the fact as JSON; text, as PostgreSQL's own JSON knows no NUL
)

DRAFTS = Table(
    "studio_drafts",
    METADATA,
    Column("session_id", ForeignKey(SESSIONS.c.session_id, ondelete="CASCADE"), primary_key=True),
    # Both are JSON strings in ASCII: a model's text may hold what a database cannot.
    Column("name", Text, primary_key=True),
    Column("text", Text, nullable=False),
)


LEASES = Table(
    "studio_leases",
    METADATA,
    Column("session_id", ForeignKey(SESSIONS.c.session_id, ondelete="CASCADE"), primary_key=True),
    Column("token", String, nullable=False),  # of this one claim
    Column("holder", String, nullable=False),
    Column("place", Text, nullable=False),  # in words for people
    Column("until", Double, nullable=False),
)


UNSAVED = Table(
    "studio_unsaved",
    METADATA,
    Column("owner", String, primary_key=True),
    Column(
        "path", Text, primary_key=True
    ),  # a JSON string in ASCII, as the next one: a path need not be text
    Column("body", Text, nullable=False),
    Column("at", Double, nullable=False),
    Column("mark", String, nullable=False),  # tells what the work was made on from something else
    Column("base", LargeBinary, nullable=False),  # compressed, as the next one
    Column("beside", LargeBinary),
)


class Place(NamedTuple):
    """Where a stored session is: the number of its head's fact, and how many facts it has."""

    head: int
    length: int


MARGIN_SECONDS = 0.5
"""A server that waits for a lock says so after the patience; only one that says nothing for longer is lost."""

WRITER_SECONDS = 10.0
"""Seconds of silence after which a write behind everybody's back is given up: nobody waits for it, and a disk may be slow."""

STATEMENT_SECONDS = 60
"""The server itself ends a statement after so many seconds, also where nobody waits for it any more."""

UPGRADE_SECONDS = 3_600.0
"""An upgrade of the schema may take so long without a word."""

PROBE_SECONDS = 1.0
"""How often it is looked whether a server that was lost answers again."""

_LEAST_CONNECT_SECONDS = 2  # the driver takes no less
_KEEPALIVES = {"keepalives": 1, "keepalives_idle": 10, "keepalives_interval": 2, "keepalives_count": 3}


class Line:
    """Whether a server answers. While it does not, nobody waits for it: one thread asks until it does. Thread-safe.

    Args:
        answers: Raises where the server does not answer.
    """

    def __init__(self, answers: Callable[[], object]) -> None:
        self._answers = answers
        self._lock, self._closed = threading.Lock(), threading.Event()
        self._since: float | None = None
        self.on_return: Callable[[], None] = lambda: None
        """Is called when the server answers again."""

    @property
    def is_lost(self) -> bool:
        """Whether it does not answer, as far as anybody knows."""
        return self._since is not None

    def lose(self) -> None:
        """Note that the server did not answer."""
        with self._lock:
            if self._since is not None or self._closed.is_set():
                return
            self._since = time.time()
        threading.Thread(target=self._ask, name="store line", daemon=True).start()

    def words(self) -> str:
        """Say since when it does not answer."""
        since = self._since
        return f"no response since {time.strftime('%H:%M:%S', time.localtime(since))}" if since else ""

    def close(self) -> None:
        """Ask no more."""
        self._closed.set()

    def _ask(self) -> None:
        while not self._closed.is_set():
            try:
                self._answers()
            except Exception:  # noqa: BLE001 - whatever it is, the server does not answer yet; who uses it is told why
                self._closed.wait(PROBE_SECONDS)
            else:
                self._since = None
                self.on_return()
                return


def postgresql_engine(url: URL, patience: float) -> tuple[Engine, Line]:
    """Return an engine whose connections give up on a server that says nothing, and whether the server answers.

    Args:
        url: The database.
        patience: Seconds for which a statement waits for a lock, and about so long for the server.

    Raises:
        StoreError: The driver is not installed, or does not take the URL.
    """
    arguments = _arguments(url, patience)
    try:
        engine = create_engine(
            url, pool_pre_ping=True, pool_timeout=patience, connect_args=arguments, hide_parameters=True
        )
        line = Line(lambda: _ask(engine, arguments, patience))
        _listen(engine, line, patience)
    except SQLAlchemyError as error:
        raise in_words(error, url) from None
    except ImportError as error:
        raise StoreError(
            "sessions in PostgreSQL need its driver: pip install 'golden-trace-studio[postgres]'"
        ) from error
    return engine, line


def _arguments(url: URL, patience: float) -> dict[str, int]:
    """Return the settings of a connection; what the URL says itself stands."""
    wanted = {
        "connect_timeout": max(_LEAST_CONNECT_SECONDS, round(patience)),
        "tcp_user_timeout": round(patience * 1000),
        **_KEEPALIVES,
    }
    return {name: value for name, value in wanted.items() if name not in url.query}


def _listen(engine: Engine, line: Line, patience: float) -> None:
    """Make the engine's connections by ourselves, and notice where one is not to be had."""
    bounded = _bounded_connection()

    def connect(_dialect: Any, _record: Any, args: Any, named: Any) -> Any:
        if line.is_lost:
            raise _psycopg().OperationalError(line.words())
        try:
            made = bounded.connect(*args, **named)
        except _psycopg().errors.ConnectionTimeout:
            line.lose()
            raise
        made.patience = made.usual_patience = patience + MARGIN_SECONDS
        made.on_silence = line.lose
        return made

    event.listen(engine, "do_connect", connect)
    event.listen(engine, "connect", lambda dbapi, _: _prepare(dbapi, patience))
    event.listen(engine, "checkin", _be_as_usual)


def _ask(engine: Engine, arguments: dict[str, int], patience: float) -> None:
    """Ask the server for something on a connection of its own; raises where it does not answer."""
    args, named = engine.dialect.create_connect_args(engine.url)
    probe = _bounded_connection().connect(*args, **{**named, **arguments})
    probe.patience = patience + MARGIN_SECONDS
    try:
        probe.execute("SELECT 1")
    finally:
        probe.close()


def be_patient(connection: Connection, seconds: float) -> None:
    """Let the rest of a transaction take longer: so many seconds of silence. Nothing is done for another database."""
    if connection.dialect.name != "postgresql":
        return
    line: Any = connection.connection.dbapi_connection
    line.patience = seconds
    if seconds > STATEMENT_SECONDS:
        connection.exec_driver_sql("SET LOCAL statement_timeout = 0")


def _be_as_usual(connection: Any, _record: Any) -> None:
    """Let the next user of the connection wait no longer than others."""
    if connection is not None:
        connection.patience = connection.usual_patience


def _prepare(connection: Any, patience: float) -> None:
    connection.autocommit = True
    connection.execute(
        f"SET lock_timeout = {round(patience * 1000)}; SET statement_timeout = {STATEMENT_SECONDS * 1000}; "
        # What was acknowledged is on the server's disk, also where the server is set up to be faster than that.
        "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'"
    )
    connection.autocommit = False


def _psycopg() -> Any:
    import psycopg  # noqa: PLC0415 - an extra: not everybody has the driver

    return psycopg


@cache
def _bounded_connection() -> Any:
    import psycopg  # noqa: PLC0415 - as above

    class Bounded(psycopg.Connection[Any]):
        """A connection that gives up after some seconds in which its server says nothing.

        No timeout of the server's own helps where its process is stopped, and none of TCP's, as the machine still answers.
        """

        patience = usual_patience = 60.0
        on_silence: Callable[[], None] = staticmethod(lambda: None)

        def wait(self, gen: Any, *args: Any, **named: Any) -> Any:
            """Wait as any connection does, for so long."""
            return super().wait(self._while_it_speaks(gen), *args, **named)

        def _while_it_speaks(self, gen: Any) -> Generator[Any, Any, Any]:
            try:
                wanted, heard = next(gen), time.monotonic()
                while True:
                    ready = yield wanted
                    now = time.monotonic()
                    if ready:
                        heard = now
                    elif now - heard > self.patience:
                        self.on_silence()
                        self.close()
                        raise psycopg.OperationalError(f"no response from the server for {self.patience:g} s")
                    wanted = gen.send(ready)
            except StopIteration as end:
                return end.value

    return Bounded


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
