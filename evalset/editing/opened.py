"""Opens an eval set to look at and to edit: its bytes, where each case stands in them, and a row for each; no ADK model is built."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from pydantic_core import from_json

from evalset.editing.places import Case, field
from evalset.editing.rows import CaseRow, row_of, unlike
from evalset.editing.scanning import Bytes, end_of, entries, rest_of, value_of
from evalset.errors import EvalSetError
from evalset.known import Identity, identity_of
from evalset.outline import CASES, SET_ID, outline_of
from evalset.splice import Layout

_ATTEMPTS = 5
_HALF = rb"\ud"
"""How the escape of a surrogate begins, alone or in a pair."""


class Span(NamedTuple):
    """Where a case stands in the bytes of its file."""

    start: int
    stop: int


class OpenedSet:
    """An eval set as it was when it was opened. Nothing in it changes.

    Args:
        path: The file, as people know it.
        text: Its bytes.
        identity: Which state of the file that is.
        old_text: What stands in the file, where that is ADK's old form and `text` what it becomes; None elsewhere.

    Raises:
        EvalSetError: It is no eval set, or no JSON; the text names the place.
    """

    def __init__(self, path: Path, text: bytes, identity: Identity, old_text: bytes | None = None) -> None:
        self.path, self.text, self.identity, self.old_text = path, text, identity, old_text
        self.rows, self.spans = _checked_cases(path, text)
        self.places = {row.key: place for place, row in enumerate(self.rows)}

    def case(self, key: str) -> Case:
        """Give a case as its file says it; a new object each time.

        Raises:
            KeyError: There is none.
        """
        found: Case = json.loads(self.raw(key))
        return found

    def raw(self, key: str) -> bytes:
        """Give the bytes of a case.

        Raises:
            KeyError: There is none.
        """
        return self.text[slice(*self.spans[self.places[key]])]

    @cached_property
    def layout(self) -> Layout:
        """How cases are written in it, and where one more would go."""
        return outline_of(self.path, self.text).layout

    @cached_property
    def about(self) -> dict[str, Any]:
        """What the set says of itself: the members beside its cases."""
        held: dict[str, Any] = from_json(self.text) if len(self.rows) == 0 else _without_cases(self)
        return {name: value for name, value in held.items() if name != CASES}

    @property
    def set_id(self) -> str:
        """The set's id."""
        return str(self.about[SET_ID])


def open_set(path: Path | str) -> OpenedSet:
    """Open an eval set; data in ADK's old form is brought into today's, and the file stays as it is.

    Raises:
        EvalSetError: There is no file, it cannot be read, or it is no eval set; the text says why and where.
    """
    known = Path(path).expanduser().absolute()
    return opened_as(known, *_read(known))


def opened_as(path: Path, text: bytes, identity: Identity) -> OpenedSet:
    """Open a text as the eval set at a path, as `open_set` opens the file.

    Raises:
        EvalSetError: It is no eval set; the text says why and where.
    """
    try:
        return OpenedSet(path, text, identity)
    except EvalSetError:
        converted = _converted(path, text)
        if converted is None:
            raise
        return OpenedSet(path, converted, identity, text)


def identity_at(path: Path) -> Identity | None:
    """Tell which state of a file is there now; None where none is."""
    try:
        return identity_of(path.stat())
    except OSError:
        return None


def _read(path: Path) -> tuple[bytes, Identity]:
    try:
        for _ in range(_ATTEMPTS):
            with path.open("rb") as file:
                before = identity_of(os.fstat(file.fileno()))
                text = file.read()
                if identity_of(os.fstat(file.fileno())) == before:
                    return text, before
    except OSError as error:
        raise EvalSetError(path, f"cannot be opened: {error.strerror or error}") from error
    raise EvalSetError(path, "keeps changing; another program is writing it. Try again when it is done")


def _converted(path: Path, text: bytes) -> bytes | None:
    if text.lstrip()[:1] not in {b"[", b"{"}:
        return None
    from evalset.documents import set_json  # noqa: PLC0415 - importing ADK's evaluation takes a second
    from evalset.legacy import convert_old_form  # noqa: PLC0415 - as above

    converted = convert_old_form(path, text)
    return None if converted is None else set_json(converted).encode()


def _checked_cases(path: Path, text: bytes) -> tuple[tuple[CaseRow, ...], Sequence[Span]]:
    """Read the cases in one pass where the text is plainly an eval set; where it is not, let the outline say what is wrong.

    Half of a surrogate pair is the one thing that this pass reads and ADK's parser does not.
    """
    if _HALF not in text and _HALF.upper() not in text:
        try:
            return _read_cases(text)
        except (ValueError, RecursionError):  # not valid JSON, or not an eval set: said below
            pass
    outline_of(path, text)
    try:
        return _read_cases(text)
    except (
        ValueError,
        RecursionError,
    ) as error:  # what ADK reads and Python does not: a number of 5,000 digits
        raise EvalSetError(path, f"cannot be read: {error}") from error


def _read_cases(text: bytes) -> tuple[tuple[CaseRow, ...], Sequence[Span]]:
    characters = text.decode()
    count = Bytes(characters)
    start = value_of(characters, CASES)
    if start is None:
        raise ValueError(f"there are no {CASES}")
    rows: list[CaseRow] = []
    spans: list[Span] = []
    taken: set[str] = set()
    stop = start + 1
    for entry in entries(characters, start):
        if not isinstance(entry.value, dict) or not isinstance(field(entry.value, "eval_id"), str):
            raise ValueError("an entry is no case")  # noqa: TRY004 - as all that makes it no eval set
        row = row_of("", entry.value)
        key = row.eval_id if row.eval_id not in taken else unlike(row.eval_id, taken)
        taken.add(key)
        rows.append(row._replace(key=key))
        spans.append(Span(count.before(entry.start), count.before(entry.stop)))
        stop = entry.stop
    rest = rest_of(characters, end_of(characters, stop))
    set_id = value_of(characters[:start] + "null" + "}", SET_ID)
    _check_about(rest, has_id_before=set_id is not None and characters[set_id] == '"')
    return tuple(rows), spans


def _check_about(rest: dict[str, Any], *, has_id_before: bool) -> None:
    if CASES in rest or not (has_id_before or isinstance(rest.get(SET_ID), str)):
        raise ValueError(f"it has no {SET_ID}, or two lists of cases")


def _without_cases(opened: OpenedSet) -> dict[str, Any]:
    """Read what stands before the first case and behind the last."""
    first, last = opened.spans[0].start, opened.spans[-1].stop
    found: dict[str, Any] = from_json(opened.text[:first] + b"null" + opened.text[last:])
    return found
