"""What lies next to an eval set: the recorded environment, and the reviews. Each is read once, edited with the set, and saved with it.

A `CaseReview` is what people decided about a case, and the comments at its steps. A comment remembers the step that it is about by what
that says, so that it finds it again in an edited case. `<set>.review.json` holds the reviews of a set by eval ids.
"""

from __future__ import annotations

import json
import os
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

from pydantic import Field, ValidationError
from pydantic_core import SchemaValidator, core_schema

from evalset.editing.case_parts import Case, calls_of, field, turns_of
from evalset.editing.opened_set import identity_at
from evalset.errors import FileError, first_flaw
from evalset.files.eval_names import REVIEW, REVIEWS_ENDING, case_digest, own_document, reviews_path
from evalset.files.json_streams import JsonStream, Span
from evalset.files.set_outline import Identity
from evalset.recorded.recording import CaseNote, RecordedCase, lean
from evalset.recorded.recording_files import (
    RecordedEnvironmentError,
    environment_text,
    holds_recording,
    parsed,
    read_environment,
    sidecar_of,
)
from simulator.base.documents import open_archive, read_file, unpacked
from simulator.base.frozen_value import Value
from simulator.base.json_text import JsonTextError
from simulator.base.user_files import lock_path, system_lock, write_whole
from simulator.base.validation_words import first_of, validated

_LARGE = 4 << 20
"""Of a file of more bytes a case is checked when it is asked for, and not before."""


class RecordingSidecar:
    """The recording beside an eval set. Immutable; a case is read on first use.

    Args:
        path: The sidecar file.
        text: Its content; None where there is none.
        identity: Which state of the file that is.
        trouble: Why it cannot be used; empty where it can, or is not there.
    """

    def __init__(
        self, path: Path, text: bytes | None = None, identity: Identity | None = None, trouble: str = ""
    ) -> None:
        self.path, self.identity, self.trouble = path, identity, trouble
        self._text = text or b""
        self._spans: dict[str, Span] = {}
        self.notes: Mapping[str, CaseNote] = {}
        if text is not None and not trouble:
            self._find()

    @property
    def is_inside(self) -> bool:
        """Whether the recording stands in the eval set itself, and no file lies beside it yet."""
        return bool(self._text) and self.identity is None

    @property
    def text(self) -> bytes | None:
        """Its content; None where there is none, or none that can be used."""
        return self._text or None

    def __contains__(self, eval_id: object) -> bool:
        return eval_id in self._spans

    @property
    def eval_ids(self) -> frozenset[str]:
        """The cases of which the environment is recorded."""
        return frozenset(self._spans)

    def case(self, eval_id: str) -> RecordedCase | None:
        """Return what is recorded of a case; None where nothing is."""
        raw = self.raw(eval_id)
        return RecordedCase.model_validate_json(raw) if raw else None

    def raw(self, eval_id: str) -> bytes:
        """Return the bytes of what is recorded of a case; none where nothing is."""
        return self._text[slice(*self._spans.get(eval_id, (0, 0)))]

    def _find(self) -> None:
        stream = JsonStream(BytesIO(self._text), constants=True)
        for name in stream.members():
            if name == "cases":
                self._spans = {eval_id: stream.passed() for eval_id in stream.members()}
            elif name == "notes":
                self.notes = {
                    eval_id: CaseNote.model_validate(stream.value()) for eval_id in stream.members()
                }
            else:
                stream.skip()


def open_beside(eval_set: Path) -> RecordingSidecar:
    """Open what lies beside an eval set, or else inside of it.

    Where it is damaged, it is told why, and the set can be opened all the same.
    """
    path = sidecar_of(eval_set)
    identity = identity_at(path)
    if identity is None:
        return _inside(eval_set, path)
    try:
        text = read_file(path)
        _check_recording(path, text)
        return RecordingSidecar(path, text, identity)
    except (RecordedEnvironmentError, OSError, JsonTextError, ValidationError) as error:
        return RecordingSidecar(path, None, identity, str(error))


