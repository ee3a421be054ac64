"""Finds the files of a project, and tells eval sets, sessions and archives apart by their content, without importing ADK.

Files in formats of the studio's own are JSON objects with a `format` and a `version`.
"""

from __future__ import annotations

import math
import os
import shlex
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from simulator.base.json_text import JsonTextError, read_json

_PASSED_OVER = frozenset({"node_modules", "venv", "__pycache__", "site-packages"})


def files_below(
    folder: Path,
    refused: Callable[[OSError], None] | None = None,
    *,
    deepest: float = math.inf,
    seconds: float = math.inf,
) -> Iterator[Path]:
    """Yield the files in a folder and in those below it, in order, save what is hidden, cached or installed there.

    Args:
        folder: The folder.
        refused: Is told of each folder that cannot be read.
        deepest: How many folders deep is looked.
        seconds: How long; what was not reached then is left out.
    """
    ends, above = time.monotonic() + seconds, len(folder.parts)
    for base, folders, names in os.walk(folder, onerror=refused):
        if time.monotonic() > ends:
            return
        is_last = len(Path(base).parts) - above >= deepest
        folders[:] = sorted(
            name for name in folders if not (is_last or name.startswith(".") or name in _PASSED_OVER)
        )
        yield from (Path(base, name) for name in sorted(names) if not name.startswith("."))


ARCHIVE_STARTS = (b"PK\x03\x04", b"PK\x05\x06")
"""How a ZIP archive begins, and one that holds nothing."""

_EVAL_ID = frozenset({"eval_id", "evalId"})
_OF_DATASET = frozenset(
    {
        "eval_case_id",
        "evalCaseId",
        "prompt",
        "agent_data",
        "agentData",
        "user_scenario",
        "userScenario",
        "reference",
    }
)
_CONVERSATION = frozenset({"prompt", "agent_data", "agentData", "user_scenario", "userScenario"})
"""The fields of a dataset's case from which a conversation can be read."""

_STUDIO = frozenset({"golden-trace-studio/session", "golden-trace-studio/journal"})


def holds_cases(text: str) -> bool:
    """Return whether a text is an eval set, in ADK's present form or in its older one."""
    document = _document(text)
    if isinstance(document, dict):
        if is_dataset(document):
            return False
        return not document.keys().isdisjoint(("eval_cases", "evalCases"))
    return bool(document) and all(isinstance(each, dict) and "name" in each for each in document)


def importable_kind(content: bytes) -> str:
    """Return what a content is that is no eval set, but can be imported into one; empty where it is nothing of the kind."""
    if content.startswith(b"SQLite format 3\x00"):
        return "a SQLite database of sessions"
    if content.startswith(ARCHIVE_STARTS):
        return "a ZIP archive"
    try:
        document = _document(content.decode("utf-8-sig"))
    except UnicodeDecodeError:
        return ""
    return importable_document(document)


def importable_document(document: Any) -> str:  # noqa: PLR0911 - one for each kind
    """As `importable_kind`, of a document in JSON."""
    match document:
        case {"format": str() as kind} if kind in _STUDIO:
            return "a session of the studio"
        case dict() if is_dataset(document):
            cases = document.get("eval_cases") or document["evalCases"]
            has_one = any(isinstance(case, dict) and not _CONVERSATION.isdisjoint(case) for case in cases)
            return "an evaluation dataset of Agent Platform" if has_one else ""
        case {"eval_cases": _} | {"evalCases": _}:
            return ""
        case {"events": list() as events} if are_of_session(events):
            return "a session of ADK, or a test of `adk test`"
        case [{"events": list() as events}, *_] if are_of_session(events):
            return "a list of sessions of ADK"
        case {"eval_id": str()} | {"evalId": str()}:
            return "a single eval case"
        case _:
            return ""


def are_of_session(events: list[Any]) -> bool:
    """Return whether a list of events may be that of a session of ADK's: other things have one of that name too, also with authors."""
    return not events or any(
        isinstance(event, dict) and {"author", "content"} <= event.keys() for event in events
    )


def is_dataset(document: Any) -> bool:
    """Return whether a document in JSON is an evaluation dataset of Agent Platform: its first case says so."""
    match document:
        case {"eval_cases": [first, *_]} | {"evalCases": [first, *_]}:
            return is_dataset_case(first)
        case _:
            return False


def is_dataset_case(value: object) -> bool:
    """Return whether an entry of `eval_cases` is a case of a dataset, and not of an eval set of ADK's."""
    return isinstance(value, dict) and _EVAL_ID.isdisjoint(value) and not _OF_DATASET.isdisjoint(value)


def import_command(path: Path) -> str:
    """Return the command that imports a file into an eval set of its own."""
    stem = path.name.partition(".")[0] or "imported"
    return (
        f"golden-trace import {shlex.quote(str(path))} --out {shlex.quote(f'{stem}_imported.evalset.json')}"
    )


def _document(text: str) -> Any:
    """Read an object or a list; an empty list where there is none."""
    if not text.lstrip("\ufeff \n\r\t").startswith(("{", "[")):
        return []
    try:
        return read_json(text.lstrip("\ufeff"), constants=True)
    except JsonTextError:
        return []


REVIEW = "golden-trace-studio/review"
"""The format of a file of reviews."""


def own_document(content: bytes, form: str, newest: int, what: str) -> dict[str, Any]:
    """Return the object in a file.

    Args:
        content: The file, in UTF-8.
        form: What its `format` must be.
        newest: The highest version that this release reads.
        what: What the file should be, such as "a kept run".

    Raises:
        ValueError: It is something else, is newer than this release, or is damaged; the text says where, without the file's name.
    """
    try:
        found = read_json(content.decode())
    except UnicodeDecodeError as error:
        raise ValueError(f"not UTF-8 text: byte {error.start}") from error
    except JsonTextError as error:
        raise ValueError(f"not valid JSON: {error}") from error
    check_format(found if isinstance(found, dict) else {}, form, newest, what)
    return dict(found)


def check_format(document: Mapping[str, Any], form: str, newest: int, what: str) -> None:
    """Check the `format` and `version` of an object; the arguments and errors are those of `own_document`."""
    if document.get("format") != form:
        raise ValueError(f"not {what}: its `format` is not {form!r}")
    version = document.get("version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise ValueError(f"its `version` is {version!r:.40}, which is not a version number")
    if version > newest:
        raise ValueError(
            f"its version is {version}, but this release reads up to {newest}: it was written by a newer release"
        )
