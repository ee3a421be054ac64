"""Files of a user: where their data is kept, and how a file is written whole or not at all.

A new text is written beside the file, forced to the disk and put in its place, so that a reader, also after a crash, sees the old or the new one.
One writer at a time is let in, by a lock that the system drops when its holder dies.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from io import FileIO
from pathlib import Path
from typing import TypeAlias

_PRIVATE, _OF_OTHERS = 0o700, 0o077
FOLDER_NAME = "golden-trace-studio"
DATA_DIR = "GOLDEN_TRACE_DATA_DIR"
"""Names another folder for a user's data."""


def data_folder(env: Mapping[str, str]) -> Path:
    """Return the folder; nothing is created.

    It is the one that GOLDEN_TRACE_DATA_DIR names, else one where the platform keeps a user's data.
    """
    if folder := env.get(DATA_DIR):
        return Path(folder).expanduser()
    # What is no absolute path counts as not set, as the XDG base directory specification says.
    data = Path(env.get("XDG_DATA_HOME", ""))
    home = Path(env["HOME"]) if env.get("HOME") else Path.home()
    return (data if data.is_absolute() else home / ".local" / "share") / FOLDER_NAME


def made_folder(folder: Path, *, private: bool = False) -> Path:
    """Make a folder with those above it; the user's data, and what is private, is for this user alone, whatever the umask.

    What is there with a wider mode is narrowed where it is this user's: an earlier version may have made it.

    Args:
        folder: The folder.
        private: Whether it is for this user alone also outside of their data.

    Raises:
        OSError: It cannot be made.
    """
    inside = [each for each in (folder, *folder.parents) if _is_data(each)]
    for each in reversed([*inside, *([folder] if private else [])]):
        each.mkdir(mode=_PRIVATE, parents=True, exist_ok=True)
        _narrow(each)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def narrow_file(path: Path) -> None:
    """Take a file of the user's data from all others, where it is there; one elsewhere keeps its mode."""
    if _is_data(path) and path.is_file():
        _narrow(path)


def _is_data(path: Path) -> bool:
    data = data_folder(os.environ).absolute()
    return path == data or data in path.parents


def _narrow(folder: Path) -> None:
    if not hasattr(os, "getuid"):
        return
    with contextlib.suppress(OSError):  # a file system without modes
        status = folder.stat()
        # One with a sticky bit is everybody's, as /tmp is: somebody has named it for the data all the same.
        if (
            status.st_uid == os.getuid()
            and status.st_mode & _OF_OTHERS
            and not status.st_mode & stat.S_ISVTX
            and folder.resolve() != Path.home().resolve()
        ):
            folder.chmod(stat.S_IMODE(status.st_mode) & ~_OF_OTHERS)


Replace: TypeAlias = Callable[[Path, Path], None]
"""Puts the first file in the place of the second at once, as `os.replace` does."""

_CHUNK = 1 << 20


def temporary_path(target: Path) -> Path:
    """Return the path of the file that becomes `target`; one is enough, as a lock lets in one writer at a time."""
    return target.with_name(f".{target.name}.tmp")


def write_whole(
    target: Path,
    pieces: Iterable[bytes | memoryview],
    *,
    before_replace: Callable[[], None] = lambda: None,
    replace: Replace = os.replace,
) -> os.stat_result:
    """Write a file beside `target`, force it to the disk, and put it in its place; for the holder of its lock.

    After a power failure the target is whole too: the new one, or (if the system had not yet kept the renaming) the
    old one, which `sync_folder` then rules out. Mode, owner and extended attributes of an existing target are kept. What a killed writer left is removed.

    Args:
        target: The file; not a symbolic link.
        pieces: Its content.
        before_replace: Called when all is written; raises to leave the target as it is.
        replace: Puts the new file in its place.

    Returns:
        The new file's status.

    Raises:
        OSError: The disk or the folder refused; the target is as it was.
    """
    temporary = temporary_path(target)
    try:
        with _opened_anew(temporary) as file:
            _write(file, pieces)
            _take_over_attributes(target, file.fileno())
            os.fsync(file.fileno())
            written = os.fstat(file.fileno())
        before_replace()
        replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    return written


