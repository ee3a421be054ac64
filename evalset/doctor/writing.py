"""Writes changed files: under their locks, each at once, and with a copy of the old text beside it."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

from evalset import atomic
from evalset.atomic import sync_folder, write_whole
from evalset.doctor.files import Content, is_environment, read_content
from evalset.doctor.model import FileChange
from evalset.existing import ChangedMeanwhileError, status_of
from evalset.known import Identity, identity_of
from evalset.locking import LockTimeoutError, lock_path, system_locks
from evalset.recorded.files import RecordedEnvironmentError, change_environment, recording_of, sidecar_of

_PATIENCE_SECONDS = 60.0
_ATTEMPTS = 5

Planner: TypeAlias = Callable[[tuple[Path, ...]], tuple[FileChange, ...]]
"""Makes the changes of files that belong together; those that stay as they are are left out."""


def until_written(group: tuple[Path, ...], plan: Planner) -> tuple[FileChange, ...]:
    """Make changes in files that belong together, and write them; what cannot be written says why, and then none stays written.

    They are planned before anybody else is kept out, and once more where somebody wrote one of the files until then. A recording
    inside of an eval set gets a file beside it first, and is changed there.
    """
    seen = _states(group)
    planned = plan(group)
    if not planned or any(each.problem for each in planned):
        return planned
    if len(group) == 1 and recording_of(group[0]) == group[0]:
        try:
            change_environment(group[0], lambda recorded: recorded)
        except (RecordedEnvironmentError, LockTimeoutError, OSError) as error:
            return tuple(each.model_copy(update={"problem": str(error)}) for each in planned)
        return until_written((*group, sidecar_of(group[0])), plan)
    try:
        with system_locks([lock_path(_target(file)) for file in group], _PATIENCE_SECONDS):
            for _ in range(_ATTEMPTS):
                if _states(group) != seen:
                    seen, planned = _states(group), plan(group)
                if not planned or any(each.problem for each in planned):
                    return planned
                with suppress(ChangedMeanwhileError):  # by a program that takes no lock
                    return _written(planned)
    except LockTimeoutError:
        reason = f"another program has been writing it for {_PATIENCE_SECONDS:g} seconds"
    except OSError as error:
        reason = f"the system refused: {error.strerror or error}"
    else:
        reason = "keeps changing; another program is writing it"
    return tuple(each.model_copy(update={"problem": reason}) for each in planned)


def _target(file: Path) -> Path:
    return Path(os.path.realpath(file))


def _states(group: tuple[Path, ...]) -> list[Identity | None]:
    found = [status_of(file) for file in group]
    return [identity_of(status) if status else None for status in found]


def _written(changes: Sequence[FileChange]) -> tuple[FileChange, ...]:
    """Write changes under their locks.

    Recorded environments come first: who is killed in between can mend again, and the eval set still tells what to do.

    Raises:
        ChangedMeanwhileError: One of the files is no longer what the change was made for; all are as they were.
    """
    done: list[FileChange] = []
    for change in sorted(changes, key=lambda each: not is_environment(each.file)):
        try:
            done.append(_write(change))
        except ChangedMeanwhileError:
            _take_back(done)
            raise
        except OSError as error:
            _take_back(done)
            reason = f"the system refused: {error.strerror or error}"
            beside = f"stays as it is, as {change.file.name} could not be written"
            return tuple(
                each.model_copy(update={"problem": reason if each is change else beside}) for each in changes
            )
    return tuple(reversed(done))


def _write(change: FileChange) -> FileChange:
    target = _target(change.file)
    if not os.access(target, os.W_OK):
        raise PermissionError(13, "the file is read-only", str(target))
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
        target = _target(change.file)
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
    return atomic.keep_copy(lambda number: target.with_name(f"{target.name}.{number}.bak"), text)
