"""The way to share a session read-only, and to end that, in its menu."""

from typing import Protocol
from urllib.parse import urlsplit

import streamlit as st

from app.commands import ShareSession
from app.labels import literal
from app.origins import is_loopback
from app.session_lines import SessionLine

_WHAT = (
    "Whoever has the link sees this session as it goes on: its steps, its world, its branches and its golden trace. "
    "They can change nothing, and may copy it. What you type and do not send stays yours."
)
_HERE_ALONE = "This server listens to this machine only, so the link leads nowhere from another one."


class Ask(Protocol):
    """Draws a button that asks for something."""

    def __call__(
        self, label: str, command: ShareSession, key: str, icon: str, help_: str | None = None
    ) -> None:
        """Draw it."""


def sharing(line: SessionLine, name: str, ask: Ask) -> None:
    """Draw it; `name` ends the keys, and `ask` draws the buttons."""
    if not line.link:
        share = ShareSession(session_id=line.session_id)
        ask("Share read-only", share, f"share_{name}", ":material/share:", _WHAT)
        return
    with st.container(border=True, gap="xsmall", key=f"shared_{name}"):
        st.caption("Shared read-only with whoever has this link")
        st.code(literal(line.link), language=None, wrap_lines=True)
        if is_loopback(urlsplit(line.link).hostname or ""):
            st.caption(_HERE_ALONE)
        end = ShareSession(session_id=line.session_id, shared=False)
        ask("Stop sharing", end, f"unshare_{name}", ":material/link_off:")
