"""What somebody sees who cannot be told from others yet: why, and the way to log in."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec

import streamlit as st

from app.forms.common_panel import problem
from app.forms.safe_labels import safe_label
from app.forms.widget_store import slug
from app.server.owners import NobodyError, NotLoggedInError

_NO_LIBRARY = "Login needs a library that is not installed here: pip install 'streamlit[auth]'"


def gate(reason: NobodyError, providers: Sequence[str], *, is_logged_in: bool) -> None:
    """Draw it.

    Args:
        reason: Why they see nothing.
        providers: Who can tell who they are; an empty name for the only one.
        is_logged_in: Whether somebody is, who is not known all the same.
    """
    with st.sidebar, st.container(key="brand"):
        st.markdown(":material/movie: **Golden Trace Studio**")
    with st.container(key="gate", width=520):
        st.title("Golden Trace Studio", anchor=False)
        if isinstance(reason, NotLoggedInError):
            _ways_in(str(reason), providers)
        else:
            problem("No access to the studio.", str(reason))
            if is_logged_in and st.button("Log out", key="log_out", icon=":material/logout:"):
                st.logout()


def _ways_in(words: str, providers: Sequence[str]) -> None:
    if find_spec("authlib") is None:
        problem("Login is not available.", _NO_LIBRARY)
        return
    st.markdown(words)
    for name in providers:
        label = f"Log in with {safe_label(name)}" if name else "Log in"
        if st.button(label, key=f"log_in_{slug(name or 'default')}", type="primary", icon=":material/login:"):
            st.login(name or None)
