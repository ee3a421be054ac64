"""Lets one writer at a time into a file: by a lock that the kernel drops when its holder dies."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from pathlib import Path
from typing import TypeAlias

try:
    import fcntl
except ImportError:  # pragma: no cover - where the system has no flock, SQLite's own file lock serves
    HAS_FLOCK = False
else:
    HAS_FLOCK = True

Lock: TypeAlias = Callable[[Path, float], AbstractContextManager[None]]
"""Takes the lock file and how many seconds to wait for it; holds the lock while the context lasts."""

_FIRST_PAUSE = 0.0005
_LONGEST_PAUSE = 0.02


class LockTimeoutError(OSError):
    """Another writer held the lock for longer than we were ready to wait."""


def lock_path(target: Path) -> Path:
    """Give the lock file of a file: beside it, for the file itself is replaced by each write."""
    return target.with_name(f".{target.name}.lock")


@contextmanager
def folder_lock(path: Path, timeout: float) -> Iterator[None]:
    """Hold an advisory lock on the folder of `path`, which makes no file; on one at `path` where folders have none.

    Raises:
        LockTimeoutError: It was not free within `timeout` seconds.
        OSError: The folder cannot be opened, or the lock file cannot be made.
    """
    with _one_folder([path], timeout):
        yield


@contextmanager
def system_locks(paths: Iterable[Path], timeout: float) -> Iterator[None]:
    """Hold this system's locks of several files at once, as `system_lock` holds that of one.

    Files of one folder share its lock, where folders have some: taken twice by one process it would wait for itself.

    Raises:
        LockTimeoutError: One was not free within `timeout` seconds.
        OSError: As `system_lock`.
    """
    by_folder: dict[Path, list[Path]] = {}
    for path in sorted(set(paths)):
        by_folder.setdefault(path.parent, []).append(path)
    with ExitStack() as held:
        for together in by_folder.values():
            if HAS_FLOCK:
                held.enter_context(_one_folder(together, timeout))
            else:  # pragma: no cover - as for `HAS_FLOCK`
                for path in together:
                    held.enter_context(database_lock(path, timeout))
        yield


@contextmanager
def _one_folder(paths: Sequence[Path], timeout: float) -> Iterator[None]:
    """Hold the lock of the folder in which all of these files are, or one for each of them."""
    deadline = time.monotonic() + timeout
    descriptor = os.open(paths[0].parent, os.O_RDONLY | os.O_CLOEXEC)
    try:
        try:
            _wait(descriptor, paths[0], deadline)
        except LockTimeoutError:
            raise
        except OSError:  # network file systems lock only what is open for writing, which no folder is
            with ExitStack() as held:
                for path in paths:
                    held.enter_context(flock_lock(path, max(0.0, deadline - time.monotonic())))
                yield
        else:
            yield
    finally:
        os.close(descriptor)


@contextmanager
def flock_lock(path: Path, timeout: float) -> Iterator[None]:
    """Hold an advisory lock on `path`, which is there only as long as somebody holds it or waits.

    Raises:
        LockTimeoutError: It was not free within `timeout` seconds.
        OSError: The lock file cannot be made.
    """
    descriptor = _hold(path, time.monotonic() + timeout)
    try:
        yield
    finally:
        # While it is still held: who waits on the removed file finds that out and takes the next one.
        path.unlink(missing_ok=True)
        os.close(descriptor)


def _hold(path: Path, deadline: float) -> int:
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
        try:
            _wait(descriptor, path, deadline)
            if _is_the_file(descriptor, path):
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def _wait(descriptor: int, path: Path, deadline: float) -> None:
    pause = _FIRST_PAUSE
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise LockTimeoutError(f"{path} is held by another writer") from None
            time.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)
        else:
            return


def _is_the_file(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


@contextmanager
def database_lock(path: Path, timeout: float) -> Iterator[None]:
    """Hold SQLite's lock on an empty database at `path`: the same promise on every system that Python runs on.

    The file stays, as it cannot be removed safely everywhere.

    Raises:
        LockTimeoutError: It was not free within `timeout` seconds.
        OSError: The lock file cannot be made.
    """
    try:
        connection = sqlite3.connect(path, timeout=timeout, isolation_level=None)
    except sqlite3.OperationalError as error:
        raise OSError(f"{path}: {error}") from error
    with closing(connection):
        try:
            connection.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode == sqlite3.SQLITE_BUSY:
                raise LockTimeoutError(f"{path} is held by another writer") from error
            raise OSError(f"{path}: {error}") from error
        yield


system_lock: Lock = folder_lock if HAS_FLOCK else database_lock
"""The lock of this system."""
