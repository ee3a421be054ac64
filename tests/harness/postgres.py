"""Runs a real PostgreSQL server in a folder of its own, on a loopback port, and restarts it when a test asks for that."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import psutil
import psycopg

from tests.harness.processes import free_port

_INSTALLED = Path("/usr/lib/postgresql")
_NOBODY = "nobody"
_SECONDS = "60"


class PostgresError(AssertionError):
    """The server's programs are missing or failed; the text says what they printed."""


def program(name: str) -> str:
    """Return one of PostgreSQL's programs: from the folder POSTGRES_BIN, the path, or where Debian puts them.

    Raises:
        PostgresError: The machine has none; no test may pass without it.
    """
    folders = sorted(_INSTALLED.glob("*/bin"), reverse=True)
    places = [os.environ.get("POSTGRES_BIN", ""), os.environ.get("PATH", ""), *map(str, folders)]
    found = next((path for place in places if place and (path := shutil.which(name, path=place))), None)
    if found is None:
        raise PostgresError(f"PostgreSQL's {name} is missing: `make postgres` installs it")
    return found


@dataclass
class Postgres:
    """A server that runs. Its user has no password; nobody else can connect to its port from another machine."""

    folder: Path
    port: int
    _numbers: Iterator[int]

    def new_database(self) -> str:
        """Make an empty database and return its URL."""
        name = f"test_{next(self._numbers)}"
        with psycopg.connect(self._url("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}".encode())
        return self._url(name)

    def _url(self, name: str) -> str:
        return f"postgresql://studio@127.0.0.1:{self.port}/{name}"

    def stop(self) -> None:
        """Stop the server as a machine that is switched off does."""
        _run("pg_ctl", "-D", str(self.folder), "-m", "immediate", "-w", "-t", _SECONDS, "stop")

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """Stop all its processes while the block runs: the machine takes connections for them, and nothing answers."""
        number = int((self.folder / "postmaster.pid").read_text().split()[0])
        main = psutil.Process(number)
        main.suspend()  # first, so that it makes no more
        children = main.children(recursive=True)
        for each in children:
            each.suspend()
        try:
            yield
        finally:
            for each in [*children, main]:
                each.resume()

    def start(self) -> None:
        """Start the server and wait until it answers."""
        # Without fsync a test is no slower than it must be; only the machine itself must not lose its power.
        options = f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories='' -c fsync=off"
        log = str(self.folder / "log")
        _run("pg_ctl", "-D", str(self.folder), "-l", log, "-o", options, "-w", "-t", _SECONDS, "start")


@contextmanager
def postgres() -> Iterator[Postgres]:
    """Run a server while the block runs."""
    place = os.environ.get("PYTEST_DEBUG_TEMPROOT")  # in memory, where there is room
    with tempfile.TemporaryDirectory(prefix="postgres-", ignore_cleanup_errors=True, dir=place) as made:
        folder = Path(made) / "data"
        folder.mkdir(mode=0o700)
        if os.geteuid() == 0:
            Path(made).chmod(0o755)
            shutil.chown(folder, _NOBODY)
        options = ("-U", "studio", "-A", "trust", "-E", "UTF8", "--no-sync", "--no-locale")
        _run("initdb", "-D", str(folder), *options)
        server = _started(folder)
        try:
            yield server
        finally:
            server.stop()


def _started(folder: Path, tries: int = 5) -> Postgres:
    """Start a server on a port that nobody else takes first: it cannot be told to take any."""
    server = Postgres(folder, free_port(), count(1))
    try:
        server.start()
    except PostgresError:
        if tries > 1:
            return _started(folder, tries - 1)
        raise
    return server


def _run(name: str, *arguments: str) -> None:
    """Run one of the programs, as somebody who is not root, as PostgreSQL refuses to run as root."""
    user = pwd.getpwnam(_NOBODY).pw_uid if os.geteuid() == 0 else None
    with tempfile.TemporaryFile() as output:  # a pipe would stay open as long as the server runs
        done = subprocess.run(
            [program(name), *arguments],
            stdout=output,
            stderr=subprocess.STDOUT,
            user=user,
            cwd="/",
            check=False,
        )
        output.seek(0)
        if done.returncode:
            raise PostgresError(f"{name} failed: {output.read().decode(errors='replace')[-2000:]}")
