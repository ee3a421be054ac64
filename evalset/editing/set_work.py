"""Somebody's work on an eval set that is open: the edits so far, and the set as they make it; every step can be undone and redone.

`kept_work` writes unsaved work so that it can be gone on with later (`restored_work`), also where the file has changed meanwhile.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from threading import RLock
from typing import Literal, NamedTuple, assert_never

from pydantic import ValidationError

from evalset.editing.case_edits import (
    DeleteCase,
    DuplicateCase,
    Edit,
    InCase,
    InsertCase,
    MergeCases,
    MoveCase,
    MoveTurn,
    NoteCase,
    OfSet,
    RemoveTurn,
    RenameCase,
    ReplaceCase,
    ReplaceCases,
    ReviewCase,
    SetResponse,
    SplitCase,
    edited,
)
from evalset.editing.case_parts import Case, EditError, at, field, listed, put, turns_of
from evalset.editing.followed_edits import (
    followed,
    followed_review,
    joined_recording,
    joined_review,
    split_recording,
    split_review,
    without_blanks,
)
from evalset.editing.opened_set import CaseRow, OpenedSet, identity_at, opened_as, row_of, unlike
from evalset.editing.sidecars import (
    NO_REVIEW,
    CaseReview,
    RecordingSidecar,
    ReviewSidecar,
    open_beside,
    open_reviews,
)
from evalset.errors import EvalSetError, taken_words
from evalset.files.eval_names import flaw_of_eval_id
from evalset.files.set_outline import Identity
from evalset.recorded.recording import CaseNote, RecordedCase, unsure_in
from evalset.recorded.recording_files import sidecar_of, value_text
from simulator.base.documents import read_file
from simulator.base.frozen_value import Value
from simulator.base.json_paths import ABSENT
from simulator.base.json_text import JsonTextError, read_json
from simulator.base.json_values import copied
from simulator.base.validation_words import validated

NO_NOTE = CaseNote()
_REPLACE = "To replace that case, delete it first"


class EditedCase(NamedTuple):
    """A case that was edited: its JSON, what is recorded of it, what is noted, its review. Nobody changes it in place."""

    case: Case
    recorded: RecordedCase | None = None
    note: CaseNote = NO_NOTE
    review: CaseReview = NO_REVIEW

    @property
    def eval_id(self) -> str:
        """Its eval id."""
        return str(field(self.case, "eval_id", ""))


class UnsavedCase(NamedTuple):
    """A case that is not as it was saved: as it was then, and as it is now; None where it is not there."""

    key: str
    then: EditedCase | None
    now: EditedCase | None


class State(NamedTuple):
    """A set after some edits: the keys of its cases in order, and those of them that are not as they were opened."""

    order: tuple[str, ...]
    held: Mapping[str, EditedCase]


class SetWork:
    """The work on one set. Safe to use from several threads.

    Args:
        opened: The set as it was opened.
        beside: The recorded environment that lies beside it.
        reviews: The reviews that lie beside it; by default as they are in their file now.
    """

    def __init__(
        self, opened: OpenedSet, beside: RecordingSidecar, reviews: ReviewSidecar | None = None
    ) -> None:
        self.opened, self.beside = opened, beside
        self.reviews = open_reviews(opened.path) if reviews is None else reviews
        self.identity, self.beside_identity = opened.identity, beside.identity
        self.reviews_identity = self.reviews.identity
        first = State(tuple(row.key for row in opened.rows), {})
        self._states, self._edits, self._at = [first], list[Edit](), 0
        self.saved = first
        self._saved_edits: tuple[Edit, ...] = ()
        self.left: dict[str, tuple[EditedCase, RecordedCase | None]] = {}
        """The cases that a save took out of the files: as they were saved, and what their file had recorded then."""
        self._lock = RLock()

    @property
    def state(self) -> State:
        """The set as it is now."""
        return self._states[self._at]

    @property
    def edits(self) -> tuple[Edit, ...]:
        """The edits that are in force, the oldest first."""
        return tuple(self._edits[: self._at])

    @property
    def undone(self) -> Edit | None:
        """The edit that `redo` brings back; None where there is none."""
        return self._edits[self._at] if self._at < len(self._edits) else None

    @property
    def is_changed(self) -> bool:
        """Whether there is something to save."""
        return self.state is not self.saved

    @property
    def is_edited(self) -> bool:
        """Whether a save would change the set or what is recorded of it: what is verified, which no note and no review is."""
        now, then = self.state, self.saved
        touched = _members(now.order) & (now.held.keys() | then.held.keys())
        return now.order != then.order or any(map(self.is_case_edited, touched))

    def is_case_edited(self, key: str) -> bool:
        """Return whether a case is new, or has changed beyond its note and its review, since it was saved or opened."""
        if key not in _members(self.saved.order):
            return True
        is_same = self.state.held.get(key) is self.saved.held.get(key)
        return not is_same and self.held(key)[:2] != self.held(key, self.saved)[:2]

    def unsaved(self, state: State | None = None) -> list[UnsavedCase]:
        """Return the cases that are not as they were saved last, or opened: edited and new ones in their order, then those that are gone.

        Args:
            state: The set after some edits; by default as it is.
        """
        then, now = self.saved, state or self.state
        before, left = _members(then.order), _members(now.order)
        edited_cases = [
            UnsavedCase(key, self.held(key, then) if key in before else None, self.held(key, now))
            for key in now.order
            if key not in before or then.held.get(key) is not now.held.get(key)
        ]
        gone = [UnsavedCase(key, self.held(key, then), None) for key in then.order if key not in left]
        return [*edited_cases, *gone]

    def __contains__(self, key: object) -> bool:
        return key in self.state.held or key in self.opened.places

    def held(self, key: str, state: State | None = None) -> EditedCase:
        """Return a case with what belongs to it, now or in another state.

        Raises:
            EditError: There is none with this key.
        """
        state = state or self.state
        found = state.held.get(key)
        if found is not None:
            return found
        if key not in self.opened.places:
            raise EditError(f"case {key!r} does not exist")
        row = self.opened.rows[self.opened.places[key]]
        is_first = row.key == row.eval_id
        recorded = self.beside.case(row.eval_id) if is_first else None
        note = self.beside.notes.get(row.eval_id, NO_NOTE) if is_first else NO_NOTE
        review = self.reviews.reviews.get(row.eval_id, NO_REVIEW) if is_first else NO_REVIEW
        return EditedCase(self.opened.case(key), recorded, note, review)

    def case(self, key: str) -> Case:
        """Return a case; it is not to be changed.

        Raises:
            EditError: There is none with this key.
        """
        found = self.state.held.get(key)
        return found.case if found is not None else self.held(key).case

    def row(self, key: str) -> CaseRow:
        """Return a case's row as it is now.

        Raises:
            EditError: There is none with this key.
        """
        found = self.state.held.get(key)
        if found is not None:
            return row_of(key, found.case)
        if key not in self.opened.places:
            raise EditError(f"case {key!r} does not exist")
        return self.opened.rows[self.opened.places[key]]

    def says(self, key: str, words: Iterable[str]) -> bool:
        """Return whether each of these words, in small letters, stands in a case's row, its messages, calls or responses, recorded ones too."""
        found = self.state.held.get(key)
        if found is None:
            return self.opened.says(key, words, None, self.beside.raw(self._own_id(key))) is not None
        recorded = value_text(found.recorded) if found.recorded is not None else b""
        return self.opened.says(key, words, found.case, recorded) is not None

    def rows(self) -> list[CaseRow]:
        """Return the rows of all cases in their order."""
        held, rows, places = self.state.held, self.opened.rows, self.opened.places
        return [row_of(key, held[key].case) if key in held else rows[places[key]] for key in self.state.order]

    def note(self, key: str) -> CaseNote:
        """Return what is noted of a case."""
        found = self.state.held.get(key)
        return found.note if found is not None else self.beside.notes.get(self._own_id(key), NO_NOTE)

    def review(self, key: str) -> CaseReview:
        """Return the review of a case."""
        found = self.state.held.get(key)
        return found.review if found is not None else self.reviews.reviews.get(self._own_id(key), NO_REVIEW)

    def is_recorded(self, key: str) -> bool:
        """Return whether the environment of a case is recorded."""
        found = self.state.held.get(key)
        return found.recorded is not None if found is not None else self._own_id(key) in self.beside

    def blanks(self, key: str) -> tuple[str, ...]:
        """Return in sentences the blanks in the recorded responses of a case; only a recording that may have some is read."""
        if key not in self.state.held and b'"blanks"' not in self.beside.raw(self._own_id(key)):
            return ()
        recorded = self.held(key).recorded
        return unsure_in(recorded).blanks if recorded is not None else ()

    def _own_id(self, key: str) -> str:
        """Return the eval id under which something lies beside the set: of two cases with one id it is the first's."""
        return key if key in self.opened.places else ""

    def apply(self, edit: Edit) -> None:
        """Carry out an edit; what was undone before cannot be redone then.

        Raises:
            EditError: It does not fit; the text says why, and nothing was changed.
        """
        with self._lock:
            made = self._after(edit)
            if made == self.state:
                return
            del self._states[self._at + 1 :], self._edits[self._at :]
            there = {key for state in self._states for key in state.order}
            self.left = {key: left for key, left in self.left.items() if key in there}
            self._states.append(made)
            self._edits.append(edit)
            self._at += 1

    def undo(self) -> bool:
        """Take back the last edit; False where there is none."""
        with self._lock:
            if not self._at:
                return False
            self._at -= 1
            return True

    def redo(self) -> bool:
        """Bring back the edit that was taken back last; False where there is none."""
        with self._lock:
            if self.undone is None:
                return False
            self._at += 1
            return True

    def discard(self) -> None:
        """Go back to what was saved last, or opened; that too can be undone, as far as it came by undoing."""
        with self._lock:
            places = [place for place, state in enumerate(self._states) if state is self.saved]
            self._at = places[0] if places else self._at

    def _after(self, edit: Edit) -> State:
        if isinstance(edit, OfSet):
            return self._after_of_set(edit)
        if isinstance(edit, ReplaceCases):
            replaced = {
                one.case: self.held(one.case, self._after_in_case(one))._replace(note=note)
                for one, note in edit.cases
            }
            return State(self.state.order, {**self.state.held, **replaced})
        return self._after_in_case(edit)

    def _after_in_case(self, edit: InCase) -> State:
        before = self._of(edit.case)
        after = before._replace(case=edited(before.case, edit))
        match edit:
            case RenameCase():
                self._check_free(edit.eval_id, but=edit.case)
            case NoteCase():
                after = after._replace(
                    note=before.note.model_copy(update={"text": edit.text, "tags": edit.tags})
                )
            case ReviewCase():
                after = after._replace(review=edit.review)
            case ReplaceCase():
                after = after._replace(recorded=edit.recorded)
            case MoveTurn() | RemoveTurn():
                after = after._replace(recorded=_with_turns(before, edit))
            case _:
                if before.recorded is not None:
                    kept = followed(before.case, after.case, before.recorded)
                    if isinstance(edit, SetResponse) and edit.are_right and kept is not None:
                        kept = without_blanks(after.case, kept, edit.where)
                    after = after._replace(recorded=kept)
        if not isinstance(edit, ReviewCase):
            after = after._replace(review=followed_review(before.review, before.case, after.case, edit))
        same = after.case == before.case and after[1:] == before[1:] and str(after.case) == str(before.case)
        return self.state if same else State(self.state.order, {**self.state.held, edit.case: after})

    def _after_of_set(self, edit: OfSet) -> State:
        order, held = self.state
        match edit:
            case InsertCase():
                return self._with_new(
                    EditedCase(dict(edit.value), edit.recorded, edit.note, edit.review),
                    _eval_id(edit.value),
                    edit.to,
                )
            case DuplicateCase():
                before = self._of(edit.case)
                after = before._replace(case=put(before.case, ("eval_id",), edit.eval_id), review=NO_REVIEW)
                return self._with_new(after, edit.eval_id, order.index(edit.case) + 1)
            case SplitCase():
                first, second = _split(self._of(edit.case), edit)
                made = self._with_new(second, edit.eval_id, order.index(edit.case) + 1)
                return State(made.order, {**made.held, edit.case: first})
            case MergeCases():
                joined = _merged(self._of(edit.case), self._of(edit.other), edit)
                left = tuple(key for key in order if key != edit.other)
                return State(left, {**held, edit.case: joined})
            case DeleteCase():
                self._of(edit.case)
                return State(tuple(key for key in order if key != edit.case), held)
            case MoveCase():
                self._of(edit.case)
                rest = [key for key in order if key != edit.case]
                rest.insert(max(0, min(edit.to, len(rest))), edit.case)
                return State(tuple(rest), held) if tuple(rest) != order else self.state
            case never:
                assert_never(never)

    def _of(self, key: str) -> EditedCase:
        if key not in _members(self.state.order):
            raise EditError(f"case {key!r} does not exist")
        return self.held(key)

    def _with_new(self, new: EditedCase, eval_id: str, to: int | None) -> State:
        self._check_free(eval_id)
        order = list(self.state.order)
        key = unlike(eval_id, {*self.opened.places, *self.state.held, *order})
        order.insert(len(order) if to is None else to, key)
        return State(tuple(order), {**self.state.held, key: new})

    def _check_free(self, eval_id: str, but: str = "") -> None:
        if flaw := flaw_of_eval_id(eval_id):
            raise EditError(flaw)
        if any(row.eval_id == eval_id and row.key != but for row in self.rows()):
            raise EditError(f"the set {taken_words(eval_id, _REPLACE)}")

    def history(self) -> tuple[tuple[Edit, ...], int, tuple[Edit, ...]]:
        """Return all edits with those that were undone, how many are in force, and those that lead to what was saved."""
        with self._lock:
            return tuple(self._edits), self._at, self._saved_edits

    def replay(self, edits: Sequence[Edit], at: int, saved: Sequence[Edit]) -> None:
        """Make the edits of `history` anew, on the set as it was opened then.

        Raises:
            EditError: They do not fit this set.
        """
        with self._lock:
            for edit in saved:
                self.apply(edit)
            self.saved, self._saved_edits = self.state, tuple(saved)
            same = next(
                (place for place, pair in enumerate(zip(edits, saved, strict=False)) if pair[0] != pair[1]),
                min(len(edits), len(saved)),
            )
            self._at = min(same, self._at)
            for edit in edits[self._at :]:
                self.apply(edit)
            self._at = max(0, min(at, len(self._edits)))

    def follow(self, theirs: SetWork, words: str = "") -> None:
        """Take what stands in the files now as edits that can be undone, with words for them; nothing where they cannot say all of it."""
        with self._lock:
            at, then = self._at, {key: self.held(key) for key in self.state.order}
            found, ids = (
                [theirs.held(key) for key in theirs.state.order],
                [row.eval_id for row in self.rows()],
            )
            known = zip(then.items(), (now for now in found if now.eval_id in ids), strict=False)
            changed = {key: now for (key, before), now in known if now[:3] != before[:3]}
            count = f"{len(changed)} cases" if len(changed) > 1 else "the case"
            words = words or f"Replace {count}"
            cases = tuple(
                (ReplaceCase(case=key, value=now.case, recorded=now.recorded, words=words), now.note)
                for key, now in changed.items()
            )
            self.apply(ReplaceCases(cases=cases, words=words))
            for place, now in enumerate(found):
                if now.eval_id not in ids:
                    case, recorded, note, review = now
                    self.apply(InsertCase(value=case, recorded=recorded, note=note, review=review, to=place))
            if [self.held(key) for key in self.state.order] == found:
                files = (theirs.identity, theirs.beside_identity, theirs.reviews_identity)
                self.take_saved(self.state, *files)
            else:
                self._at = at

    def take_saved(self, state: State, identity: object, beside: object, reviews: object) -> None:
        """Note that a state stands in the files now, which have these identities."""
        with self._lock:
            place = next((place for place, each in enumerate(self._states) if each is state), None)
            self._saved_edits = self._saved_edits if place is None else tuple(self._edits[:place])
            self.saved, self.identity, self.beside_identity = state, identity, beside  # type: ignore[assignment] # as they were given
            self.reviews_identity = reviews  # type: ignore[assignment] # as above


