"""Shows a session that cannot be played here: kept and refused, or played on another server; why, what has happened in it, and the way to take it over."""

from __future__ import annotations

from typing import Literal

import streamlit as st

from app.forms.common_panel import problem
from app.forms.safe_labels import literal, safe_label
from app.live.lease_keeper import Followed
from app.live.live_sessions import title
from app.session.timeline_view import rows
from simulator.journal import Journal

_REMOTE_HEIGHT = 480
_TAKEN = "The other server took over this session. Your steps until then are kept. Later ones are kept as a branch."
_TAKE_OVER = (
    "The session then runs here, and the page on the other server says so. Answered calls are kept and "
    "not asked again. Calls that are running there now start again here."
)


def elsewhere(followed: Followed) -> bool:
    """Draw it; True when it shall be taken over."""
    session = followed.journal.session()
    with st.container(key="elsewhere", border=True, gap="xsmall"):
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.text(literal(title(session)), width="content")
            st.badge("Running on another server", icon=":material/cast:", color="blue")
        st.text(
            literal(f"This session is running on another server: {followed.where}. Here it is read-only.")
        )
        if followed.taken:
            st.text(literal(_TAKEN))
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            taken = st.button("Take over here", key="take_over", icon=":material/front_hand:")
            st.caption(_TAKE_OVER)
    st.caption("Steps so far")
    st.dataframe(
        [row.model_dump() for row in rows(session)],
        key="elsewhere_rows",
        hide_index=True,
        height=_REMOTE_HEIGHT,
        alt="All steps of the session",
    )
    return taken


_HEIGHT = 420
_NAME = 40


def unopened(
    session_id: str, reason: str, journal: Journal | None, renamed_to: str = ""
) -> Literal["again", "renamed"] | None:
    """Draw it, and return what was clicked: to try again, or to continue with the agent that its own may be called now."""
    problem("This session cannot be opened now. It is stored unchanged, and nothing is lost.", reason)
    clicked: Literal["again", "renamed"] | None = None
    if renamed_to:
        label = f"Continue with {safe_label(renamed_to, _NAME)}"
        if st.button(label, key="continue_renamed", type="primary", icon=":material/play_arrow:"):
            clicked = "renamed"
    if st.button("Try again", key="reopen", icon=":material/refresh:"):
        clicked = "again"
    if journal is not None:
        _steps(journal)
        st.download_button(
            "Download journal",
            journal.to_json(),
            f"{session_id}.journal.json",
            icon=":material/download:",
        )
    return clicked


def unreadable(reason: str, journal: Journal | None) -> None:
    """Draw a session that is shared and cannot be shown in full now, for somebody who may only look at it."""
    problem("Part of this session cannot be shown now.", reason)
    if journal is not None:
        _steps(journal)


def _steps(journal: Journal) -> None:
    session = journal.session()
    st.caption("Steps so far")
    st.dataframe(
        [row.model_dump() for row in rows(session)],
        hide_index=True,
        height=_HEIGHT,
        alt="All steps of the session",
    )