def _inside(eval_set: Path, beside: Path) -> RecordingSidecar:
    """Open the recording that an eval set holds itself; the first change of it makes the file beside."""
    if not holds_recording(eval_set):
        return RecordingSidecar(beside)
    try:
        return RecordingSidecar(beside, environment_text(read_environment(eval_set)).encode())
    except (RecordedEnvironmentError, OSError, ValidationError) as error:
        return RecordingSidecar(beside, None, None, str(error))


def _check_recording(path: Path, text: bytes) -> None:
    if len(text) <= _LARGE:
        parsed(path, text)
        return
    head = text[: 1 << 12]
    if b'"format"' not in head or b"golden-trace-studio/environment" not in head:
        raise RecordedEnvironmentError(path, "this is not a recorded environment")
    try:
        # An object whose members are all ignored: the whole text is parsed, and nothing of it is held.
        SchemaValidator(core_schema.typed_dict_schema({})).validate_json(text.removeprefix(b"\xef\xbb\xbf"))
    except ValidationError as error:
        first = first_of(error)
        raise RecordedEnvironmentError(path, f"it is not a JSON object: {first['msg']}") from error


Status: TypeAlias = Literal["", "needs_review", "approved", "changes_requested"]
"""What was decided about a case; empty where nothing was."""


class CaseComment(Value):
    """A remark about a case, or about a step of it.

    Attributes:
        text: What was remarked.
        by: Who remarked it.
        at: When, as an ISO time in UTC; empty where that is not known.
        turn: The turn, counted from 1; None for the case as a whole.
        invocation_id: The turn's id, by which it is found first; empty where it has none.
        call: The call in the turn, counted from 1; None for the turn as a whole.
        call_id: The call's id, by which it is found first; empty where it has none.
    """

    text: str = Field(min_length=1)
    by: str = ""
    at: str = ""
    turn: int | None = Field(default=None, ge=1)
    invocation_id: str = ""
    call: int | None = Field(default=None, ge=1)
    call_id: str = ""


class CaseReview(Value):
    """The review of one case.

    Attributes:
        status: What was decided.
        reviewer: Who decided it.
        digest: The digest of the case that it was decided about, by which a later change is noticed.
        comments: The remarks, the oldest first.
    """

    status: Status = ""
    reviewer: str = ""
    digest: str = ""
    comments: tuple[CaseComment, ...] = ()


NO_REVIEW = CaseReview()


def merged_review(
    base: CaseReview, mine: CaseReview, theirs: CaseReview, *, keep_theirs: bool = False
) -> CaseReview:
    """Bring together what two people made of one review: the comments of both, without those that either has removed.

    Where both have decided, and not the same, `mine` counts unless `keep_theirs` is set, and what the other has decided
    becomes a comment by them.
    """
    kept = [each for each in theirs.comments if each in mine.comments or each not in base.comments]
    new = [each for each in mine.comments if each not in base.comments and each not in kept]
    is_mine = _decision(mine) != _decision(base)
    if decided_otherwise(base, mine, theirs):
        is_mine = not keep_theirs
        other = theirs if is_mine else mine
        text = f"Decided at the same time: {decision_words(other)}"
        new.append(CaseComment(text=text, by=other.reviewer))
    return (mine if is_mine else theirs).model_copy(update={"comments": (*kept, *new)})


def decision_words(review: CaseReview) -> str:
    """Say what was decided."""
    return review.status.replace("_", " ") or "no status"


def named_decision(review: CaseReview) -> str:
    """Say who decided what."""
    return f"{review.reviewer or 'someone'}, {decision_words(review)}"


def decided_otherwise(base: CaseReview, mine: CaseReview | None, theirs: CaseReview) -> bool:
    """Return whether two people have decided about a case, and not the same; a case that I delete (None) loses their status."""
    if mine is None:
        return bool(theirs.status) and _decision(theirs) != _decision(base)
    return mine.status != theirs.status and _decision(base) not in {_decision(mine), _decision(theirs)}


