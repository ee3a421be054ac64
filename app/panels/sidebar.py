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
"""How many sessions are listed at once; those before them are a click away."""

OLDER_HEIGHT = 320
"""In pixels; the list of the older sessions scrolls inside."""


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
        asked = _lines(sessions[:SHOWN_SESSIONS], current_id) or asked
        older = sessions[SHOWN_SESSIONS:]
        if older and st.toggle(f"Show {len(older)} older", key="older_sessions"):
            with st.container(height=OLDER_HEIGHT, border=False, gap="xsmall", key="older_list"):
                asked = _lines(older, current_id) or asked
    return asked


def _lines(sessions: Sequence[LiveSession], current_id: str | None) -> OpenSession | CloseSession | None:
    asked: OpenSession | CloseSession | None = None
    for live in sessions:
        asked = _line(live, is_current=live.session_id == current_id) or asked
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
        with st.popover(
            ":material/close:",
            key=f"close_menu_{name}",
            type="tertiary",
            help="End this session; what was not exported is lost",
        ):
            st.text("Close this session? It cannot be brought back.")
            closed = st.button("Close", key=f"close_{name}", icon=":material/delete:")
    if closed:
        return CloseSession(session_id=live.session_id)
    return OpenSession(session_id=live.session_id) if opened and not is_current else None
