"""Saves an edited set: checked by ADK's models, under the lock of its file, whole or not at all; bytes that no edit names stay."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from pydantic import ValidationError

from evalset.editing.case_edits import DeleteCase, InsertCase, NoteCase, RenameCase, ReviewCase, SetValue
from evalset.editing.case_parts import Case, field, is_same, put, spliced
from evalset.editing.opened_set import OpenedSet, identity_at
from evalset.editing.set_work import NO_NOTE, EditedCase, SetWork, State, UnsavedCase
from evalset.editing.sidecars import (
    NO_REVIEW,
    CaseReview,
    RecordingSidecar,
    ReviewFileError,
    ReviewSidecar,
    decided_otherwise,
    merged_review,
    named_decision,
    open_beside,
    parsed_reviews,
    reviews_text,
)
from evalset.errors import EvalSetError
from evalset.files.case_text import keep_copy
from evalset.files.eval_names import flaw_of_eval_id, unique_eval_id
from evalset.files.set_outline import Identity, identity_of
from evalset.recorded.recording import CaseNote, RecordedCase
from evalset.recorded.recording_files import RecordedEnvironmentError, put_all
from simulator.base.documents import first_twice, read_file
from simulator.base.frozen_value import Value
from simulator.base.user_files import (
    Lock,
    LockTimeoutError,
    Replace,
    lock_path,
    sync_folder,
    system_lock,
    write_whole,
)

_PATIENCE_SECONDS = 30.0


class ChangedOnDiskError(EvalSetError):
    """The file, or a status in its reviews, is not as it was when the set was opened or saved last; nothing was written."""


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
        converted_copy: Where the text in ADK's old form is kept, where that was converted.
    """

    path: Path
    cases: int
    beside: Path | None = None
    trouble: str = ""
    reviews: Path | None = None
    review_trouble: str = ""
    converted_copy: Path | None = None


def save(work: SetWork, *, lock: Lock = system_lock, replace: Replace = os.replace) -> Saved:
    """Save what was edited.

    Raises:
        InvalidCaseError: ADK's models refuse a case.
        ChangedOnDiskError: Somebody wrote the file since, or decided otherwise about a case.
        EvalSetError: The disk or the folder refused.
    """
    path, state = work.opened.path, work.state
    unsaved = work.unsaved(state)
    _check(work, state, {each.key for each in unsaved})
    if work.beside.trouble and any(_beside(unsaved)):
        raise EvalSetError(path, f"the recording file next to it cannot be updated: {work.beside.trouble}")
    target = Path(os.path.realpath(path))
    try:
        with lock(lock_path(target), _PATIENCE_SECONDS):
            _check_unchanged(work, target)
            reviews = _reviews_to_write(work, unsaved)
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
        cases=len(unsaved),
        converted_copy=copy,
        reviews=work.reviews.path if reviews else None,
        review_trouble=trouble,
    )
    return _finish(work, state, unsaved, identity, saved)


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


def _finish(
    work: SetWork, state: State, unsaved: Sequence[UnsavedCase], identity: Identity, saved: Saved
) -> Saved:
    """Write what lies beside the set, and note what stands in the files now."""
    cases, notes = _beside(unsaved)
    beside: Any = work.beside_identity
    if cases or notes:
        try:
            kept, by_id = (
                open_beside(work.opened.path),
                {each.now.eval_id: each for each in unsaved if each.now},
            )
            gone = {each.key: each.then for each in unsaved if each.then and not each.now}
            work.left |= {key: (then, kept.case(then.eval_id)) for key, then in gone.items()}
            now = {
                name: None if case is None else _of_now(work, by_id[name], kept)
                for name, case in cases.items()
            }
            put_all(work.beside.path, now, notes)
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


def _check(work: SetWork, state: State, fresh: Collection[str]) -> None:
    """Check with ADK's models what a save would write anew.

    Raises:
        InvalidCaseError: A case is not as ADK wants it, or its eval id is taken or cannot be used.
    """
    seen: dict[str, str] = {}
    for key in state.order:
        held = state.held.get(key)
        eval_id = held.case.get("eval_id", field(held.case, "eval_id")) if held else work.row(key).eval_id
        if key in fresh and held is not None and not _stays(work.opened, key, held):
            _check_case(work.opened, key, held.case)
            _check_keys(work.opened, key)
        if eval_id in seen and ((key in fresh and held is not None) or seen[eval_id] in fresh):
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


Part = TypeVar("Part")


def _changed(
    unsaved: Iterable[UnsavedCase], part: Callable[[EditedCase], Part], nothing: Part
) -> dict[str, tuple[Part, Part]]:
    """Return a part of the cases that is not as it was saved, by their eval ids: as it was, and as it is; `nothing` where a case has none."""
    then = {each.then.eval_id: part(each.then) for each in unsaved if each.then}
    now = {each.now.eval_id: part(each.now) for each in unsaved if each.now}
    before = {eval_id: held for eval_id, held in then.items() if held != nothing}
    both = {name: (before.get(name, nothing), now.get(name, nothing)) for name in {**before, **now}}
    return {eval_id: pair for eval_id, pair in both.items() if pair[0] != pair[1]}


