"""Writes somebody's unsaved work on a set so that it can be gone on with later, also where the file has changed meanwhile."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import ValidationError

from evalset.editing.case_edits import Edit
from evalset.editing.case_parts import EditError
from evalset.editing.opened_set import identity_at, opened_as
from evalset.editing.set_work import SetWork
from evalset.editing.sidecars import RecordingSidecar, ReviewSidecar, open_beside, open_reviews
from evalset.errors import EvalSetError
from evalset.files.set_outline import Identity
from evalset.recorded.recording_files import sidecar_of
from simulator.base.documents import read_file
from simulator.base.frozen_value import Value
from simulator.base.json_text import JsonTextError, read_json
from simulator.base.validation_words import validated

_NO_FILE = Identity(-1, -1, -1, -1, -1)
"""Of no file: what has it, is not as it is on the disk."""


class RestoreError(EvalSetError):
    """Unsaved work cannot be gone on with; the text says why."""


class _Kept(Value):
    version: Literal[1] = 1
    edits: tuple[Edit, ...]
    at: int
    saved: tuple[Edit, ...]
    digest: str
    texts: dict[str, str]
    reviews: str | None = None


class KeptWork(NamedTuple):
    """Unsaved work, written.

    Attributes:
        body: The edits, and the digest of the file that they were made on.
        base: The file as it was opened; empty where there are no edits.
        beside: What lay beside it.
    """

    body: str
    base: bytes = b""
    beside: bytes | None = None


def kept_work(work: SetWork, texts: Mapping[str, str]) -> KeptWork | None:
    """Write the work, and what was typed beside it; None where there is nothing to keep."""
    if not work.is_changed and not texts:
        return None
    history = work.history() if work.is_changed else ((), 0, ())
    digest = _digest_of(work) if work.is_changed else ""
    reviews = work.reviews.text.decode("utf-8", "replace") if work.is_changed and work.reviews.text else None
    kept = _Kept(
        edits=history[0],
        at=history[1],
        saved=history[2],
        digest=digest,
        texts=dict(texts),
        reviews=reviews,
    )
    # ASCII, as a text may hold half of a surrogate pair.
    written = kept.model_dump(mode="json")
    if reviews is None:  # an earlier release reads what has no reviews
        del written["reviews"]
    body = json.dumps(written)
    if not work.is_changed:
        return KeptWork(body)
    opened = work.opened
    return KeptWork(body, opened.text if opened.old_text is None else opened.old_text, work.beside.text)


def restored_work(path: Path, kept: KeptWork) -> tuple[SetWork | None, dict[str, str]]:
    """Return the work to go on with, None where nothing was edited, and what was typed.

    Where the file is not as the work was made on, it counts as changed by somebody else, to be merged.

    Raises:
        RestoreError: It cannot be read, or its edits do not fit what they were made on.
    """
    try:
        found: _Kept = validated(_Kept, read_json(kept.body, constants=True))
        if not found.edits:
            return None, found.texts
        identity = _identity(path, found.digest)
        reviews = _reviews(path, None if found.reviews is None else found.reviews.encode())
        work = SetWork(opened_as(path, kept.base, identity), _beside(path, kept.beside), reviews)
        work.replay(found.edits, found.at, found.saved)
    except (JsonTextError, ValidationError, EditError, EvalSetError) as error:
        raise RestoreError(path, f"the unsaved edits cannot be restored: {error}") from error
    return work, found.texts


def _digest_of(work: SetWork) -> str:
    """Return the digest of the file as the work takes it to be; of no file where it is not so any more."""
    path = work.opened.path
    try:
        text = read_file(path)
    except OSError:
        return ""
    return _digest(text) if identity_at(path) == work.identity else ""


def _digest(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()


def _identity(path: Path, digest: str) -> Identity:
    identity = identity_at(path)
    try:
        same = identity is not None and _digest(read_file(path)) == digest
    except OSError:
        same = False
    return identity if same and identity is not None else _NO_FILE


def _beside(path: Path, text: bytes | None) -> RecordingSidecar:
    now = open_beside(path)
    if now.trouble or now.text == text:
        return now
    return RecordingSidecar(sidecar_of(path), text, _NO_FILE)


def _reviews(path: Path, text: bytes | None) -> ReviewSidecar:
    """Return the reviews that the work was made on: what others have written since is merged when they are saved."""
    now = open_reviews(path)
    return now if now.trouble or now.text == text else ReviewSidecar(now.path, text, _NO_FILE)
