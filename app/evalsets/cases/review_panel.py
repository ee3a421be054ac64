"""The review of a case: what was decided and by whom, and the comments at its steps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

import streamlit as st

from app.evalsets.cases.case_fields import comment_name
from app.evalsets.cases.case_forms import save_of
from app.evalsets.set_context import ApplyEdits, EditPart, SetCommand, SetContext
from app.forms.common_panel import place, problem
from app.forms.safe_labels import Color, literal, safe_label
from app.forms.widget_store import KeptInputs, slug
from app.server.browser_choices import keep_choice, kept_choice, this_browser
from app.server.viewer_time import viewer_time
from app.session import page_state
from app.session.provenance_labels import blank_word
from evalset.editing.case_edits import ReviewCase
from evalset.editing.case_parts import Case, CaseStep, calls_of
from evalset.editing.set_work import SetWork
from evalset.editing.sidecars import (
    CaseComment,
    CaseReview,
    Status,
    call_of,
    has_changed_since,
    named_decision,
    turn_of,
)
from evalset.files.eval_names import case_digest
from simulator.base.json_values import digest

STATUS_WORDS: dict[Status, str] = {
    "needs_review": "Needs review",
    "changes_requested": "Changes requested",
    "approved": "Approved",
}
STATUS_COLORS: dict[Status, Color] = {
    "needs_review": "orange",
    "changes_requested": "red",
    "approved": "green",
}
_SHORT = 40


def status_words(review: CaseReview, case: Case) -> str:
    """Say what was decided about a case, and whether it was before the last change of it; empty where nothing was."""
    words = STATUS_WORDS[review.status] if review.status else ""
    return f"{words} before the last change" if has_changed_since(review, case) else words


def status_badge(review: CaseReview, case: Case) -> None:
    """Draw what was decided about a case, in its colour while it is of the case as it is."""
    if review.status:
        is_old = has_changed_since(review, case)
        st.badge(
            status_words(review, case),
            icon=":material/history:" if is_old else ":material/rate_review:",
            color="orange" if is_old else STATUS_COLORS[review.status],
        )


def review_panel(scene: SetContext, key: str) -> SetCommand | None:
    """Draw the status, who reviews, and the comments; return what was asked for."""
    review, case = scene.work.review(key), scene.work.case(key)
    asked: SetCommand | None = None
    with st.container(horizontal=True, vertical_alignment="center", gap="xsmall", key="review_line"):
        st.markdown("**Review**", width="content")
        if review.status and review.reviewer:
            words = f"{status_words(review, case)}, by {safe_label(review.reviewer, _SHORT)}"
            st.caption(words, width="content")
        st.space("stretch")
        if st.button("Add comment", key="review_comment", icon=":material/add_comment:", type="tertiary"):
            asked = EditPart(name=comment_name(None))
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom", key="review_status"):
        reviewer = reviewer_name(scene, "Reviewer", placeholder="Your name", width=180)
        asked = _status(key, review, case, reviewer) or asked
    with place():
        if page_state.get("unnamed_review"):
            problem("The status was not set. Enter your name under Reviewer, then select the status again.")
        if taken := page_state.get("review_taken"):
            problem(
                "The status was not set, because another person set one since this page was drawn. "
                "Select your status again to replace it.",
                str(taken),
            )
        if review.status == "approved" and (blanks := scene.work.blanks(key)):
            st.warning(
                f"This case is approved and still has {blank_word(blanks)}.", icon=":material/help_center:"
            )
        if review.status and scene.work.is_changed:
            asked = _unsaved(scene) or asked
        for number, comment in enumerate(review.comments):
            asked = _comment(key, review, case, number, comment) or asked
    return asked


def _unsaved(scene: SetContext) -> SetCommand | None:
    """Say next to a status that it is not in the file yet, as other edits; return the wish to save."""
    with st.container(horizontal=True, vertical_alignment="center", gap="xsmall", key="review_unsaved"):
        st.warning(
            "The set has changes that are not saved. The doctor and runs use the saved file.",
            icon=":material/edit:",
        )
        return (
            save_of(scene) if st.button("Save changes", key="review_save", icon=":material/save:") else None
        )


def reviewer_name(scene: SetContext, label: str, **how: Any) -> str:
    """Draw the name of who reviews, and return it: it is typed once in a browser, and begins as what was typed last there."""
    browser, known = this_browser(), kept_choice("reviewers")
    owner = f"reviewer {browser}" if browser else "reviewer"
    widget = KeptInputs(scene.drafts, owner).widget("name", scene.person or known)
    typed = (st.text_input(label, key=widget, on_change="ignore", **how) or "").strip()
    if typed not in {"", known}:
        keep_choice("reviewers", typed)
    return typed


def _status(key: str, review: CaseReview, case: Case, reviewer: str) -> SetCommand | None:
    """Draw the status as a choice; its key names what is chosen, so that an undo shows what it was before.

    A status from before the last change is not chosen: selecting it sets it for the case as it is.
    """
    lit: Status = "" if has_changed_since(review, case) else review.status
    widget = f"review_as_{lit or 'none'}_{slug(key)}"
    st.pills(  # they take two lines where a segmented control would be cut off
        "Status",
        list(STATUS_WORDS),
        default=lit or None,
        format_func=lambda status: STATUS_WORDS[status],
        key=widget,
        help="Select the chosen status again to remove it, or to change the reviewer's name",
        on_change=_ask,
        args=(widget, key, lit, named_decision(review)),
    )
    of, before, status = page_state.get("review_asked") or ["", "", ""]
    page_state.put("review_asked", None)
    if of != key:
        return None
    shown = named_decision(review)
    is_other = before != shown and review.reviewer != reviewer and bool(review.status)
    page_state.put("review_taken", shown if is_other else None)
    if is_other or (not status and before != shown):
        return None  # what was to be replaced, or removed, is no longer there
    if not status and reviewer not in {"", review.reviewer}:
        status = review.status
    page_state.put("unnamed_review", bool(status and not reviewer) or None)
    if status and not reviewer:
        return None
    decided = (
        {"reviewer": reviewer, "digest": case_digest(case)} if status else {"reviewer": "", "digest": ""}
    )
    return ApplyEdits(
        edits=(ReviewCase(case=key, review=review.model_copy(update={"status": status, **decided})),)
    )


def _ask(widget: str, key: str, status: Status, shown: str) -> None:
    """Note what was selected, and what was shown then: another tab may have set the status meanwhile, and so changed the key."""
    page_state.put("review_asked", [key, shown, st.session_state.get(widget) or ""])
    st.session_state[widget] = status or None  # until it is set


def _comment(
    key: str, review: CaseReview, case: Case, number: int, comment: CaseComment
) -> SetCommand | None:
    same = review.comments[:number].count(comment)
    with st.container(border=True, gap=None, key=f"review_comment_{number}"):
        with st.container(horizontal=True, vertical_alignment="center", gap="xsmall"):
            st.caption(_head(comment, case), width="content")
            st.space("stretch")
            removed = st.button(
                ":material/close:",
                key=f"review_remove_{digest(comment.model_dump_json())}_{same}_{slug(key)}",
                type="tertiary",
                help="Remove this comment. Undo restores it",
            )
        st.text(literal(comment.text))
    if not removed:
        return None
    left = (*review.comments[:number], *review.comments[number + 1 :])
    return ApplyEdits(edits=(ReviewCase(case=key, review=review.model_copy(update={"comments": left})),))


def _head(comment: CaseComment, case: Case) -> str:
    """Say where a comment is, by whom, and when."""
    parts = [_place(comment, case), safe_label(comment.by, _SHORT) if comment.by else ""]
    when = _when(comment.at)
    return " \u00b7 ".join(part for part in (*parts, safe_label(when) if when else "") if part)


def _when(at: str) -> str:
    """Return when a comment was made by the viewer's clock; as it is written where that is no time."""
    try:
        return f"{viewer_time(datetime.fromisoformat(at).astimezone()):%Y-%m-%d %H:%M}" if at else ""
    except ValueError:
        return at[:16]


