"""Connects to PostgreSQL, and notices a server that stops answering: a stopped process or a cut line says nothing at all."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator
from functools import cache
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL
from sqlalchemy.exc import SQLAlchemyError

from simulator.store.errors import StoreError, in_words

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
