"""Shows a session that is played on another server: where, what has happened in it, and the way to take it over."""

from __future__ import annotations

import streamlit as st

from app.forms.safe_labels import literal
from app.live.live_sessions import title
from app.live.remote_sessions import Followed
from app.session.timeline_view import rows

_HEIGHT = 480
_TAKEN = "It was taken over there. What was done here until then is kept; what came after stands beside it as a branch."
_TAKE_OVER = (
    "It is played here from then on, and the page there says so. What was answered stays, and nobody is asked for it again; "
    "what is at work there at this moment is asked anew."
)


def elsewhere(followed: Followed) -> bool:
    """Draw it; True when it shall be taken over."""
    session = followed.journal.session()
    with st.container(key="elsewhere", border=True, gap="xsmall"):
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.text(literal(title(session)), width="content")
            st.badge("Played on another server", icon=":material/cast:", color="blue")
        st.text(
            literal(
                f"This session is being played on another server: {followed.where}. You can read it here."
            )
        )
        if followed.taken:
            st.text(literal(_TAKEN))
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            taken = st.button("Take over here", key="take_over", icon=":material/front_hand:")
            st.caption(_TAKE_OVER)
    st.caption("What has happened in it")
    st.dataframe(
        [row.model_dump() for row in rows(session)],
        key="elsewhere_rows",
        hide_index=True,
        height=_HEIGHT,
        alt="All steps of the session",
    )
    return taken
