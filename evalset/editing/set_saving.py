"""Saves an edited set: checked by ADK's models, under the lock of its file, whole or not at all; bytes that no edit names stay."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from evalset.editing.case_bytes import spliced
from evalset.editing.case_edits import DeleteCase, InsertCase, NoteCase, RenameCase, ReviewCase, SetValue
from evalset.editing.case_parts import Case, field, is_same, put
from evalset.editing.case_reviews import (
    NO_REVIEW,
    CaseReview,
    decided_otherwise,
    decision_words,
    merged_review,
)
from evalset.editing.opened_set import OpenedSet, identity_at
from evalset.editing.recording_beside import RecordingSidecar, open_beside
from evalset.editing.reviews_beside import ReviewFileError, ReviewSidecar, parsed_reviews, reviews_text
from evalset.editing.set_work import NO_NOTE, EditedCase, SetWork, State
from evalset.errors import EvalSetError
from evalset.files.eval_names import flaw_of_eval_id, unique_eval_id
from evalset.files.legacy_format import keep_copy
from evalset.files.outline_cache import Identity, identity_of
from evalset.recorded.recording import CaseNote, RecordedCase
from evalset.recorded.recording_files import RecordedEnvironmentError, put_all
from simulator.base.atomic_files import (
    Lock,
    LockTimeoutError,
    Replace,
    lock_path,
    sync_folder,
    system_lock,
    write_whole,
)
from simulator.base.documents import first_twice, read_file
from simulator.base.frozen_value import Value

_PATIENCE_SECONDS = 30.0


class ChangedOnDiskError(EvalSetError):
    """The file is not as it was when the set was opened or saved last; nothing was written."""


class InvalidCaseError(EvalSetError):
    """ADK would not read a case; the text names the case and the place, and nothing was written.

    Attributes:
        key: The case.
    """

    def __init__(self, path: Path, key: str, reason: str) -> None:
        super().__init__(path, reason)
        self.key = key


class Saved(Value):
    """What a save did.

    Attributes:
        path: The file.
        cases: How many cases are not as they were.
        beside: The recorded environment, where that changed too.
        trouble: Why the recorded environment was not written; the eval set was.
        reviews: The file of reviews, where that changed too.
        review_trouble: Why the reviews were not written; the eval set was.
        decided_twice: Whose decision about which case became a comment, because another one was saved now.
        converted_copy: Where the text in ADK's old form is kept, where that was converted.
    """

    path: Path
    cases: int
    beside: Path | None = None
    trouble: str = ""
    reviews: Path | None = None
    review_trouble: str = ""
    decided_twice: tuple[str, ...] = ()
    converted_copy: Path | None = None


def save(work: SetWork, *, lock: Lock = system_lock, replace: Replace = os.replace) -> Saved:
    """Save what was edited.

    Raises:
        InvalidCaseError: ADK's models refuse a case.
        ChangedOnDiskError: Somebody wrote the file since.
        EvalSetError: The disk or the folder refused.
    """
    path, state = work.opened.path, work.state
    touched = touched_keys(work, state)
    check(work, state, touched)
    if work.beside.trouble and (_recorded_changes(work, state) or _note_changes(work, state)):
        raise EvalSetError(path, f"the recording file next to it cannot be updated: {work.beside.trouble}")
    target = Path(os.path.realpath(path))
    try:
        with lock(lock_path(target), _PATIENCE_SECONDS):
            _check_unchanged(work, target)
            reviews = _reviews_to_write(work, state)
            old = work.opened.old_text if work.identity == work.opened.identity else None
            copy = keep_copy(target, old) if old is not None else None
            trouble = _put_files(work, state, target, reviews, replace)
            identity = identity_of(target.stat())
            sync_folder(target.parent)
    except LockTimeoutError as error:
        reason = f"another program has been writing it for {_PATIENCE_SECONDS:g} s; nothing was written"
        raise EvalSetError(path, reason) from error
    except OSError as error:
        raise EvalSetError(path, f"cannot be written: {error.strerror or error}") from error
    saved = Saved(
        path=path,
        cases=len(touched),
        converted_copy=copy,
        reviews=work.reviews.path if reviews else None,
        review_trouble=trouble,
        decided_twice=tuple(reviews.decided_twice) if reviews else (),
    )
    return _finish(work, state, identity, saved)


def _put_files(work: SetWork, state: State, target: Path, reviews: _Reviews | None, replace: Replace) -> str:
    """Write the set, and its reviews where they change: both are on the disk in full before either takes its place.

    Returns:
        Why the reviews did not take their place though the set did; empty where nothing went wrong.

    Raises:
        OSError: The disk or the folder refused; both files are as they were.
    """
    is_written = False

    def write_set() -> None:
        nonlocal is_written
        write_whole(
            target,
            list(pieces(work.opened, state)),
            before_replace=lambda: _check_unchanged(work, target),
            replace=replace,
        )
        is_written = True

    if reviews is None:
        write_set()
        return ""
    try:
        write_whole(reviews.path, [reviews.text], before_replace=write_set, replace=replace)
    except OSError as error:
        if not is_written:
            raise
        return str(error)
    return ""


def _finish(work: SetWork, state: State, identity: Identity, saved: Saved) -> Saved:
    """Write what lies beside the set, and note what stands in the files now."""
    cases, notes = _recorded_changes(work, state), _note_changes(work, state)
    beside: Any = work.beside_identity
    if cases or notes:
        try:
            put_all(work.beside.path, _with_tolerances_of_now(work, state, cases), notes)
            beside = identity_at(work.beside.path)
            saved = saved.model_copy(update={"beside": work.beside.path})
        except (RecordedEnvironmentError, OSError) as error:
            saved = saved.model_copy(update={"trouble": str(error)})
    reviews = identity_at(work.reviews.path) if saved.reviews else work.reviews_identity
    work.take_saved(state, identity, beside, reviews)
    return saved


def has_changed_on_disk(work: SetWork) -> bool:
    """Return whether the file is not as it was when it was opened or saved last."""
    return identity_at(work.opened.path) != work.identity


def _check_unchanged(work: SetWork, target: Path) -> None:
    if identity_at(target) != work.identity:
        gone = not target.exists()
        raise ChangedOnDiskError(
            work.opened.path,
            "no longer exists; nothing was written"
            if gone
            else "changed on disk since it was opened; nothing was written",
        )


# ---------------------------------------------------------------- checking


def touched_keys(work: SetWork, state: State) -> list[str]:
    """Return the cases that are not as they were saved: edited, new, or gone."""
    then = work.saved
    before, now = set(then.order), set(state.order)
    changed = [
        key for key in state.order if key not in before or then.held.get(key) is not state.held.get(key)
    ]
    return [*changed, *(key for key in then.order if key not in now)]


def check(work: SetWork, state: State, touched: list[str]) -> None:
    """Check with ADK's models what a save would write anew.

    Raises:
        InvalidCaseError: A case is not as ADK wants it, or its eval id is taken or cannot be used.
    """
    seen: dict[str, str] = {}
    fresh = set(touched)
    for key in state.order:
        held = state.held.get(key)
        eval_id = held.case.get("eval_id", field(held.case, "eval_id")) if held else work.row(key).eval_id
        if key in fresh and held is not None:
            if not _stays(work.opened, key, held):
                _check_case(work.opened, key, held.case)
                _check_keys(work.opened, key)
            if eval_id in seen:
                raise InvalidCaseError(work.opened.path, key, f"two cases have the eval id {eval_id!r}")
        elif seen.get(eval_id) in fresh:
            raise InvalidCaseError(work.opened.path, key, f"two cases have the eval id {eval_id!r}")
        seen[eval_id] = key


def _check_case(opened: OpenedSet, key: str, case: Case) -> None:
    """Check a case; the eval id that it was opened with may stay: ADK loads it, and its own conversion writes paths there."""
    from google.adk.evaluation.eval_case import EvalCase  # noqa: PLC0415 - importing ADK's evaluation takes a second

    path, eval_id = opened.path, field(case, "eval_id")
    name = eval_id if isinstance(eval_id, str) else key
    is_own = key in opened.places and eval_id == opened.rows[opened.places[key]].eval_id
    if isinstance(eval_id, str) and not is_own and (flaw := flaw_of_eval_id(eval_id)):
        raise InvalidCaseError(path, key, flaw)
    try:
        EvalCase.model_validate(case)
    except ValidationError as error:
        raise InvalidCaseError(path, key, f"case {name!r}: {_first(error)}") from None


def _check_keys(opened: OpenedSet, key: str) -> None:
    """Refuse to write anew a case in which a key stands twice in one object: one of its values would be lost."""
    if key not in opened.places:
        return

    def checked(pairs: list[tuple[str, Any]]) -> None:
        if (twice := first_twice(name for name, _ in pairs)) is not None:
            reason = f"case {key!r}: the key {twice!r} occurs twice in one object, and saving would keep only one of them"
            raise InvalidCaseError(opened.path, key, reason)

    json.loads(opened.raw(key), object_pairs_hook=checked)


def _first(error: ValidationError) -> str:
    """Name the first thing that ADK refuses, and where it stands: of a value with two forms that which came further."""
    flaws = error.errors(include_url=False, include_input=False)
    deepest = max(flaws, key=lambda flaw: len(flaw["loc"]))
    flaw = deepest if len(flaws) > 1 else flaws[0]
    shown = [step for step in flaw["loc"] if isinstance(step, int) or step[:1].islower()]
    place = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in shown).lstrip(".")
    return f"{place}: {flaw['msg']}" if place else str(flaw["msg"])


# ---------------------------------------------------------------- the bytes


def pieces(opened: OpenedSet, state: State) -> Iterator[bytes | memoryview]:
    """Yield the file as it will be: cases that no edit changed, and all around them, as they stand in it."""
    text, spans, layout = memoryview(opened.text), opened.spans, opened.layout
    written = [_written(opened, state, key) for key in state.order]
    if not spans:
        place = layout.insert_at
        yield text[:place]
        for number, case in enumerate(written):
            yield layout.lead if number == 0 else layout.next_lead
            yield case
        yield layout.trail if written else b""
        yield text[place:]
        return
    head, tail = text[: spans[0].start], text[spans[-1].stop :]
    if not written:
        yield bytes(head).rstrip()
        yield bytes(tail).lstrip()
        return
    yield head
    before: int | None = None
    for number, (key, case) in enumerate(zip(state.order, written, strict=True)):
        here = opened.places.get(key)
        if number:
            yield _gap(opened, before, here)
        yield case
        before = here
    yield tail


def _gap(opened: OpenedSet, before: int | None, here: int | None) -> bytes:
    """Return what stands between two cases: what stood there, or where they did not follow each other, what stands between others."""
    if before is not None and here == before + 1:
        return opened.text[opened.spans[before].stop : opened.spans[here].start]
    if len(opened.spans) > 1:
        return opened.text[opened.spans[0].stop : opened.spans[1].start]
    return opened.layout.next_lead


def _written(opened: OpenedSet, state: State, key: str) -> bytes | memoryview:
    held = state.held.get(key)
    if key in opened.places and (held is None or _stays(opened, key, held)):
        return memoryview(opened.text)[slice(*opened.spans[opened.places[key]])]
    assert held is not None  # noqa: S101 - a case that was not opened was made by an edit
    if key in opened.places:
        made = spliced(opened.raw(key), opened.case(key), held.case, opened.layout.style)
        if is_same(json.loads(made), held.case):  # nothing else may ever reach the file
            return made
    return opened.layout.style.write(held.case)


def _stays(opened: OpenedSet, key: str, held: EditedCase) -> bool:
    """Return whether a case is as it was opened, so that its bytes stay; what lies beside the set may have changed."""
    return key in opened.places and is_same(held.case, opened.case(key))


def text_of_set(work: SetWork) -> bytes:
    """Return the whole file as a save would write it; nothing is checked."""
    return b"".join(bytes(piece) for piece in pieces(work.opened, work.state))


# ---------------------------------------------------------------- what lies beside


def _beside_of(work: SetWork, state: State, keys: list[str]) -> dict[str, EditedCase]:
    return {str(field(held.case, "eval_id", "")): held for key in keys if (held := work.held(key, state))}


def _both(work: SetWork, state: State) -> tuple[dict[str, EditedCase], dict[str, EditedCase]]:
    """Return the cases that a save touches by their eval ids, as they were saved and as they are now."""
    touched = touched_keys(work, state)
    then, now = set(work.saved.order), set(state.order)
    return (
        _beside_of(work, work.saved, [key for key in touched if key in then]),
        _beside_of(work, state, [key for key in touched if key in now]),
    )


def _recorded_changes(work: SetWork, state: State) -> dict[str, RecordedCase | None]:
    before, after = _both(work, state)
    gone = {eval_id: None for eval_id, held in before.items() if held.recorded is not None}
    put = {eval_id: held.recorded for eval_id, held in after.items() if held.recorded is not None}
    same = [
        eval_id
        for eval_id, held in after.items()
        if eval_id in before and before[eval_id].recorded == held.recorded
    ]
    return {eval_id: case for eval_id, case in {**gone, **put}.items() if eval_id not in same}


def recorded_of_now(
    work: SetWork, key: str, beside: RecordingSidecar, state: State | None = None
) -> RecordedCase | None:
    """Return what is recorded of a case. Tolerances that no edit has changed are those in its file now: they are saved without the set.

    Args:
        work: The work on the set.
        key: The case.
        beside: What is recorded beside the set now.
        state: The set after some edits; by default as it is.
    """
    recorded = work.held(key, state).recorded
    if recorded is None or key not in work.saved.order:
        return recorded
    then = work.held(key, work.saved)
    now = beside.case(str(field(then.case, "eval_id", "")))
    if now is None or then.recorded is None or then.recorded.tolerances != recorded.tolerances:
        return recorded
    return recorded.model_copy(update={"tolerances": now.tolerances})


def _with_tolerances_of_now(
    work: SetWork, state: State, changes: Mapping[str, RecordedCase | None]
) -> dict[str, RecordedCase | None]:
    """Return the changes of a recording with the tolerances that were saved since the set was opened."""
    beside = open_beside(work.opened.path)
    keys = {
        str(field(work.held(key, state).case, "eval_id", "")): key
        for key in touched_keys(work, state)
        if key in state.order
    }
    return {
        eval_id: None if case is None else recorded_of_now(work, keys[eval_id], beside, state)
        for eval_id, case in changes.items()
    }


def _note_changes(work: SetWork, state: State) -> dict[str, CaseNote | None]:
    before, after = _both(work, state)
    empty = CaseNote()
    gone = {eval_id: None for eval_id, held in before.items() if held.note != empty}
    put = {eval_id: held.note for eval_id, held in after.items() if held.note != empty}
    same = [
        eval_id for eval_id, held in after.items() if eval_id in before and before[eval_id].note == held.note
    ]
    return {eval_id: note for eval_id, note in {**gone, **put}.items() if eval_id not in same}


class _Reviews(NamedTuple):
    """A file of reviews as a save writes it."""

    path: Path
    text: bytes
    decided_twice: Sequence[str]


def _review_changes(work: SetWork, state: State) -> dict[str, tuple[CaseReview, CaseReview]]:
    """Return the reviews that are not as they were saved, by eval id: as they were, and as they are."""
    before, after = _both(work, state)
    found = {
        eval_id: (
            before[eval_id].review if eval_id in before else NO_REVIEW,
            after[eval_id].review if eval_id in after else NO_REVIEW,
        )
        for eval_id in {**before, **after}
    }
    return {eval_id: both for eval_id, both in found.items() if both[0] != both[1]}


def decided_twice(work: SetWork, theirs: Mapping[str, CaseReview]) -> Sequence[str]:
    """Name the cases about which somebody else has decided otherwise than here, with who and what; `theirs` are the reviews as they are on the disk."""
    others = [
        (eval_id, theirs.get(eval_id, NO_REVIEW))
        for eval_id, (base, mine) in _review_changes(work, work.state).items()
        if decided_otherwise(base, mine, theirs.get(eval_id, NO_REVIEW))
    ]
    return [f"{eval_id}: {each.reviewer or 'someone'}, {decision_words(each)}" for eval_id, each in others]


def _reviews_to_write(work: SetWork, state: State) -> _Reviews | None:
    """Return the file of reviews as it will be; None where it stays. What others have written there since is kept.

    Raises:
        EvalSetError: The file is damaged, or may not be written.
    """
    changed = _review_changes(work, state)
    if not changed:
        return None
    path = Path(os.path.realpath(work.reviews.path))
    try:
        held = parsed_reviews(path, read_file(path, "reviews")) if path.exists() else {}
    except ReviewFileError as error:
        raise EvalSetError(
            work.opened.path, f"the review file next to it cannot be updated: {error}"
        ) from error
    if path.exists() and not os.access(path, os.W_OK):
        raise EvalSetError(work.opened.path, f"the review file next to it is read-only: {path}")
    twice = decided_twice(work, held)
    for eval_id, (base, mine) in changed.items():
        held[eval_id] = merged_review(base, mine, held.get(eval_id, NO_REVIEW))
    return _Reviews(path, reviews_text(held), twice)


# Brings edits onto a set that somebody else has written meanwhile, case by case. Pure but for what the sets hold.


class Conflict(NamedTuple):
    """A case that both sides changed: its key in the work, its eval id, and how each side has it (None where it is gone)."""

    key: str
    eval_id: str
    mine: Case | None
    theirs: Case | None


def conflicts(work: SetWork, theirs: OpenedSet) -> tuple[Conflict, ...]:
    """Return the cases that were edited here and are not in `theirs` as they were when they were opened or saved last, nor as they are here."""
    found: list[Conflict] = []
    for key in touched_keys(work, work.state):
        if key not in work.saved.order:
            continue
        then = work.held(key, work.saved).case
        eval_id = str(field(then, "eval_id", ""))
        other = theirs.case(eval_id) if eval_id in theirs.places else None
        mine = work.held(key).case if key in work.state.order else None
        if (mine is None and other is None) or (mine is not None and is_same(mine, then)):
            continue
        if mine is not None and other is not None and is_same(mine, other):
            continue
        if other is None or not is_same(other, then):
            found.append(Conflict(key, eval_id, mine, other))
    return tuple(found)


def merged(
    work: SetWork,
    theirs: OpenedSet,
    beside: RecordingSidecar,
    keep_mine: Collection[str],
    reviews: ReviewSidecar | None = None,
) -> SetWork:
    """Return a work on `theirs` with the edits of `work`, a step for each case.

    Args:
        work: The edits, and the set that they were made on.
        theirs: The set as it is on the disk now.
        beside: What lies beside it now.
        keep_mine: The keys of those cases in conflict that shall be as they are in `work`; of the others the edits are
            dropped.
        reviews: The reviews as they lie beside it now; by default they are read. Both sides of a review come together.
    """
    both = {conflict.key for conflict in conflicts(work, theirs)}
    made = SetWork(theirs, beside, reviews)
    for key in touched_keys(work, work.state):
        is_mine = key not in both or key in keep_mine
        was_there = key in work.saved.order
        then = work.held(key, work.saved if was_there else work.state)
        eval_id = str(field(then.case, "eval_id", ""))
        if key not in work.state.order:
            if is_mine and eval_id in theirs.places:
                made.apply(DeleteCase(case=eval_id))
        elif was_there and eval_id in theirs.places:
            if is_mine:
                _put(made, eval_id, work.held(key), then)
            review = merged_review(then.review, work.review(key), made.review(eval_id))
            made.apply(ReviewCase(case=eval_id, review=review))
        elif is_mine:
            _insert(made, work.held(key))
    return made


def _put(made: SetWork, key: str, held: EditedCase, then: EditedCase) -> None:
    """Put a case in the place of another one, with what is noted of it; `then` is what it was before the edits."""
    wanted = str(field(held.case, "eval_id", ""))
    taken = {row.eval_id for row in made.rows() if row.key != key}
    if not is_same(held.case, then.case):
        made.apply(SetValue(case=key, value=put(held.case, ("eval_id",), key)))
    if wanted != key:
        made.apply(RenameCase(case=key, eval_id=unique_eval_id(wanted, taken)))
    if held.note not in {made.note(key), then.note}:
        made.apply(NoteCase(case=key, text=held.note.text, tags=held.note.tags))


def _insert(made: SetWork, held: EditedCase) -> None:
    taken = {row.eval_id for row in made.rows()}
    eval_id = unique_eval_id(str(field(held.case, "eval_id", "")), taken)
    case = put(held.case, ("eval_id",), eval_id)
    made.apply(InsertCase(value=case, recorded=held.recorded, review=held.review))
    if held.note != NO_NOTE:
        made.apply(NoteCase(case=made.state.order[-1], text=held.note.text, tags=held.note.tags))
