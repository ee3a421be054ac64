"""The page of one eval set: its head, its tabs, and the case that is open."""

from __future__ import annotations

import streamlit as st

from app.kept import slug
from app.labels import literal
from app.panels.evalsets.case_page import case_page
from app.panels.evalsets.scene import CloseSet, RedoEdit, SetCommand, SetScene, UndoEdit
from app.panels.evalsets.tabs import TABS
from app.panels.parts import problem, views


def set_page(scene: SetScene, case: str | None) -> SetCommand | None:
    """Draw the page, or the case with this key; give what was asked for."""
    asked = _head(scene)
    if scene.work.beside.trouble:
        problem("What is recorded beside this set cannot be used.", scene.work.beside.trouble)
    if case is not None and case in scene.work.state.order:
        return case_page(scene, case) or asked
    chosen = views("Part of the eval set", list(TABS), "set_tab") if len(TABS) > 1 else next(iter(TABS))
    with st.container(key=f"set_{slug(chosen.lower())}", gap="small"):
        return TABS[chosen](scene) or asked


def _head(scene: SetScene) -> SetCommand | None:
    work = scene.work
    asked: SetCommand | None = None
    with st.container(horizontal=True, vertical_alignment="center", gap="xsmall", key="set_head"):
        with st.container(key="session_title", width="content"):
            st.text(literal(scene.path.name), wrap=False)
        if work.is_changed:
            st.badge("Not saved", icon=":material/edit:", color="orange")
        if work.opened.old_text is not None:
            st.badge(
                "Old form",
                icon=":material/history:",
                color="orange",
                help="Saving writes it in today's form and keeps a copy",
            )
        st.space("stretch")
        if st.button(
            "Undo", key="set_undo", icon=":material/undo:", type="tertiary", disabled=not work.edits
        ):
            asked = UndoEdit()
        if st.button(
            "Redo", key="set_redo", icon=":material/redo:", type="tertiary", disabled=work.undone is None
        ):
            asked = RedoEdit()
        if st.button("All eval sets", key="set_back", icon=":material/arrow_back:", type="tertiary"):
            asked = CloseSet()
    return asked
