"""The way to share a session read-only, and to end that, in its menu."""

from __future__ import annotations

from urllib.parse import urlsplit

import streamlit as st

from app.commands import ShareSession
from app.labels import literal
from app.people import is_loopback
from app.session_lines import SessionLine

_WHAT = (
    "Whoever has the link sees this session as it goes on: its steps, its world, its branches and its golden trace. "
    "They can change nothing, and may copy it. What you type and do not send stays yours."
)
_HERE_ALONE = "This server listens to this machine only, so the link leads nowhere from another one."


def sharing(line: SessionLine, name: str) -> ShareSession | None:
    """Draw it; give what was asked for. `name` ends the keys."""
    if not line.link:
        shared = st.button("Share read-only", key=f"share_{name}", icon=":material/share:", help=_WHAT)
        return ShareSession(session_id=line.session_id) if shared else None
    with st.container(border=True, gap="xsmall", key=f"shared_{name}"):
        st.caption("Shared read-only with whoever has this link")
        st.code(literal(line.link), language=None, wrap_lines=True)
        if is_loopback(urlsplit(line.link).hostname or ""):
            st.caption(_HERE_ALONE)
        ended = st.button("Stop sharing", key=f"unshare_{name}", icon=":material/link_off:")
    return ShareSession(session_id=line.session_id, shared=False) if ended else None
