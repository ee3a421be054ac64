"""Writes changed files: under their locks, each at once, and with a copy of the old text beside it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeAlias

from evalset.doctor.model import Changes, FileChange
from evalset.files.file_kinds import files_below
from evalset.files.set_outline import Identity, identity_of
from evalset.files.set_writer import ChangedMeanwhileError, status_of
from evalset.recorded.recording import FORMAT
from evalset.recorded.recording_files import (
    RecordedEnvironmentError,
    change_environment,
    recording_of,
    sidecar_of,
)
from simulator.base import user_files
from simulator.base.documents import open_file
from simulator.base.user_files import LockTimeoutError, lock_path, sync_folder, system_locks, write_whole

_PATIENCE_SECONDS = 60.0
_ATTEMPTS = 5

Planner: TypeAlias = Callable[[tuple[Path, ...]], tuple[FileChange, ...]]
"""Makes the changes of files that belong together; those that stay as they are are left out."""


def changes_of(paths: Iterable[Path | str], plan: Planner, *, write: bool) -> Changes:
    """Plan the changes of files and folders, and write them if wanted."""
    make = partial(until_written, plan=plan) if write else plan
    return Changes(files=tuple(each for group in groups(files_in(paths, [])) for each in make(group)))


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
        reason = f"another program has been writing this file for {_PATIENCE_SECONDS:g} s"
    except OSError as error:
        reason = f"the system refused: {error.strerror or error}"
    else:
        reason = "another program keeps changing this file"
    return tuple(each.model_copy(update={"problem": reason}) for each in planned)


def _target(file: Path) -> Path:
    return Path(os.path.realpath(file))


def _states(group: tuple[Path, ...]) -> list[Identity | None]:
    found = [status_of(file) for file in group]
    return [identity_of(status) if status else None for status in found]


def _written(changes: Sequence[FileChange]) -> tuple[FileChange, ...]:
    """Write changes under their locks.

    Recorded environments come first: a process that is killed in between can fix them again, and the eval set still tells what to do.

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
            beside = f"{change.file.name} could not be written, so this file was not changed either"
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


def _put(target: Path, found: FileContent, text: bytes) -> None:
    def check() -> None:
        status = status_of(target)
        if status is None or identity_of(status) != found.identity:
            raise ChangedMeanwhileError

    write_whole(target, [text], before_replace=check)
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
    return user_files.keep_copy(lambda number: target.with_name(f"{target.name}.{number}.bak"), text)


# Finds the files that a person means by paths, and reads them.


EVAL_SET, OLD_TEST, ENVIRONMENT = ".evalset.json", ".test.json", ".environment.json"
_ENDINGS = (EVAL_SET, OLD_TEST, ENVIRONMENT)
_TELLTALE = (b'"eval_cases"', b'"evalCases"', b'"expected_tool_use"', FORMAT.encode())
_HEAD = 1 << 20
"""So much of a file with another name is looked at."""
_PATIENCE = 5


class FileContent(NamedTuple):
    """The content of a file, and the identity of the state in which it was read."""

    text: bytes
    identity: Identity


def read_content(path: Path) -> FileContent:
    """Read a whole file, in one state of it.

    Raises:
        OSError: It cannot be read.
        ChangedMeanwhileError: It was written each time that it was read.
    """
    for _ in range(_PATIENCE):
        with open_file(path, "examined") as file:
            identity = identity_of(os.fstat(file.fileno()))
            text = file.read()
            if identity_of(os.fstat(file.fileno())) == identity:
                return FileContent(text, identity)
    raise ChangedMeanwhileError


def is_environment(path: Path) -> bool:
    """Recognise a recorded environment by its name."""
    return path.name.endswith(ENVIRONMENT)


def files_in(paths: Iterable[Path | str], problems: list[str]) -> list[Path]:
    """Return the files that are meant, once each, in order: those that are named, and in folders those that hold eval data.

    The recorded environment of a named eval set comes along. What is not there is added to `problems`.
    """
    found: dict[Path, None] = {}
    for path in map(Path, paths):
        if path.is_dir():
            inside = list(_in_folder(path, problems))
            if not inside:
                problems.append(f"{path}: no eval sets, tests or recorded environments in this folder")
            found |= dict.fromkeys(inside)
        elif not path.exists():
            problems.append(f"{path}: no such file")
        elif not path.is_file():
            problems.append(f"{path}: not a file")
        else:
            found[path] = None
            beside = sidecar_of(path)
            if not is_environment(path) and beside.is_file():
                found[beside] = None
    return list(found)


def _in_folder(folder: Path, problems: list[str]) -> Iterator[Path]:
    def refused(error: OSError) -> None:
        problems.append(f"{error.filename}: cannot be read: {error.strerror}")

    for path in files_below(folder, refused):
        is_json = path.suffix == ".json" and path.is_file()
        if is_json and (path.name.endswith(_ENDINGS) or _tells_of_cases(path)):
            yield path


def _tells_of_cases(path: Path) -> bool:
    """Return whether a file with any other name holds eval data."""
    try:
        with open_file(path, "cases") as file:
            text = file.read(_HEAD)
    except OSError:
        return False
    return any(word in text for word in _TELLTALE)


def eval_set_of(environment: Path) -> Path | None:
    """Find the eval set that a recorded environment belongs to."""
    stem = environment.name.removesuffix(".environment.json")
    for ending in (".evalset.json", ".test.json", ".json"):
        path = environment.with_name(f"{stem}{ending}")
        if path.is_file() and sidecar_of(path).name == environment.name:
            return path
    return None


def groups(files: Iterable[Path]) -> list[tuple[Path, ...]]:
    """Set each recorded environment beside its eval set: what belongs together is changed together."""
    named = list(dict.fromkeys(files))
    paired: dict[Path, list[Path]] = {file: [file] for file in named if not is_environment(file)}
    for file in named:
        if is_environment(file):
            beside = eval_set_of(file)
            paired.setdefault(beside if beside in paired else file, []).append(file)
    return [tuple(group) for group in paired.values()]
