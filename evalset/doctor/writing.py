"""Writes a changed file: under its lock, at once, and with a copy of the old text beside it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from evalset.atomic import sync_folder, write_whole
from evalset.doctor.files import Content, is_environment, read_content
from evalset.doctor.model import FileChange
from evalset.existing import ChangedMeanwhileError, status_of
from evalset.known import identity_of
from evalset.locking import LockTimeoutError, lock_path, system_lock

_PATIENCE_SECONDS = 30.0


def written(changes: Sequence[FileChange]) -> tuple[FileChange, ...]:
    """Write changes that belong together; what cannot be written says why, and then none of them stays written.

    Recorded environments come first: who is killed in between can mend again, and the eval set still tells what to do.

    Raises:
        ChangedMeanwhileError: One of the files is no longer what the change was made for; all are as they were.
    """
    ordered = sorted(changes, key=lambda each: not is_environment(each.file))
    done: list[FileChange] = []
    for change in ordered:
        try:
            done.append(_write(change))
        except ChangedMeanwhileError:
            _take_back(done)
            raise
        except OSError as error:
            _take_back(done)
            return tuple(
                each.model_copy(
                    update={
                        "problem": _reason(error)
                        if each is change
                        else f"stays as it is, as {change.file.name} could not be written"
                    }
                )
                for each in changes
            )
    return tuple(reversed(done))


def _reason(error: OSError) -> str:
    if isinstance(error, LockTimeoutError):
        return f"another program has been writing it for {_PATIENCE_SECONDS:g} seconds"
    return f"the system refused: {error.strerror or error}"


def _write(change: FileChange) -> FileChange:
    target = Path(os.path.realpath(change.file))
    if not os.access(target, os.W_OK):
        raise PermissionError(13, "the file is read-only", str(target))
    with system_lock(lock_path(target), _PATIENCE_SECONDS):
        found = read_content(target)
        if found.text != change.before:
            raise ChangedMeanwhileError
        copy = keep_copy(target, found.text)
        try:
            _put(target, found, change.after)
        except BaseException:
            copy.unlink(missing_ok=True)
            raise
    return change.model_copy(update={"written": True, "copy_kept": copy})


def _put(target: Path, found: Content, text: bytes) -> None:
    def check() -> None:
        status = status_of(target)
        if status is None or identity_of(status) != found.identity:
            raise ChangedMeanwhileError

    write_whole(target, [text], before_replace=check, replace=os.replace)
    sync_folder(target.parent)


def _take_back(done: Sequence[FileChange]) -> None:
    """Put the old texts back, where nobody has written since."""
    for change in done:
        target = Path(os.path.realpath(change.file))
        with system_lock(lock_path(target), _PATIENCE_SECONDS):
            found = read_content(target)
            if found.text == change.after:
                _put(target, found, change.before)
                if change.copy_kept is not None:
                    change.copy_kept.unlink(missing_ok=True)


def keep_copy(target: Path, text: bytes) -> Path:
    """Write the old text beside its file, as `<name>.<n>.bak` with the first n that is free.

    Raises:
        OSError: The disk or the folder refused; no copy is left.
    """
    number = 1
    while True:
        copy = target.with_name(f"{target.name}.{number}.bak")
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