def _decision(review: CaseReview) -> tuple[str, str, str]:
    return review.status, review.reviewer, review.digest


def has_changed_since(review: CaseReview, case: Case) -> bool:
    """Return whether a case is not as it was when its status was set."""
    return bool(review.status and review.digest) and review.digest != case_digest(case)


def review_of_copy(review: CaseReview, before: Case, after: Case) -> CaseReview:
    """Return the review for a case that is written in another way: a decision about what it still held holds for the copy."""
    if not review.digest or has_changed_since(review, before):
        return review
    return review.model_copy(update={"digest": case_digest(after)})


def step_of(case: Case, turn: int | None, call: int | None = None) -> dict[str, Any]:
    """Return the fields of a comment that name a step.

    Args:
        case: The case.
        turn: The turn, from 0; None for the case as a whole.
        call: The call in the turn, from 0; None for the turn as a whole.
    """
    if turn is None:
        return {}
    named: dict[str, Any] = {"turn": turn + 1}
    named["invocation_id"] = str(field(turns_of(case)[turn], "invocation_id", ""))
    if call is not None:
        named |= {"call": call + 1, "call_id": calls_of(case, turn)[call].call.call_id}
    return named


def turn_of(comment: CaseComment, case: Case) -> int | None:
    """Return the turn of a comment, from 0; None where it has none, or the case has it no more."""
    if comment.turn is None:
        return None
    turns, place = turns_of(case), comment.turn - 1
    ids = [str(field(turn, "invocation_id", "")) for turn in turns]
    wanted = comment.invocation_id
    if wanted and wanted in ids:
        return place if place < len(ids) and ids[place] == wanted else ids.index(wanted)
    return place if place < len(turns) else None


def call_of(comment: CaseComment, case: Case, turn: int) -> int | None:
    """Return the call of a comment in its turn, from 0; None where it has none, or the turn has it no more."""
    if comment.call is None:
        return None
    ids = [seen.call.call_id for seen in calls_of(case, turn)]
    if comment.call_id:
        return ids.index(comment.call_id) if comment.call_id in ids else None
    return comment.call - 1 if comment.call <= len(ids) else None


VERSION = 1
_EVAL_SET = ".evalset.json"
_PATIENCE_SECONDS = 30.0
_MOST_ARCHIVED = 100
"""So many files of reviews are read of one archive."""


class ReviewFileError(FileError):
    """A file holds no reviews that can be used; the text names the file, the place and what is wrong."""


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


def open_reviews(eval_set: Path | str) -> ReviewSidecar:
    """Open the reviews beside an eval set. Where they are damaged, it is told why, and the set can be opened all the same."""
    path = reviews_path(eval_set)
    identity = identity_at(path)
    if identity is None:
        return ReviewSidecar(path)
    try:
        return ReviewSidecar(path, read_file(path, "reviews"), identity)
    except OSError as error:
        return ReviewSidecar(path, None, identity, f"{path}: cannot be read: {error.strerror or error}")


def parsed_reviews(path: Path, text: bytes) -> dict[str, CaseReview]:
    """Read the reviews in the content of a file, by the eval ids of their cases.

    Raises:
        ReviewFileError: It holds none, is newer than this, or is damaged; the text says where.
    """
    try:
        found = own_document(text, REVIEW, VERSION, "a file of reviews")
    except ValueError as error:
        raise ReviewFileError(path, str(error)) from error
    try:
        return dict(validated(_ReviewFile, found).cases)
    except ValidationError as error:
        raise ReviewFileError(path, first_flaw(error)) from error


