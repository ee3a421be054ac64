"""Lets go of what Streamlit holds for a tab that was closed: an event loop with its descriptors, its files and its state.

Streamlit keeps the page of a closed tab for `server.disconnectedSessionTTL` seconds, as the tab may only have lost its line. After that nobody
can come back to it, but it is forgotten only when another tab is closed, and ended only when the garbage collector finds it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import streamlit as st
from streamlit import runtime
from streamlit.runtime.scriptrunner import get_script_run_ctx

LOOK_SECONDS = 2.0
"""How often it is looked at most; where a page is kept for a shorter time, so often that it is seen while it is."""

_LOOKS = 4


class TabSession(Protocol):
    """The session that Streamlit holds for a browser tab."""

    def shutdown(self) -> None:
        """End it; to be asked on the server's event loop. Idempotent."""


class ClosedTabs:
    """Ends the pages to which nobody can come back any more.

    Args:
        waiting: Gives the pages of closed tabs to which somebody may still come back, by their ids.
        is_open: Checks whether the tab of a page has come back.
    """

    def __init__(
        self, waiting: Callable[[], Mapping[str, TabSession]], is_open: Callable[[str], bool]
    ) -> None:
        self._waiting, self._is_open = waiting, is_open
        self._before: Mapping[str, TabSession] = {}

    def look(self) -> None:
        """End the pages that waited when this was asked before, and neither wait nor are open now."""
        before, self._before = self._before, dict(self._waiting())
        for page_id, page in before.items():
            if page_id not in self._before and not self._is_open(page_id):
                page.shutdown()


async def end_closed_tabs() -> None:
    """End the pages of closed tabs for as long as the server runs."""
    tabs = ClosedTabs(_waiting, is_open)
    kept_seconds = float(st.get_option("server.disconnectedSessionTTL"))
    while True:
        await asyncio.sleep(min(LOOK_SECONDS, kept_seconds / _LOOKS))
        tabs.look()


def _waiting() -> Mapping[str, TabSession]:
    if not runtime.exists():
        return {}
    manager: Any = runtime.get_instance()._session_mgr  # noqa: SLF001 - no other way; tests/app/server/test_page_access.py counts descriptors
    return {kept.session.id: kept.session for kept in manager._session_storage.list()}  # noqa: SLF001 - as above


def drawn_page() -> str:
    """Return the id of the page that is being drawn; empty outside of one."""
    drawn = get_script_run_ctx()
    return drawn.session_id if drawn else ""


def is_open(page_id: str) -> bool:
    """Return whether a page is in a tab that has its line to the server."""
    return runtime.exists() and runtime.get_instance().is_active_session(page_id)