@lru_cache(maxsize=64)
def _members(order: tuple[str, ...]) -> frozenset[str]:
    return frozenset(order)


def _eval_id(case: Case) -> str:
    found = field(case, "eval_id", "")
    return found if isinstance(found, str) else ""


def _with_turns(before: EditedCase, edit: MoveTurn | RemoveTurn) -> RecordedCase | None:
    recorded = before.recorded
    if recorded is None or len(recorded.turns) != len(turns_of(before.case)):
        return None
    turns = list(recorded.turns)
    if isinstance(edit, RemoveTurn):
        del turns[edit.turn]
    else:
        other = edit.turn + edit.by
        turns[edit.turn], turns[other] = turns[other], turns[edit.turn]
    return recorded.model_copy(update={"turns": tuple(turns)})


def _split(before: EditedCase, edit: SplitCase) -> tuple[EditedCase, EditedCase]:
    turns = turns_of(before.case)
    if not 0 < edit.turn < len(turns):
        raise EditError(f"a case of {len(turns)} turns cannot be split before turn {edit.turn + 1}")
    first = put(before.case, ("conversation",), copied(turns[: edit.turn]))
    second = put(before.case, ("conversation",), copied(turns[edit.turn :]))
    second = put(second, ("eval_id",), edit.eval_id)
    # What the state was in between, no eval case tells.
    first = put(first, ("final_session_state",), ABSENT)
    halves: tuple[RecordedCase | None, RecordedCase | None] = (None, None)
    if before.recorded is not None and len(before.recorded.turns) == len(turns):
        halves = split_recording(before.recorded, edit.turn)
        if at(second, ("session_input", "state")) is not ABSENT and halves[1] is not None:
            second = put(second, ("session_input", "state"), copied(halves[1].state))
    reviews = split_review(before.review, before.case, edit.turn)
    return (
        EditedCase(first, halves[0], before.note, reviews[0]),
        EditedCase(second, halves[1], before.note, reviews[1]),
    )