class BroughtReviews(NamedTuple):
    """The reviews that come with eval sets, by the place of the set, as an import names it, and the eval id there.

    Attributes:
        found: The reviews.
        problems: Which files of reviews cannot be used, and why.
    """

    found: Mapping[tuple[str, str], CaseReview]
    problems: tuple[str, ...] = ()

    def of(
        self, eval_ids: Iterable[str], origins: Iterable[tuple[str, str]], rewritten: Mapping[str, str]
    ) -> dict[str, CaseReview]:
        """Return the reviews of imported cases by their ids.

        Args:
            eval_ids: The ids.
            origins: Where each was found.
            rewritten: The digests of cases that the import writes in another way, by those that they had: what was decided about
                a case as it stood there holds for it.
        """
        pairs = zip(eval_ids, origins, strict=True)
        found = {eval_id: self.found[origin] for eval_id, origin in pairs if origin in self.found}
        return {
            eval_id: review.model_copy(update={"digest": rewritten.get(review.digest, review.digest)})
            for eval_id, review in found.items()
        }


def brought_reviews(path: Path) -> BroughtReviews:
    """Read the reviews that come with the eval sets of a file, a folder or a ZIP archive."""
    found: dict[tuple[str, str], CaseReview] = {}
    problems: list[str] = []
    for place, content in _brought_files(path):
        try:
            reviews = parsed_reviews(Path(place), content())
        except ReviewFileError as error:
            problems.append(str(error))
            continue
        except OSError as error:
            problems.append(f"{place}: cannot be read: {error.strerror or error}")
            continue
        for ending in (_EVAL_SET, ".json"):
            eval_set = f"{place.removesuffix(REVIEWS_ENDING)}{ending}"
            found |= {(eval_set, eval_id): review for eval_id, review in reviews.items()}
    return BroughtReviews(found, tuple(problems))


def _brought_files(path: Path) -> Iterator[tuple[str, Callable[[], bytes]]]:
    """Yield the place of each file of reviews, and what reads it until the next one is asked for."""
    if path.is_dir():
        for file in sorted(path.rglob("*")):
            place = file.relative_to(path).as_posix()
            if file.suffix == ".zip":
                yield from _archived(file, f"{place}/")
            elif file.name.endswith(REVIEWS_ENDING) and file.is_file():
                yield place, partial(read_file, file, "reviews")
    elif path.is_file() and zipfile.is_zipfile(path):
        yield from _archived(path, f"{path.name}/")
    elif (beside := reviews_path(path)).is_file():
        yield beside.name, partial(read_file, beside, "reviews")


def _archived(archive: Path, within: str) -> Iterator[tuple[str, Callable[[], bytes]]]:
    try:
        with open_archive(archive) as packed:
            names = sorted(name for name in packed.namelist() if name.endswith(REVIEWS_ENDING))
            for name in names[:_MOST_ARCHIVED]:
                yield f"{within}{name}", partial(unpacked, packed, name, "reviews")
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError):
        return  # what is wrong with the archive itself is said where its cases are read


def add_reviews(eval_set: Path, reviews: Mapping[str, CaseReview]) -> Path | None:
    """Add the reviews of new cases to the file beside their eval set; return it, None where there are none to add.

    Raises:
        ReviewFileError: The file that is there cannot be used; it is as it was.
        OSError: It cannot be read or written, or another program has been writing the set for half a minute.
    """
    path = reviews_path(eval_set)
    if not reviews:
        return None
    # Whoever saves reviews holds the lock of their set.
    with system_lock(lock_path(Path(os.path.realpath(eval_set))), _PATIENCE_SECONDS):
        held = parsed_reviews(path, read_file(path, "reviews")) if path.exists() else {}
        write_whole(path, [reviews_text({**held, **reviews})])
    return path


def reviews_text(reviews: Mapping[str, CaseReview]) -> bytes:
    """Write reviews as their file holds them; a case without any is left out."""
    cases = {eval_id: lean(review) for eval_id, review in sorted(reviews.items()) if review != NO_REVIEW}
    whole = {"format": REVIEW, "version": VERSION, "cases": cases}
    return f"{json.dumps(whole, indent=2, ensure_ascii=False)}\n".encode()
