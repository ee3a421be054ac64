"""The list of sessions that live on this server, with the way back to each."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from app.commands import CloseSession, NewSession, OpenSession, SidebarCommand
from app.kept import slug
from app.labels import safe_label
from app.overview import short_id
from app.registry import LiveSession

SHOWN_SESSIONS = 15


def sidebar(sessions: Sequence[LiveSession], current_id: str | None) -> SidebarCommand | None:
    """Draw the sidebar; give what was clicked."""
    asked: SidebarCommand | None = None
    with st.sidebar:
        with st.container(key="brand"):
            st.markdown(":material/movie: **Golden Trace Studio**")
        if st.button(
            "New session",
            key="new_session",
            icon=":material/add:",
            width="stretch",
            disabled=current_id is None,
        ):
            asked = NewSession()
        st.caption("Sessions on this server")
        if not sessions:
            st.caption("None yet. A session stays here until it is closed or the server ends.")
        for live in sessions[:SHOWN_SESSIONS]:
            asked = _line(live, is_current=live.session_id == current_id) or asked
        if len(sessions) > SHOWN_SESSIONS:
            st.caption(f"{len(sessions) - SHOWN_SESSIONS} older sessions are live too.")
    return asked


def _line(live: LiveSession, *, is_current: bool) -> OpenSession | CloseSession | None:
    name = slug(live.session_id)
    with st.container(
        horizontal=True, gap="xxsmall", vertical_alignment="center", wrap=False, key=f"recent_line_{name}"
    ):
        opened = st.button(
            safe_label(live.title or live.config.name, 34),
            key=f"recent_{name}",
            type="secondary" if is_current else "tertiary",
            icon=":material/chat:",
            width="stretch",
            wrap=False,
            help=f"{safe_label(live.config.name, 40)}, {safe_label(short_id(live.session_id))}",
        )
        closed = st.button(
            ":material/close:",
            key=f"close_{name}",
            type="tertiary",
            help="End this session; what was not exported is lost",
        )
    if closed:
        return CloseSession(session_id=live.session_id)
    return OpenSession(session_id=live.session_id) if opened and not is_current else None