def _opened_anew(temporary: Path) -> FileIO:
    try:
        return _created(temporary)
    except FileExistsError:
        temporary.unlink()
        return _created(temporary)


def _created(path: Path) -> FileIO:
    """Create a file: for this user alone in a folder that is so, else as the umask has it."""
    return FileIO(
        os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode_in(path.parent)), "wb"
    )


def mode_in(folder: Path) -> int:
    """Return the mode of a new file in a folder, before the umask."""
    return 0o666 if folder.stat().st_mode & 0o077 else 0o600


def _write(file: FileIO, pieces: Iterable[bytes | memoryview]) -> None:
    place = 0
    for piece in _gathered(pieces):
        left = memoryview(piece)
        while left:
            written = file.write(left)
            left = left[written:]
            if written >= _CHUNK:
                _start_writing_out(file.fileno(), place, written)
            place += written


def _gathered(pieces: Iterable[bytes | memoryview]) -> Iterator[bytes | memoryview | bytearray]:
    """Join small pieces, so that each write is worth its call."""
    gathered = bytearray()
    for piece in pieces:
        if not gathered and len(piece) >= _CHUNK:
            yield piece
            continue
        gathered += piece
        if len(gathered) >= _CHUNK:
            yield gathered
            gathered = bytearray()
    if gathered:
        yield gathered


def _start_writing_out(descriptor: int, place: int, size: int) -> None:
    """Let the disk begin at once, so that fsync finds most of the work done: it halves a write of 50 MB."""
    if hasattr(os, "posix_fadvise"):
        os.posix_fadvise(descriptor, place, size, os.POSIX_FADV_DONTNEED)


def _take_over_attributes(source: Path, temporary: int) -> None:
    try:
        theirs, ours = source.stat(), os.fstat(temporary)
    except FileNotFoundError:
        return
    if hasattr(os, "fchown") and (theirs.st_uid, theirs.st_gid) != (ours.st_uid, ours.st_gid):
        # Only the superuser gives files away; the mode is kept all the same.
        with contextlib.suppress(PermissionError):
            os.fchown(temporary, theirs.st_uid, theirs.st_gid)
    if hasattr(os, "fchmod") and theirs.st_mode != ours.st_mode:
        os.fchmod(temporary, stat.S_IMODE(theirs.st_mode))
    if hasattr(os, "listxattr"):
        # Some file systems have no attributes, and some attributes are the system's own.
        with contextlib.suppress(OSError):
            for name in os.listxattr(source):
                with contextlib.suppress(OSError):
                    os.setxattr(temporary, name, os.getxattr(source, name))


def sync_folder(folder: Path) -> None:
    """Force a folder's entries to the disk, where the system lets folders be opened."""
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def chunks(file: FileIO, size: int) -> Iterator[memoryview]:
    """Read the next `size` bytes of a file in pieces, each valid until the next one is asked for.

    Raises:
        OSError: The file is shorter.
    """
    buffer = memoryview(bytearray(min(size, _CHUNK)))
    while size:
        count = file.readinto(buffer[:size])
        if not count:
            raise OSError(f"{file.name!r} was truncated while it was read")
        yield buffer[:count]
        size -= count


def keep_copy(named: Callable[[int], Path], text: bytes) -> Path:
    """Write an old text under the first of these names that is free, never over another one; return the copy's path.

    Args:
        named: Gives the path of a copy by its number, from 1.
        text: The text.

    Raises:
        OSError: The disk or the folder refused; no copy is left.
    """
    number = 1
    while True:
        copy = named(number)
        try:
            file = copy.open("xb")
        except FileExistsError:
            number += 1
            continue
        try:
            with file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
        except BaseException:
            copy.unlink(missing_ok=True)
            raise
        sync_folder(copy.parent)
        return copy


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
    """Return the lock file of a file: beside it, for the file itself is replaced by each write."""
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
        descriptor = os.open(
            path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, mode_in(path.parent)
        )
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
                raise LockTimeoutError(f"{path} is locked by another writer") from None
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
                raise LockTimeoutError(f"{path} is locked by another writer") from error
            raise OSError(f"{path}: {error}") from error
        yield


system_lock: Lock = folder_lock if HAS_FLOCK else database_lock
"""The lock of this system."""
