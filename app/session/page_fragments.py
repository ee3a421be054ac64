"""Makes the parts of a page that are drawn anew by themselves: each time it is asked again whether the session may be seen."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import ParamSpec

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from app.live.reopened_sessions import NotReopenedError
from app.live.shared_sessions import shared_record
from app.server.offered_files import OFFERED
from app.server.owners import COOKIE
from app.session import page_state

Given = ParamSpec("Given")


def fragment(draw: Callable[Given, None], every: float | None = None) -> Callable[Given, None]:
    """Return what draws a part of the page, which Streamlit's own `fragment` would draw even if another person has come to see it.

    Args:
        draw: Draws it.
        every: How often it is drawn by itself, in seconds.
    """

    @functools.wraps(draw)
    def drawn(*args: Given.args, **more: Given.kwargs) -> None:
        if not is_shared_still(page_state.looks_at()):
            st.rerun()
        try:
            draw(*args, **more)
        finally:
            note_offers()

    return st.fragment(drawn, run_every=every)


def begin_page(token: str | None) -> None:
    """Note that the page is being drawn, and the token under which its session is shared; None for a session of one's own."""
    page_state.look_at(token)
    if context := get_script_run_ctx():
        browser = st.context.cookies.get(COOKIE, "")
        OFFERED.begin(context.session_id, browser, functools.partial(is_shared_still, token))


def note_offers() -> None:
    """Note which files the page offers."""
    if context := get_script_run_ctx():
        OFFERED.note(context.session_id)


def is_shared_still(token: str | None) -> bool:
    """Return whether what is shared under a token may be seen; what is one's own may, where there is none."""
    try:
        return token is None or shared_record(token) is not None
    except NotReopenedError:  # the store does not say
        return False
