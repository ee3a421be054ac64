"""Reads and writes recorded environments, each beside its eval set: whole or not at all, one writer at a time."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from evalset.atomic import sync_folder, write_whole
from evalset.known import Identity, identity_of
from evalset.locking import lock_path, system_lock
from evalset.recorded.model import FORMAT, VERSION, CaseNote, RecordedCase, RecordedEnvironment, lean
from simulator.facts import Value
from simulator.jsontext import JsonTextError, read_json

_PATIENCE_SECONDS = 60.0
_ATTEMPTS = 5
Held = TypeVar("Held", RecordedCase, CaseNote)
_EVAL_SET, _SIDECAR = ".evalset.json", ".environment.json"

KEY = "recorded_environment"
"""The name at the top of an eval set under which its recording may stand, so that both travel as one file."""


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


def recording_of(eval_set: Path | str) -> Path:
    """Give the file that holds the recording of an eval set: the one beside it, or else the set itself where it holds one.

    Where neither is, it is the place beside the set.
    """
    path, beside = Path(eval_set), sidecar_of(eval_set)
    return path if not beside.exists() and holds_recording(path) else beside


def holds_recording(path: Path) -> bool:
    """Tell whether a file is an eval set with a recording inside; one that has not changed is read once."""
    try:
        return _holds(path, identity_of(path.stat()))
    except OSError:
        return False


@lru_cache(maxsize=64)
def _holds(path: Path, _: Identity) -> bool:
    try:
        content = path.read_bytes()
        return f'"{KEY}"'.encode() in content and _is_embedded(_document(path, content))
    except RecordedEnvironmentError:
        return False


def environment_text(environment: RecordedEnvironment) -> str:
    """Write a recorded environment as it stands in its file: indented, its cases in the order of their ids."""
    return "".join(environment_pieces(environment))


def environment_pieces(environment: RecordedEnvironment) -> Iterator[str]:
    """Write the text of a recorded environment in pieces, a case in each, so that no two are held as text at once."""
    head = {"format": environment.format, "version": environment.version}
    yield _indented(head)[: -len("\n}")]
    for name in ("cases", "notes"):
        held: Mapping[str, Value] = getattr(environment, name)
        if not held and name != "cases":
            continue
        start = f',\n  "{name}": {{'
        for eval_id in sorted(held):
            case = _indented({eval_id: lean(held[eval_id])})[len("{") : -len("\n}")]
            yield start + case.replace("\n", "\n  ")
            start = ","
        yield "\n  }" if held else f"{start}}}"
    yield "\n}\n"


def _indented(value: Mapping[str, Any]) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)


def read_environment(path: Path | str) -> RecordedEnvironment:
    """Read a recorded environment: its own file, or that of an eval set that holds one inside. A file beside the set wins.

    Raises:
        RecordedEnvironmentError: It is no recorded environment, is newer than this, or is damaged; the text says where.
        OSError: The file cannot be read.
    """
    path = Path(path)
    document = _document(path, path.read_bytes())
    if not _is_embedded(document):
        return validated(path, document)
    beside, held = sidecar_of(path), document[KEY]
    if beside.exists():
        return read_environment(beside)
    try:
        return validated(path, held if isinstance(held, dict) else {})
    except RecordedEnvironmentError as error:
        raise RecordedEnvironmentError(path, f"{KEY}: {str(error).removeprefix(f'{path}: ')}") from error


def _is_embedded(document: Mapping[str, Any]) -> bool:
    return KEY in document and document.get("format") != FORMAT


def parsed(path: Path, content: bytes) -> RecordedEnvironment:
    """Read the content of a file.

    Raises:
        RecordedEnvironmentError: As for `read_environment`.
    """
    return validated(path, _document(path, content))


def validated(path: Path, document: Mapping[str, Any]) -> RecordedEnvironment:
    """Read a document in JSON that a file holds.

    Raises:
        RecordedEnvironmentError: It is no recorded environment, is newer than this, or is damaged; the text says where.
    """
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
        found = read_json(content.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise RecordedEnvironmentError(path, f"it is no text in UTF-8: byte {error.start}") from error
    except JsonTextError as error:
        raise RecordedEnvironmentError(path, f"it is no JSON: {error}") from error
    if not isinstance(found, dict):
        raise RecordedEnvironmentError(path, "it is no JSON object")
    return found


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

    A recording inside of an eval set is left as it is: the file beside the set is made of it, and counts from then on.

    Args:
        path: The file, or the eval set that holds the recording; behind a symbolic link, the file that it leads to.
        change: Gives the new environment; what it raises leaves the file as it is. It may be asked again where a program
            that takes no lock wrote the file meanwhile.

    Raises:
        RecordedEnvironmentError: What stands there is no recorded environment, may not be written, or keeps changing;
            nothing was changed.
        OSError: The disk or the folder refused; the file is as it was.
    """
    target = (sidecar_of(path) if holds_recording(Path(path)) else Path(path)).resolve()
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
    environment = change(_embedded_for(target) if identity is None else read_environment(target))

    def check() -> None:
        if _identity(target) != identity:
            raise _ChangedMeanwhileError

    pieces = (piece.encode() for piece in environment_pieces(environment))
    write_whole(target, pieces, before_replace=check, replace=os.replace)
    sync_folder(target.parent)
    return environment


def _embedded_for(sidecar: Path) -> RecordedEnvironment:
    """Give what a file beside an eval set begins with: the recording inside of the set, or nothing."""
    stem = sidecar.name.removesuffix(_SIDECAR)
    for ending in (_EVAL_SET, ".json"):
        eval_set = sidecar.with_name(f"{stem}{ending}")
        if eval_set != sidecar and holds_recording(eval_set):
            return read_environment(eval_set)
    return RecordedEnvironment()


def _identity(target: Path) -> Identity | None:
    try:
        return identity_of(target.stat())
    except FileNotFoundError:
        return None


def _put(before: Mapping[str, Held], put: Mapping[str, Held | None]) -> dict[str, Held]:
    kept = {eval_id: held for eval_id, held in before.items() if eval_id not in put}
    return kept | {eval_id: held for eval_id, held in put.items() if held is not None}