def _beside(
    unsaved: Iterable[UnsavedCase],
) -> tuple[dict[str, RecordedCase | None], dict[str, CaseNote | None]]:
    """Return what changes in the recorded environment: recordings and notes by the eval ids, None where one goes."""
    recorded = _changed(unsaved, lambda held: held.recorded, None)
    notes = _changed(unsaved, lambda held: held.note, NO_NOTE)
    return (
        {eval_id: now for eval_id, (_, now) in recorded.items()},
        {eval_id: None if now == NO_NOTE else now for eval_id, (_, now) in notes.items()},
    )


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
    then = work.held(key, work.saved) if key in work.saved.order else None
    return _of_now(work, UnsavedCase(key, then, work.held(key, state)), beside)


def _of_now(work: SetWork, unsaved: UnsavedCase, beside: RecordingSidecar) -> RecordedCase | None:
    then, recorded = unsaved.then, unsaved.now.recorded if unsaved.now else None
    now = beside.case(then.eval_id) if then and recorded else None
    if then is None:
        then, now = work.left.get(unsaved.key, (None, None))
    if now is None or then is None or recorded is None:
        return recorded
    if then.recorded is None or then.recorded.tolerances != recorded.tolerances:
        return recorded
    return recorded.model_copy(update={"tolerances": now.tolerances})


class _Reviews(NamedTuple):
    """A file of reviews as a save writes it."""

    path: Path
    text: bytes


class DecidedTwice(NamedTuple):
    """A case about which two people have decided, and not the same: its eval id as it was saved last, and both reviews; mine is None where it is deleted."""

    eval_id: str
    mine: CaseReview | None
    theirs: CaseReview


def decided_twice(work: SetWork, theirs: Mapping[str, CaseReview]) -> Sequence[DecidedTwice]:
    """Return the cases about which somebody else has decided otherwise than here; `theirs` are the reviews as they are on the disk."""
    found = []
    for _, then, now in work.unsaved():
        if then is None:
            continue
        mine, other = now.review if now else None, theirs.get(then.eval_id, NO_REVIEW)
        if decided_otherwise(then.review, mine, other):
            found.append(DecidedTwice(then.eval_id, mine, other))
    return found


def _reviews_to_write(work: SetWork, unsaved: Sequence[UnsavedCase]) -> _Reviews | None:
    """Return the file of reviews as it will be; None where it stays. What others have written there since is kept.

    Raises:
        ChangedOnDiskError: Somebody else has decided otherwise about a case.
        EvalSetError: The file is damaged, or may not be written.
    """
    changed = _changed(unsaved, lambda held: held.review, NO_REVIEW)
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
    if twice := decided_twice(work, held):
        named = "; ".join(f"{each.eval_id}: {named_decision(each.theirs)}" for each in twice)
        raise ChangedOnDiskError(
            work.opened.path, f"another person decided about these cases, and nothing was written: {named}"
        )
    for eval_id, (base, mine) in changed.items():
        held[eval_id] = merged_review(base, mine, held.get(eval_id, NO_REVIEW))
    return _Reviews(path, reviews_text(held))


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
    for key, held, now in work.unsaved():
        if held is None:
            continue
        then, eval_id, mine = held.case, held.eval_id, now.case if now else None
        other = theirs.case(eval_id) if eval_id in theirs.places else None
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
    *,
    keep_their_status: Collection[str] = (),
) -> SetWork:
    """Return a work on `theirs` with the edits of `work`, a step for each case.

    Args:
        work: The edits, and the set that they were made on.
        theirs: The set as it is on the disk now.
        beside: What lies beside it now.
        keep_mine: The keys of those cases in conflict that shall be as they are in `work`; of the others the edits are
            dropped.
        reviews: The reviews as they lie beside it now; by default they are read. Both sides of a review come together.
        keep_their_status: The eval ids of those cases that are decided twice whose status shall be theirs; of the others
            mine counts.
    """
    both = {conflict.key for conflict in conflicts(work, theirs)}
    made = SetWork(theirs, beside, reviews)
    for key, then, now in work.unsaved():
        is_mine = key not in both or key in keep_mine
        eval_id = then.eval_id if then and then.eval_id in theirs.places else None
        if now is None:
            if is_mine and eval_id is not None and eval_id not in keep_their_status:
                made.apply(DeleteCase(case=eval_id))
        elif then and eval_id is not None:
            if is_mine:
                _put(made, eval_id, now, then)
            is_theirs = eval_id in keep_their_status
            review = merged_review(then.review, now.review, made.review(eval_id), keep_theirs=is_theirs)
            made.apply(ReviewCase(case=eval_id, review=review))
        elif is_mine:
            _insert(made, now)
    return made


def _put(made: SetWork, key: str, held: EditedCase, then: EditedCase) -> None:
    """Put a case in the place of another one, with what is noted of it; `then` is what it was before the edits."""
    wanted = held.eval_id
    taken = {row.eval_id for row in made.rows() if row.key != key}
    if not is_same(held.case, then.case):
        made.apply(SetValue(case=key, value=put(held.case, ("eval_id",), key)))
    if wanted != key:
        made.apply(RenameCase(case=key, eval_id=unique_eval_id(wanted, taken)))
    if held.note not in {made.note(key), then.note}:
        made.apply(NoteCase(case=key, text=held.note.text, tags=held.note.tags))


def _insert(made: SetWork, held: EditedCase) -> None:
    taken = {row.eval_id for row in made.rows()}
    eval_id = unique_eval_id(held.eval_id, taken)
    case = put(held.case, ("eval_id",), eval_id)
    made.apply(InsertCase(value=case, recorded=held.recorded, review=held.review))
    if held.note != NO_NOTE:
        made.apply(NoteCase(case=made.state.order[-1], text=held.note.text, tags=held.note.tags))
