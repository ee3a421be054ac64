"""Replaces a file whole or not at all: whoever reads it, or finds it after a crash, sees the old or the new one."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from io import FileIO
from pathlib import Path
from typing import TypeAlias

Replace: TypeAlias = Callable[[Path, Path], None]
"""Puts the first file in the place of the second at once, as `os.replace` does."""

_CHUNK = 1 << 20


def temporary_path(target: Path) -> Path:
    """Give the path of the file that becomes `target`; one is enough, as a lock lets in one writer at a time."""
    return target.with_name(f".{target.name}.tmp")


def write_whole(
    target: Path,
    pieces: Iterable[bytes | memoryview],
    *,
    before_replace: Callable[[], None],
    replace: Replace,
) -> os.stat_result:
    """Write a file beside `target`, force it to the disk, and put it in its place.

    After a power failure the target is whole too: the new one, or (if the system had not yet kept the renaming) the
    old one. Mode, owner and extended attributes of an existing target are kept. What a killed writer left is removed.

    Args:
        target: The file; not a symbolic link.
        pieces: Its content.
        before_replace: Called when all is written; raises to leave the target as it is.
        replace: Usually `os.replace`.

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
        return temporary.open("xb", buffering=0)
    except FileExistsError:
        temporary.unlink()
        return temporary.open("xb", buffering=0)


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
            raise OSError(f"{file.name!r} became shorter while it was read")
        yield buffer[:count]
        size -= count


def keep_copy(named: Callable[[int], Path], text: bytes) -> Path:
    """Write an old text under the first of these names that is free, never over another one; give the copy's path.

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
