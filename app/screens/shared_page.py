"""The pages of a session that somebody shares: all of it to read, as it goes on, and nothing in it to change."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from app.branches.branches_panel import branches_page
from app.forms.common_panel import problem
from app.live.click_waits import keep_facts
from app.live.live_sessions import LiveSession
from app.live.reopened_sessions import NotReopenedError
from app.live.shared_sessions import copied, shared_session
from app.screens.context_panel import context
from app.screens.export_page import export_page
from app.screens.shared_panel import CopyShared, read_only_line, watched_head, what_waits, world_to_read
from app.screens.sidebar_panel import forget_lists, side
from app.screens.start_page import start_page
from app.server.login import visitor
from app.session import page_state
from app.session.context_fold_panel import fold_of
from app.session.page_commands import Show
from app.session.page_fragments import fragment
from app.session.session_context import SessionContext
from app.session.timeline_panel import timeline
from app.session.unopened_panel import unreadable

if TYPE_CHECKING:
    from simulator.runtime import SimulationView

COLUMNS = (1.05, 1.6, 0.95)
LOOK_AGAIN_SECONDS = 1.0
"""So soon it is seen that the session is not shared any more, or was played on another server."""


def watching(live: LiveSession) -> None:
    """Draw the page of a shared session that the address names; its owner is led to the session itself."""
    if live.owner == visitor().owner:
        page_state.go_to(live.session_id)
        st.rerun()
    view = live.simulation.view()
    keep_facts(live.simulation)
    side()
    scene = SessionContext(live, view)
    if page_state.view() is not None:
        read_only_line()
    match page_state.view():
        case "export":
            export_page(live, view)
        case "environment":
            if world_to_read(scene):
                _show(None)
        case "branches":
            if branches_page(scene) is not None:
                _show(None)
        case None:
            _session(scene)
    fragment(_watch, LOOK_AGAIN_SECONDS)(live, view)


def not_shared(token: str) -> None:
    """Draw what is there where a shared session cannot be shown: why, or that nothing is shared under the token."""
    side()
    try:
        shared_session(token)
    except NotReopenedError as error:
        unreadable(str(error), error.journal)
    else:
        start_page()


def _session(scene: SessionContext) -> None:
    live, view = scene.live, scene.view
    asked = watched_head(view, live, has_branches=len(live.simulation.journal.tips()) > 1)
    failed = page_state.get("problem")
    if failed:
        problem("The action failed. Nothing was changed.", str(failed))
    left, middle, right = st.columns(COLUMNS, gap="small")
    with left:
        timeline(view, live.simulation, may_go=False, whom="its owner")
    with middle:
        what_waits(view, is_played=not live.at_rest)
    if fold_of(live) != "folded":
        with right:
            context(scene)
    _act(asked)


def _act(asked: Show | CopyShared | None) -> None:
    match asked:
        case None:
            return
        case Show():
            _show(asked.view)
        case CopyShared():
            _copy()


def _show(view: page_state.View | None) -> None:
    page_state.put("problem", None)
    page_state.show(view)
    st.rerun()


def _copy() -> None:
    page_state.put("problem", None)
    try:
        made = copied(page_state.shared_token() or "", visitor().owner)
    except ValueError as error:  # a StoreError, or a NotReopenedError
        page_state.put("problem", str(error))
    else:
        forget_lists()
        page_state.go_to(made)
    st.rerun()


def _watch(live: LiveSession, view: SimulationView) -> None:
    """Draw the page anew as soon as the session has changed, or is not to be seen any more."""
    if live.simulation.version != view.version:
        st.rerun()