def _merged(one: EditedCase, other: EditedCase, edit: MergeCases) -> EditedCase:
    if edit.case == edit.other:
        raise EditError("a case cannot be merged with itself")
    first, second = turns_of(one.case), turns_of(other.case)
    if not (first and second):
        raise EditError("a scenario has no turns to merge")
    made = put(one.case, ("conversation",), copied([*first, *second]))
    end = at(other.case, ("final_session_state",))
    made = put(made, ("final_session_state",), end if end is ABSENT else copied(end))
    rubrics = _joined_rubrics(one.case, other.case)
    if rubrics:
        made = put(made, ("rubrics",), rubrics)
    known = set(made)
    for key, value in other.case.items():
        if key not in known and at(made, (key,)) is ABSENT:
            made[key] = copied(value)
    both = one.recorded is not None and other.recorded is not None
    recorded = joined_recording(one.recorded, other.recorded) if both else None  # type: ignore[arg-type] # both are there
    text = "\n\n".join(text for text in (one.note.text, other.note.text) if text)
    tags = tuple(dict.fromkeys((*one.note.tags, *other.note.tags)))
    context = one.note.context if one.note.context is not None else other.note.context
    review = joined_review(one.review, other.review, one.case, other.case)
    return EditedCase(made, recorded, CaseNote(text=text, tags=tags, context=context), review)


def _joined_rubrics(one: Case, other: Case) -> list[object]:
    mine = listed(one, "rubrics")
    ids = {field(rubric, "rubric_id") for rubric in mine}
    new = [each for each in listed(other, "rubrics") if field(each, "rubric_id") not in ids]
    joined: list[object] = copied([*mine, *new])
    return joined


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
