"""Names and kinds of files, without importing ADK.

Ids and file names that ADK's commands can take; the files of a project; and what kind a file is by its content. Files in formats of the studio's own are JSON objects
with a `format` and a `version`.
"""

from __future__ import annotations

import json
import math
import os
import re
import shlex
import time
import unicodedata
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from simulator.base.adk_names import snake
from simulator.base.json_text import JsonTextError, read_json
from simulator.base.json_values import digest
from simulator.base.validation_words import check_kind, near

NAMELESS = "agent"
"""Stands for a name in which no letter or digit can be written in ASCII."""

_WORD_STARTS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_NO_WORD = re.compile(r"[^A-Za-z0-9]+")
_UNFIT_IN_SET_ID = re.compile(r"[/\\:\x00-\x1f]+")
REVIEWS_ENDING = ".review.json"
EVAL_SET_ENDINGS = (".evalset.json", ".test.json")
"""What the names of eval sets end with, as ADK writes and finds them."""
_ENDINGS = (*EVAL_SET_ENDINGS, ".json")
_UNFIT = re.compile(r"[:,/\\\x00-\x1f\x7f]")


def snake_case(name: str) -> str:
    """Write a name in lower-case ASCII words: `HTTPAgent` is `http_agent`, `Käse Fuß` is `kase_fuss`.

    Names of fields are spelled by `simulator.base.adk_names`.
    """
    check_kind(name, "encode", "`name` as a text")
    ascii_name = unicodedata.normalize("NFKD", name.replace("ß", "ss")).encode("ascii", "ignore").decode()
    words = _NO_WORD.sub("_", _WORD_STARTS.sub("_", ascii_name)).strip("_").lower()
    return words or NAMELESS


def base_name(path: Path) -> str:
    """Return a file's name without the endings of eval-set files."""
    ending = next((ending for ending in _ENDINGS if path.name.endswith(ending)), "")
    return path.name.removesuffix(ending)


def flaw_of_set_id(set_id: str) -> bool:
    """Return whether `adk web` cannot open a set of this id, as no file can have that name."""
    return not set_id or bool(_UNFIT_IN_SET_ID.search(set_id)) or set_id in {".", ".."}


def usable_set_id(name: str, otherwise: str = NAMELESS) -> str:
    """Make an id that a set can have of any name; `otherwise` where nothing is left of it."""
    return _UNFIT_IN_SET_ID.sub("_", name).strip(".") or _UNFIT_IN_SET_ID.sub("_", otherwise) or NAMELESS


def set_id_for(path: Path) -> str:
    """Return the id of a new set in a file: `adk web` lists a set by its file's name, and its results by the id."""
    return usable_set_id(base_name(path))


def eval_id_for(agent_name: str, at: float) -> str:
    """Name a case by its agent and its time (seconds since the epoch): `order_desk_2026-11-22T08-03-07.250Z`.

    There are no colons in it: `adk eval FILE:ID` splits there.
    """
    check_kind(at, "__round__", "`at` as seconds since the epoch")
    moment = datetime.fromtimestamp(round(at, 3), UTC)
    return f"{snake_case(agent_name)}_{moment:%Y-%m-%dT%H-%M-%S}.{moment.microsecond // 1000:03d}Z"


def unique_eval_id(wanted: str, taken: Container[str]) -> str:
    """Return `wanted`, or where it is taken the first free one of `wanted_2`, `wanted_3` and so on."""
    check_kind(wanted, "encode", "`wanted` as a text")
    check_kind(taken, "__contains__", "`taken` as a set of texts")
    number, free = 1, wanted
    while free in taken:
        number += 1
        free = f"{wanted}_{number}"
    return free


class FreeIds:
    """Gives eval ids as `unique_eval_id` does, each once; many cases of one name take no longer than others.

    Args:
        taken: The ids that are taken from the beginning.
    """

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = set(taken)
        self._last: dict[str, int] = {}

    def take(self, wanted: str) -> str:
        """Return the first free id, and take it."""
        number, free = self._last.get(wanted, 1), wanted
        while free in self._taken:
            number += 1
            self._last[wanted] = number
            free = f"{wanted}_{number}"
        self._taken.add(free)
        return free

    def give_back(self, eval_ids: Iterable[str]) -> None:
        """Let ids be taken again."""
        self._taken.difference_update(eval_ids)
        self._last.clear()


def usable_eval_id(name: str) -> str:
    """Make an eval id that ADK's commands can take of any name: what they cannot take becomes `_`."""
    return name if name and flaw_of_eval_id(name) is None else _UNFIT.sub("_", name).strip() or "case"


def flaw_of_eval_id(eval_id: str) -> str | None:
    """Return why an eval id cannot be used by `adk eval FILE:ID,ID` and `adk web`; None where it can."""
    if not eval_id.strip():
        return "an eval id cannot be empty"
    if eval_id != eval_id.strip():
        return f"the eval id {eval_id!r} starts or ends with a space"
    if found := _UNFIT.search(eval_id):
        return f"the eval id {eval_id!r} contains {found.group()!r}, which `adk eval` or `adk web` cannot use"
    return None


def case_digest(case: Mapping[str, Any]) -> str:
    """Return the digest of what a case holds, whatever its eval id."""
    held = {name: value for name, value in case.items() if snake(name) != "eval_id"}
    return digest(json.dumps(held, sort_keys=True))


def reviews_path(eval_set: Path | str) -> Path:
    """Return the path of the reviews that belong to an eval set."""
    path = Path(eval_set)
    stem = path.name.removesuffix(_ENDINGS[0])
    return path.with_name(
        f"{stem if stem != path.name else path.name.removesuffix(path.suffix)}{REVIEWS_ENDING}"
    )


def no_case(eval_set: object, eval_id: str, eval_ids: Iterable[str]) -> str:
    """Say that a file has no case of an id, and which it has that are like it."""
    return f"{eval_set} has no case {eval_id!r}; {near(eval_id, eval_ids)}"


def renames_from(words: list[str]) -> dict[str, str]:
    """Read `OLD=NEW`, each OLD once.

    Raises:
        ValueError: One of them is something else; the text says which.
    """
    names: dict[str, str] = {}
    for each in words:
        old, equals, new = each.partition("=")
        if not (equals and old and new) or old in names:
            raise ValueError(f"--rename-agent {each}: expected OLD=NEW, with each OLD only once")
        names[old] = new
    return names


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
