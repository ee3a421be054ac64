"""The page of one eval set: its head, its tabs, and the case that is open."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import streamlit as st

from app.kept import slug
from app.labels import literal
from app.panels.evalsets.case_page import case_page
from app.panels.evalsets.save_page import conflict_page, save_page
from app.panels.evalsets.scene import AskToSave, CloseSet, RedoEdit, ReloadSet, SetCommand, SetScene, UndoEdit
from app.panels.evalsets.tabs import TABS
from app.panels.parts import problem, views
from app.set_parts import Part
from evalset.editing.edits import words_of
from evalset.editing.merging import Conflict
from evalset.editing.saving import text_of_set
from evalset.editing.work import SetWork


@dataclass(frozen=True)
class Shown:
    """What of a set is on the screen.

    Attributes:
        case: The case that is open; None for the tabs.
        part: The part of it whose editor is open.
        saving: What a save would change is shown first.
        failed: Why the last command did not work.
        done: What the last save did, in sentences of which some words come from outside.
        both: The cases that were changed here and there; None where the file is as it was.
    """

    case: str | None = None
    part: Part | None = None
    saving: bool = False
    failed: str | None = None
    done: tuple[str, ...] = ()
    both: Sequence[Conflict] | None = None


def set_page(scene: SetScene, shown: Shown) -> SetCommand | None:
    """Draw the page; give what was asked for."""
    asked = _head(scene, saving=shown.saving)
    if scene.work.beside.trouble:
        problem("What is recorded beside this set cannot be used.", scene.work.beside.trouble)
    if scene.work.beside.is_inside and scene.work.beside_identity is None:
        st.caption(
            "The recording inside of this file is used, as no file lies beside it. The first change of it makes the file beside."
        )
    asked = _restored(scene) or asked
    if shown.done:
        st.success("The eval set was saved.", icon=":material/check_circle:")
        for sentence in shown.done:
            st.text(literal(sentence))
    if shown.both is not None:
        return conflict_page(shown.both) or asked
    if shown.saving:
        return save_page(scene, shown.failed) or asked
    if shown.failed:
        problem("That did not work; nothing was changed.", shown.failed)
    if shown.case is not None:
        return case_page(scene, shown.case, shown.part) or asked
    chosen = views("Part of the eval set", list(TABS), "set_tab")
    if scene.work.is_changed and chosen != next(iter(TABS)):
        st.info(
            "This looks at the file as it was saved last; save your edits to have them in it.",
            icon=":material/edit:",
        )
    with st.container(key=f"set_{slug(chosen.lower())}", gap="small"):
        return TABS[chosen](scene) or asked


def _restored(scene: SetScene) -> SetCommand | None:
    """Say what an earlier server has left, with the way to drop it."""
    left = scene.restored
    if left is None or not (scene.work.is_changed or left.problem):
        return None
    when = datetime.fromtimestamp(left.at).astimezone()
    time = when.strftime("%H:%M" if when.date() == datetime.now().astimezone().date() else "%Y-%m-%d %H:%M")
    with st.container(horizontal=True, vertical_alignment="center", gap="xsmall", key="set_restored"):
        if left.problem:
            st.warning(f"Unsaved edits from {time} cannot be restored.", icon=":material/history:")
        else:
            st.info(f"Unsaved edits from {time} restored.", icon=":material/history:")
        dropped = st.button("Discard them", key="set_discard", type="tertiary", icon=":material/delete:")
    if left.problem:
        st.text(literal(left.problem))
    if left.body:
        st.download_button(
            "Download them", data=left.body, file_name="edits.json", key="set_edits", on_click="ignore"
        )
    return ReloadSet() if dropped else None


def _head(scene: SetScene, *, saving: bool) -> SetCommand | None:
    work = scene.work
    with st.container(horizontal=True, vertical_alignment="center", gap="xsmall", key="set_head"):
        with st.container(key="session_title", width="content"):
            st.text(literal(scene.path.name), wrap=False)
        if work.is_changed:
            st.badge("Not saved", icon=":material/edit:", color="orange")
        if work.opened.old_text is not None:
            words = "Saving writes it in today's form, and keeps a copy of the old one"
            st.badge("Old form", icon=":material/history:", color="orange", help=words)
        st.space("stretch")
        asked = _steps(work)
        st.download_button(
            "Download",
            data=lambda: text_of_set(work),
            file_name=scene.path.name,
            mime="application/json",
            key="set_download",
            icon=":material/download:",
            type="tertiary",
            on_click="ignore",
        )
        if st.button("All eval sets", key="set_back", icon=":material/arrow_back:", type="tertiary"):
            asked = CloseSet()
        if st.button(
            "Save",
            key="set_save",
            icon=":material/save:",
            type="primary",
            disabled=saving or not work.is_changed,
            help="Shows what changes first",
        ):
            asked = AskToSave()
    return asked


def _steps(work: SetWork) -> SetCommand | None:
    """Draw the ways back and forth, each with what it takes back or brings back."""
    asked: SetCommand | None = None
    last = words_of(work.edits[-1]) if work.edits else None
    undone = words_of(work.undone) if work.undone else None
    if st.button(
        "Undo", key="set_undo", icon=":material/undo:", type="tertiary", disabled=last is None, help=last
    ):
        asked = UndoEdit()
    if st.button(
        "Redo", key="set_redo", icon=":material/redo:", type="tertiary", disabled=undone is None, help=undone
    ):
        asked = RedoEdit()
    return asked
