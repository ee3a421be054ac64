"""Knows whether what a tab shows of a set was changed elsewhere since it was drawn, and which clicks do not fit then."""

from __future__ import annotations

from typing import NamedTuple

from app.evalsets.set_context import ApplyEdits, RedoEdit, SaveSet, SetCommand, SetContext, UndoEdit
from app.session import page_state
from evalset.editing.case_edits import MoveCall, MoveTurn, RemoveCall, RemoveTurn, SplitCase
from evalset.files.eval_names import case_digest
from simulator.base.json_values import digest

_BY_PLACE = (MoveCall, RemoveCall, MoveTurn, RemoveTurn, SplitCase)
"""Edits that name what they change by its place alone."""


class Behind(NamedTuple):
    """What of a page was older than the set when something was clicked: the case, the list of edits."""

    case: bool = False
    edits: bool = False


NOT_BEHIND = Behind()


def look(scene: SetContext, case: str | None) -> Behind:
    """Note what this tab shows from now on; return what of its page was changed elsewhere before."""
    edits = scene.work.edits
    now = [str(scene.path), case or "", _mark(scene, case), f"{len(edits)} {id(edits[-1]) if edits else ''}"]
    before = page_state.get("case_seen") or now
    page_state.put("case_seen", list(now))
    if before[:2] != now[:2]:
        return NOT_BEHIND
    behind = Behind(before[2] != now[2], before[3] != now[3])
    if behind.case:
        page_state.put("changed_elsewhere", True)
    return behind


def writes_here() -> None:
    """Note that this tab itself changes the set: what it shows next was not changed elsewhere."""
    page_state.put("case_seen", None)


def _mark(scene: SetContext, case: str | None) -> str:
    if case is None:
        return ""
    work = scene.work
    return digest(case_digest(work.case(case)), repr(work.note(case)), repr(work.review(case)))


def check_fits(asked: SetCommand, behind: Behind) -> None:
    """Refuse what was asked for on a page that showed another state, where it may be meant for something else.

    Raises:
        ValueError: It is refused; the text says what to do.
    """
    by_place = isinstance(asked, ApplyEdits) and any(isinstance(each, _BY_PLACE) for each in asked.edits)
    if behind.case and by_place:
        raise ValueError("The case was changed elsewhere. The page shows it as it is now: select again.")
    if behind.edits and isinstance(asked, (UndoEdit, RedoEdit)):
        raise ValueError("Edits were made elsewhere. The last edit is another one now: select again.")
    if behind.edits and isinstance(asked, SaveSet):
        raise ValueError("Edits were made elsewhere. The page shows what a save changes now: select again.")