def _place(comment: CaseComment, case: Case) -> str:
    if comment.turn is None:
        return "Case"
    turn = turn_of(comment, case)
    if turn is None:
        return f"Turn {comment.turn} (no longer exists)"
    if comment.call is None:
        return f"Turn {turn + 1}"
    call = call_of(comment, case, turn)
    if call is None:
        return f"Turn {turn + 1}, call {comment.call} (no longer exists)"
    name = safe_label(calls_of(case, turn)[call].call.name, _SHORT)
    return f"Turn {turn + 1}, call {call + 1} ({name})"


# ---------------------------------------------------------------- in the timeline


def call_number(case: Case, step: CaseStep) -> int | None:
    """Return which call of its turn a step is, or answers, from 0; None for any other step."""
    for number, seen in enumerate(calls_of(case, step.turn)):
        if step.where == seen.call.where or any(step.where == answer.where for answer in seen.answers):
            return number
    return None


def comments_at(review: CaseReview, case: Case, turn: int, call: int | None) -> Sequence[CaseComment]:
    """Return the comments at a turn as a whole, or at one of its calls."""
    return [
        each for each in review.comments if turn_of(each, case) == turn and call_of(each, case, turn) == call
    ]


def comment_lines(comments: Sequence[CaseComment]) -> None:
    """Draw comments under what they are about."""
    for comment in comments:
        by = f"{comment.by}: " if comment.by else ""
        with st.container(horizontal=True, gap="xsmall", vertical_alignment="top"):
            st.markdown(":material/comment:", width="content")
            st.text(literal(f"{by}{comment.text}"), width="stretch")


def review_words(work: SetWork, key: str) -> str:
    """Return the review of a case in a few words for a table."""
    return ", ".join(_words(work, key))


def _words(work: SetWork, key: str) -> Iterator[str]:
    review = work.review(key)
    if review.status:
        yield status_words(review, work.case(key))
    if count := len(review.comments):
        yield f"{count} comment{'s' if count > 1 else ''}"
