"""Reads and writes the file of reviews beside an eval set, `<set>.review.json`.

It is made for people: two spaces, cases in the order of their ids, so that a change reads well in a diff.
"""

from __future__ import annotations

import json
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError

from evalset.editing.case_reviews import NO_REVIEW, CaseReview
from evalset.editing.opened_set import identity_at
from evalset.errors import first_flaw
from evalset.files.outline_cache import Identity
from evalset.files.own_formats import own_document
from evalset.recorded.recording import lean
from simulator.base.frozen_value import Value

FORMAT = "golden-trace-studio/review"
VERSION = 1
MOST_BYTES = 16 << 20
"""A larger file in an archive is not read."""
_EVAL_SET, _SIDECAR = ".evalset.json", ".review.json"


class ReviewFileError(ValueError):
    """A file holds no reviews that can be used; the text names the file, the place and what is wrong."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path}: {reason}")


class _ReviewFile(Value):
    format: Literal["golden-trace-studio/review"]
    version: Literal[1]
    cases: dict[str, CaseReview] = Field(default_factory=dict)


class ReviewSidecar:
    """The reviews beside an eval set, as they were when it was opened. Nothing in it changes.

    Args:
        path: The file.
        text: Its content; None where there is none.
        identity: Which state of the file that is.
        trouble: Why it cannot be used; empty where it can, or is not there.
    """

    def __init__(
        self, path: Path, text: bytes | None = None, identity: Identity | None = None, trouble: str = ""
    ) -> None:
        self.path, self.text, self.identity, self.trouble = path, text, identity, trouble
        self.reviews: Mapping[str, CaseReview] = {}
        if text is not None and not trouble:
            try:
                self.reviews = parsed_reviews(path, text)
            except ReviewFileError as error:
                self.trouble = str(error)


def reviews_path(eval_set: Path | str) -> Path:
    """Return the path of the reviews that belong to an eval set."""
    path = Path(eval_set)
    stem = path.name.removesuffix(_EVAL_SET)
    return path.with_name(f"{stem if stem != path.name else path.name.removesuffix(path.suffix)}{_SIDECAR}")


def open_reviews(eval_set: Path | str) -> ReviewSidecar:
    """Open the reviews beside an eval set. Where they are damaged, it is told why, and the set can be opened all the same."""
    path = reviews_path(eval_set)
    identity = identity_at(path)
    if identity is None:
        return ReviewSidecar(path)
    try:
        return ReviewSidecar(path, path.read_bytes(), identity)
    except OSError as error:
        return ReviewSidecar(path, None, identity, f"{path}: cannot be read: {error.strerror or error}")


def parsed_reviews(path: Path, text: bytes) -> dict[str, CaseReview]:
    """Read the reviews in the content of a file, by the eval ids of their cases.

    Raises:
        ReviewFileError: It holds none, is newer than this, or is damaged; the text says where.
    """
    try:
        found = own_document(text, FORMAT, VERSION, "a file of reviews")
    except ValueError as error:
        raise ReviewFileError(path, str(error)) from error
    try:
        return dict(_ReviewFile.model_validate(found).cases)
    except ValidationError as error:
        raise ReviewFileError(path, first_flaw(error)) from error


def brought_reviews(path: Path) -> Mapping[str, CaseReview]:
    """Return the reviews that come with the one eval set of a file, a folder or a ZIP archive; none where there are none, or several sets.

    Raises:
        ReviewFileError: The file of reviews cannot be used.
    """
    sets = [*path.rglob(f"*{_EVAL_SET}")] if path.is_dir() else [path] * path.name.endswith(_EVAL_SET)
    if not path.is_dir() and not sets:
        return _archived(path)
    found = open_reviews(sets[0]) if len(sets) == 1 else None
    if found is not None and found.trouble:
        raise ReviewFileError(found.path, found.trouble.removeprefix(f"{found.path}: "))
    return found.reviews if found is not None else {}


def _archived(archive: Path) -> Mapping[str, CaseReview]:
    try:
        with zipfile.ZipFile(archive) as packed:
            sets = [name for name in packed.namelist() if name.endswith(_EVAL_SET)]
            if len(sets) != 1 or (beside := reviews_path(sets[0]).as_posix()) not in packed.namelist():
                return {}
            with packed.open(beside) as source:
                text = source.read(MOST_BYTES + 1)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError):
        return {}  # what is wrong with the archive itself is said where its cases are read
    if len(text) > MOST_BYTES:
        raise ReviewFileError(Path(beside), f"more than {MOST_BYTES >> 20} MB")
    return parsed_reviews(Path(beside), text)


def reviews_text(reviews: Mapping[str, CaseReview]) -> bytes:
    """Write reviews as their file holds them; a case without any is left out."""
    cases = {eval_id: lean(review) for eval_id, review in sorted(reviews.items()) if review != NO_REVIEW}
    whole = {"format": FORMAT, "version": VERSION, "cases": cases}
    return f"{json.dumps(whole, indent=2, ensure_ascii=False)}\n".encode()
