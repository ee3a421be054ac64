"""Writes the address under which a shared session is found."""

from __future__ import annotations

from urllib.parse import quote, urlsplit, urlunsplit

import streamlit as st


def link_of(token: str) -> str:
    """Return the link to a session that is shared under a token, as the visitor's own browser reaches this server."""
    here = urlsplit(st.context.url or "/")
    return urlunsplit((here.scheme, here.netloc, here.path or "/", f"shared={quote(token)}", ""))
