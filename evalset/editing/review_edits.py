"""Lets the comments of a review follow an edit of the case: each stays at its turn and its call. Pure."""

from __future__ import annotations

from collections.abc import Callable

from evalset.editing.case_edits import MoveCall, MoveTurn, RemoveCall, RemoveTurn
from evalset.editing.case_parts import Case, Where, calls_of, turns_of
from evalset.editing.case_reviews import CaseComment, CaseReview, call_of, step_of, turn_of

Place = tuple[int, int | None]
"""A turn and a call of it, both from 0; None for the turn as a whole."""


def followed_review(review: CaseReview, before: Case, after: Case, edit: object) -> CaseReview:
    """Return a review after an edit of its case. The comments of a turn that is removed go with it."""
    match edit:
        case MoveTurn():
            swapped = {edit.turn: edit.turn + edit.by, edit.turn + edit.by: edit.turn}
            return _moved(review, before, after, lambda turn, call: (swapped.get(turn, turn), call))
        case RemoveTurn():
            return _moved(
                review, before, after,
                lambda turn, call: None if turn == edit.turn else (turn - (turn > edit.turn), call),
            )  # fmt: skip
        case MoveCall() | RemoveCall():
            return _of_call(review, before, after, edit)
        case _:
            return review


def _of_call(review: CaseReview, before: Case, after: Case, edit: MoveCall | RemoveCall) -> CaseReview:
    found = _call_at(before, edit.where)
    if found is None:
        return review
    its_turn, place = found
    swapped = {place: place + edit.by, place + edit.by: place} if isinstance(edit, MoveCall) else {}

    def moved(turn: int, call: int | None) -> Place:
        if turn != its_turn or call is None:
            return turn, call
        if isinstance(edit, MoveCall):
            return turn, swapped.get(call, call)
        return turn, None if call == place else call - (call > place)

    return _moved(review, before, after, moved)


def _call_at(case: Case, where: Where) -> tuple[int, int] | None:
    turn = where[1]
    if not isinstance(turn, int):
        return None
    calls = [seen.call.where for seen in calls_of(case, turn)]
    return (turn, calls.index(where)) if where in calls else None


def _moved(
    review: CaseReview, before: Case, after: Case, moved: Callable[[int, int | None], Place | None]
) -> CaseReview:
    """Put each comment where its step is now; one whose step the case had no more stays as it is."""
    made: list[CaseComment] = []
    for comment in review.comments:
        turn = turn_of(comment, before)
        if turn is None:
            made.append(comment)
            continue
        now = moved(turn, call_of(comment, before, turn))
        if now is not None:
            made.append(_at(comment, after, *now))
    return review.model_copy(update={"comments": tuple(made)})


def _at(comment: CaseComment, case: Case, turn: int, call: int | None) -> CaseComment:
    nowhere = {"turn": None, "invocation_id": "", "call": None, "call_id": ""}
    return comment.model_copy(update=nowhere | step_of(case, turn, call))


def split_review(review: CaseReview, before: Case, turn: int) -> tuple[CaseReview, CaseReview]:
    """Part a review as its case is parted before a turn; what is said of the case as a whole stays with the first."""
    first: list[CaseComment] = []
    second: list[CaseComment] = []
    for comment in review.comments:
        place = turn_of(comment, before)
        if place is None or place < turn:
            first.append(comment)
        else:
            second.append(comment.model_copy(update={"turn": place - turn + 1}))
    return (
        review.model_copy(update={"comments": tuple(first)}),
        review.model_copy(update={"comments": tuple(second)}),
    )


def joined_review(one: CaseReview, other: CaseReview, first: Case, second: Case) -> CaseReview:
    """Join the reviews of two cases of which the second follows the first; of two decisions that differ neither holds."""
    shift = len(turns_of(first))
    moved = [
        comment
        if (turn := turn_of(comment, second)) is None
        else comment.model_copy(update={"turn": turn + shift + 1})
        for comment in other.comments
    ]
    same = one.status == other.status
    status = one.status if same else "needs_review"
    reviewer = one.reviewer if one.reviewer == other.reviewer else ""
    return CaseReview(
        status=status,
        reviewer=reviewer,
        digest=one.digest if same else "",
        comments=(*one.comments, *moved),
    )
