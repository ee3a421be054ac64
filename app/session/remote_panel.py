"""Shows a session that is played on another server: where, what has happened in it, and the way to take it over."""

from __future__ import annotations

import streamlit as st

from app.forms.safe_labels import literal
from app.live.lease_keeper import Followed
from app.live.live_sessions import title
from app.session.timeline_view import rows

_HEIGHT = 480
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
        height=_HEIGHT,
        alt="All steps of the session",
    )
    return taken
