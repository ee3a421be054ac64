"""Reads and writes recorded environments, each beside its eval set: whole or not at all, one writer at a time."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from pydantic import ValidationError

from evalset.atomic import sync_folder, write_whole
from evalset.known import Identity, identity_of
from evalset.locking import lock_path, system_lock
from evalset.recorded.model import FORMAT, VERSION, CaseNote, RecordedCase, RecordedEnvironment, lean

_PATIENCE_SECONDS = 60.0
_ATTEMPTS = 5
Held = TypeVar("Held", RecordedCase, CaseNote)
_EVAL_SET, _SIDECAR = ".evalset.json", ".environment.json"


class RecordedEnvironmentError(ValueError):
    """A file holds no recorded environment that can be used; the text names the file, the place and what is wrong.

    Attributes:
        path: The file.
    """

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path


def sidecar_of(eval_set: Path | str) -> Path:
    """Give the path of the recorded environment that belongs to an eval set."""
    path = Path(eval_set)
    name = path.name
    stem = name.removesuffix(_EVAL_SET) if name.endswith(_EVAL_SET) else name.removesuffix(path.suffix)
    return path.with_name(f"{stem}{_SIDECAR}")


def environment_text(environment: RecordedEnvironment) -> str:
    """Write a recorded environment as it stands in its file: indented, its cases in the order of their ids."""
    ordered = {
        name: {eval_id: lean(held[eval_id]) for eval_id in sorted(held)}
        for name in ("cases", "notes")
        if (held := getattr(environment, name)) or name == "cases"
    }
    document = {"format": environment.format, "version": environment.version, **ordered}
    return f"{json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)}\n"


def read_environment(path: Path | str) -> RecordedEnvironment:
    """Read a recorded environment.

    Raises:
        RecordedEnvironmentError: It is no recorded environment, is newer than this, or is damaged; the text says where.
        OSError: The file cannot be read.
    """
    path = Path(path)
    return parsed(path, path.read_bytes())


def parsed(path: Path, content: bytes) -> RecordedEnvironment:
    """Read the content of a file.

    Raises:
        RecordedEnvironmentError: As for `read_environment`.
    """
    document = _document(path, content)
    if document.get("format") != FORMAT:
        raise RecordedEnvironmentError(
            path, f"this is no recorded environment: its `format` is not {FORMAT!r}"
        )
    version = document.get("version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise RecordedEnvironmentError(path, f"its `version` is {version!r}, and no number of a version")
    if version > VERSION:
        raise RecordedEnvironmentError(
            path,
            f"its version is {version}, and this reads up to {VERSION}: it was written by a newer release",
        )
    try:
        return RecordedEnvironment.model_validate(
            {key: held for key, held in document.items() if key != "version"}
        )
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        raise RecordedEnvironmentError(path, f"{place}: {first['msg']}") from error


def _document(path: Path, content: bytes) -> dict[str, Any]:
    try:
        found = json.loads(content.decode("utf-8-sig"), parse_constant=_no_constant)
    except UnicodeDecodeError as error:
        raise RecordedEnvironmentError(path, f"it is no text in UTF-8: byte {error.start}") from error
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise RecordedEnvironmentError(path, f"it is no JSON: {error.msg} at {place}") from error
    except (ValueError, RecursionError) as error:
        raise RecordedEnvironmentError(path, f"it is no JSON: {error}") from error
    if not isinstance(found, dict):
        raise RecordedEnvironmentError(path, "it is no JSON object")
    return found


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def put_cases(path: Path | str, cases: Mapping[str, RecordedCase | None]) -> RecordedEnvironment:
    """Add cases to a recorded environment, or replace those of the same ids; None takes one away. The file is made where there is none.

    Raises:
        RecordedEnvironmentError: As for `change_environment`.
        OSError: As for `change_environment`.
    """

    def put(before: RecordedEnvironment) -> RecordedEnvironment:
        return before.model_copy(update={"cases": _put(before.cases, cases)})

    return change_environment(path, put)


def put_all(
    path: Path | str,
    cases: Mapping[str, RecordedCase | None],
    notes: Mapping[str, CaseNote | None],
) -> RecordedEnvironment:
    """Add or replace cases and notes at once, as `put_cases` does; None takes one away.

    Raises:
        RecordedEnvironmentError: As for `put_cases`.
        OSError: As for `put_cases`.
    """

    def with_all(before: RecordedEnvironment) -> RecordedEnvironment:
        put = {"cases": _put(before.cases, cases), "notes": _put(before.notes, notes)}
        return before.model_copy(update=put)

    return change_environment(path, with_all)


def change_environment(
    path: Path | str, change: Callable[[RecordedEnvironment], RecordedEnvironment]
) -> RecordedEnvironment:
    """Change a recorded environment: one writer at a time, whole or not at all. The file is made where there is none.

    Args:
        path: The file; behind a symbolic link, the file that it leads to.
        change: Gives the new environment; what it raises leaves the file as it is. It may be asked again where a program
            that takes no lock wrote the file meanwhile.

    Raises:
        RecordedEnvironmentError: What stands there is no recorded environment, may not be written, or keeps changing;
            nothing was changed.
        OSError: The disk or the folder refused; the file is as it was.
    """
    target = Path(path).resolve()
    with system_lock(lock_path(target), _PATIENCE_SECONDS):
        for _ in range(_ATTEMPTS):
            with contextlib.suppress(_ChangedMeanwhileError):
                return _changed(target, change)
    raise RecordedEnvironmentError(target, "it keeps changing; another program is writing it")


class _ChangedMeanwhileError(Exception):
    """Somebody who takes no lock wrote the file while we worked on it."""


def _changed(
    target: Path, change: Callable[[RecordedEnvironment], RecordedEnvironment]
) -> RecordedEnvironment:
    identity = _identity(target)
    if identity is not None and not os.access(target, os.W_OK):
        raise RecordedEnvironmentError(target, "it is read-only")
    environment = change(RecordedEnvironment() if identity is None else read_environment(target))
    content = environment_text(environment).encode()

    def check() -> None:
        if _identity(target) != identity:
            raise _ChangedMeanwhileError

    write_whole(target, [content], before_replace=check, replace=os.replace)
    sync_folder(target.parent)
    return environment


def _identity(target: Path) -> Identity | None:
    try:
        return identity_of(target.stat())
    except FileNotFoundError:
        return None


def _put(before: Mapping[str, Held], put: Mapping[str, Held | None]) -> dict[str, Held]:
    kept = {eval_id: held for eval_id, held in before.items() if eval_id not in put}
    return kept | {eval_id: held for eval_id, held in put.items() if held is not None}
