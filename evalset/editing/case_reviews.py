"""What people decide about cases and remark at their steps. Pure."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from pydantic import Field

from evalset.editing.case_parts import Case, calls_of, field, turns_of
from evalset.files.eval_names import case_digest
from simulator.base.frozen_value import Value

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


# ---------------------------------------------------------------- the step of a comment


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
