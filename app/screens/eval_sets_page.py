"""The pages of the eval sets: gathers what their panels show, and carries out what they give back."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import assert_never

import streamlit as st

from app.evalsets.cases.case_fields import part_of
from app.evalsets.cases.case_forms import OpenPart, begin, end, form_of
from app.evalsets.cases.case_search import written
from app.evalsets.cases.cases_tab import chosen, draw_anew
from app.evalsets.open_sets import edited_sets
from app.evalsets.seen_sets import NOT_BEHIND, Behind, check_fits, look, writes_here
from app.evalsets.set_context import (
    ApplyEdits,
    AskToSave,
    CloseSet,
    EditPart,
    MergeSet,
    OpenCase,
    OpenSet,
    PlayCase,
    RedoEdit,
    ReloadSet,
    RemoveUpload,
    SaveSet,
    SetCommand,
    SetContext,
    Tab,
    UndoEdit,
)
from app.evalsets.set_discovery import (
    check_set,
    folders,
    found_sets,
    remove_upload,
)
from app.evalsets.set_list_panel import broken_set, set_list
from app.evalsets.set_panel import ShownSet, set_page
from app.evalsets.workspace import workspaces
from app.forms.common_panel import problem
from app.live.agent_catalogue import known_agents
from app.live.click_waits import keep_drafts
from app.live.destinations import remember_set
from app.live.upload_quota import uploads_of
from app.screens.compared_cases_panel import compared_cases
from app.screens.played_case import play_case
from app.server.login import visitor
from app.server.owners import LOCAL
from app.session import page_state
from app.session.refresh_panel import keep_unsent
from evalset.editing.opened_set import identity_at, open_set
from evalset.editing.set_saving import (
    Conflict,
    Saved,
    conflicts,
    decided_twice,
    has_changed_on_disk,
    merged,
    save,
)
from evalset.editing.sidecars import open_beside, open_reviews
from simulator.agents import AgentEntry
from simulator.base.secret_masking import error_words

_LOG = logging.getLogger(__name__)


def sets_page() -> None:
    """Draw the list of sets, or the set that the address names."""
    entries, person = known_agents(), visitor()
    owner = person.owner
    homes = folders(entries, owner)
    path = page_state.set_path()
    if path is None:
        failed = page_state.get("problem")
        _carry_out(_list(homes, owner, str(failed) if failed else None), None)
        return
    try:
        known = check_set(path, owner, homes)
    except ValueError as error:  # it is no file, or not theirs
        _carry_out(_list(homes, owner, str(error)), None)
        return
    try:
        with st.spinner("Opening the eval set"):
            edited = edited_sets().of(owner, known)
            edited_sets().keep(owner, known)
            keep_drafts()
    except ValueError as error:  # an EvalSetError
        _carry_out(broken_set(known, owner, str(error)), None)
        return
    page_state.put("shown_set", str(known))
    agents, named = _agents(entries, known), person.name or person.email
    scene = SetContext(
        known, edited.work, edited.drafts, owner, agents, edited.restored, named, edited.forgot
    )
    behind = look(scene, _case(scene))
    asked = set_page(scene, _shown(scene))
    if _case(scene) is not None:
        keep_unsent(scene.drafts)
    _carry_out(asked, scene, behind)


def _list(homes: dict[Path, str], owner: str, failed: str | None) -> SetCommand | None:
    return set_list(found_sets(homes, owner), workspaces().of(owner, uploads_of(owner)), failed)


def _shown(scene: SetContext) -> ShownSet:
    """Say what of a set is on the screen: as the address and the drafts tell, so that a refresh shows the same."""
    case, named = _case(scene), filter(None, (page_state.case_key(), page_state.other_case()))
    failed = page_state.get("problem")
    done = page_state.get("set_saved")
    work = scene.work
    is_reviewed = work.is_changed and identity_at(work.reviews.path) != work.reviews_identity
    decided = decided_twice(work, open_reviews(scene.path).reviews) if is_reviewed else ()
    both = _both(scene) if decided or (work.is_changed and has_changed_on_disk(work)) else None
    return ShownSet(
        case=case,
        compared=_compared(scene, case),
        missing=tuple(key for key in named if key not in work.state.order),
        part=_part(scene, case),
        saving=bool(page_state.get("saving_set")) and work.is_changed,
        failed=str(failed) if failed else None,
        done=tuple(done or ()),
        both=both,
        decided=decided,
        changed=bool(page_state.get("changed_elsewhere")),
        deleted=str(page_state.get("deleted_case") or ""),
    )


def _case(scene: SetContext) -> str | None:
    """Return the case that is open; None where the set has none of the key in the address."""
    key = page_state.case_key()
    return key if key in scene.work.state.order else None


def _compared(scene: SetContext, case: str | None) -> Tab | None:
    """Return what draws the case next to the one with which the address compares it."""
    other = page_state.other_case()
    if case is None or other is None or other not in scene.work.state.order:
        return None
    return partial(compared_cases, key=case, other=other)


def _both(scene: SetContext) -> Sequence[Conflict] | None:
    try:
        return conflicts(scene.work, open_set(scene.path))
    except ValueError as error:  # an EvalSetError: the file is gone, or is no eval set at the moment
        problem("The file could not be read.", str(error))
        return None


def _part(scene: SetContext, case: str | None) -> OpenPart | None:
    """Return the form that is open in this tab, and note it for the way back to its case, also after a refresh."""
    form = form_of(scene.drafts, page_state.form(), case) if case is not None else None
    if form is None:
        return None
    noted = dict.fromkeys((form.case, _place(form.case, form.name)), form.token)
    page_state.put("case_forms", {**(page_state.get("case_forms") or {}), **noted})
    return OpenPart(form, part_of(scene.work, form.case, form.name))


def _place(key: str, name: str) -> str:
    return f"{key} {name}"


def _agents(entries: tuple[AgentEntry, ...], path: Path) -> tuple[str, ...]:
    """Return the names of the agents, those first in whose folder the set lies."""
    usable = [entry.name for entry in entries if entry.state != "failed"]
    homes = folders(entries, visitor().owner)
    near = [name for folder, name in homes.items() if path.is_relative_to(folder) and name in usable]
    return tuple(dict.fromkeys((*near, *usable)))


def _carry_out(asked: SetCommand | None, scene: SetContext | None, behind: Behind = NOT_BEHIND) -> None:
    """Do what was asked for, keep what went wrong for the next run, and draw the page anew."""
    if asked is None:
        return
    for flag in _OF_ONE_RUN:
        page_state.put(flag, None)
    page_state.put("changed_elsewhere", behind.case or None)
    writes_here()
    try:
        check_fits(asked, behind)
        _done(asked, scene)
    except ValueError as error:  # an EditError or an EvalSetError: nothing was changed
        is_typed = isinstance(asked, ApplyEdits) and asked.part
        page_state.put("part_failed" if is_typed else "problem", str(error))
    except Exception as error:  # noqa: BLE001 - the page's edge: shown and kept
        _LOG.exception("A command on an eval set failed")
        page_state.put("problem", error_words(error))
    st.rerun()


_OF_ONE_RUN: tuple[page_state.Flag, ...] = (
    "problem",
    "part_failed",
    "set_saved",
    "unnamed_review",
    "review_taken",
    "deleted_case",
)


def _done(asked: SetCommand, scene: SetContext | None) -> None:
    match asked:
        case CloseSet():
            page_state.put("saving_set", None)
            page_state.show_sets()
        case OpenSet(path=path, told=told):
            _remember(path)
            page_state.show_sets(path)
            page_state.put("set_saved", ["", *told] if told else None)
        case RemoveUpload(path=path):
            remove_upload(visitor().owner, Path(path))
        case _ if scene is not None:
            _in_set(asked, scene)
        case _:
            pass


def _remember(path: str) -> None:
    """Remember a set of this machine that somebody opened by its path; others open what they have written alone."""
    owner = visitor().owner
    with contextlib.suppress(
        RuntimeError, ValueError, OSError
    ):  # no path of a file: the page says so when it opens it
        place = check_set(path, owner, folders(known_agents(), owner))
        if owner == LOCAL and place.is_file() and place.parent != uploads_of(owner):
            remember_set(owner, place)


def _in_set(asked: SetCommand, scene: SetContext) -> None:  # noqa: C901 - one arm for each kind of command
    match asked:
        case OpenCase(key=key, other=other, form=token):
            draw_anew()  # the line that was selected is not chosen again on the way back
            page_state.put("saving_set", None)
            page_state.show_case(key, None if _case(scene) else written(chosen()), other, token)
        case EditPart():
            _edit_part(asked, scene)
        case ApplyEdits():
            _apply(asked, scene)
        case AskToSave(shown=shown):
            page_state.put("saving_set", shown or None)
        case UndoEdit():
            scene.work.undo()
        case RedoEdit():
            scene.work.redo()
        case SaveSet():
            saved = save(scene.work)
            page_state.put("saving_set", None)
            page_state.put("set_saved", list(_sentences(saved)))
        case ReloadSet():
            edited_sets().reload(scene.owner, scene.path)
            page_state.put("saving_set", None)
        case MergeSet(keep_mine=mine, keep_their_status=status):
            theirs, beside = open_set(scene.path), open_beside(scene.path)
            work = merged(scene.work, theirs, beside, mine, keep_their_status=status)
            edited_sets().put(scene.owner, scene.path, work)
        case PlayCase():
            page_state.go_to(play_case(asked, scene.work, scene.owner).session_id)
        case CloseSet() | OpenSet() | RemoveUpload():
            raise ValueError(f"{asked.kind} does not apply to an open eval set")
        case never:
            assert_never(never)


def _edit_part(asked: EditPart, scene: SetContext) -> None:
    key = page_state.case_key() or ""
    page_state.put("part_failed", asked.failed or None)
    if asked.name is None:
        _close_part(scene)
        return
    left = (page_state.get("case_forms") or {}).get(_place(key, asked.name))
    form = begin(scene.drafts, key, asked.name, page_state.form() if asked.failed else left)
    page_state.show_form(form.token)


def _apply(asked: ApplyEdits, scene: SetContext) -> None:
    work = scene.work
    before = {row.key: row.eval_id for row in work.rows()}
    for edit in asked.edits:
        work.apply(edit)
    gone = [eval_id for key, eval_id in before.items() if key not in work.state.order]
    if asked.part:
        _close_part(scene)
    new = [each for each in work.state.order if each not in before]
    if asked.then == "new" and new:
        page_state.show_case(new[0])
    elif asked.then == "all":
        page_state.put("deleted_case", ", ".join(sorted(gone)))
        page_state.show_case(None)


def _close_part(scene: SetContext) -> None:
    """Close the form that is open in this tab."""
    key, token = page_state.case_key() or "", page_state.form()
    form = form_of(scene.drafts, token, key)
    if form is not None:
        end(scene.drafts, form)
    forms = page_state.get("case_forms") or {}
    page_state.put("case_forms", {place: held for place, held in forms.items() if held != token} or None)
    page_state.show_form(None)


def _sentences(saved: Saved) -> list[str]:
    """Return the files that a save wrote, in lines, and what else there is to know of it."""
    files = [f"{saved.path}: {saved.cases} case{'' if saved.cases == 1 else 's'} changed"]
    found: list[str] = []
    if saved.beside:
        files.append(f"The file of recorded responses and notes was updated, too: {saved.beside}")
    if saved.review_trouble:
        found.append(f"The reviews could not be updated: {saved.review_trouble}")
    elif saved.reviews:
        files.append(f"The reviews were updated, too: {saved.reviews}")
    if saved.trouble:
        found.append(f"The file of recorded responses and notes could not be updated: {saved.trouble}")
    if saved.converted_copy:
        files.append(f"The original in ADK's old format is kept as {saved.converted_copy}")
    return ["\n".join(files), *found]
