"""Knows which tabs show which session and whose page is behind it, and lets go of what Streamlit holds for a tab that was closed.

Streamlit keeps the page of a closed tab for `server.disconnectedSessionTTL` seconds, as the tab may only have lost its line. After that nobody
can come back to it, but it is forgotten only when another tab is closed, and ended only when the garbage collector finds it.
"""

from __future__ import annotations

import asyncio
import math
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from threading import Lock
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


MOST_TABS = 2_000
"""So many are remembered; those that have not drawn for longest are forgotten first, and look by themselves."""

GRACE_SECONDS = 0.15
"""What changes a session seldom comes alone: a tab is woken when it has been behind for so long."""

REST_SECONDS = 0.3
"""So long after it was drawn a page is left alone: its browser still puts in place what it was sent."""

AGAIN_SECONDS = 0.5
"""A tab is not woken more often; where something runs by itself, its page looks by itself anyway."""


def new_token() -> str:
    """Make the name of a tab; nobody can guess it, and only the page in that tab is told."""
    return secrets.token_urlsafe(24)


@dataclass
class Tab:
    """A tab that shows a session.

    Attributes:
        session_id: The session.
        drawn: The session's stamp when the page was drawn.
        rests: The page is being drawn, or was until then.
        wake: Sends a word to the tab; None while no line is open.
        behind: Since when it has been behind.
        woken: The stamp for which it was woken last, and when.
    """

    session_id: str
    drawn: str
    rests: float = math.inf
    wake: Callable[[], None] | None = None
    behind: float | None = None
    woken: tuple[str, float] = ("", 0.0)


class Tabs:
    """The tabs of this server, by token. Safe to use from several threads.

    Args:
        stamp: Gives a text that differs whenever a session's page is to be drawn anew; it is asked often.
        clock: Only goes forward, in seconds.
    """

    def __init__(self, stamp: Callable[[str], str], clock: Callable[[], float] = time.monotonic) -> None:
        self._stamp, self._clock = stamp, clock
        self._tabs: OrderedDict[str, Tab] = OrderedDict()
        self._lock = Lock()

    def begin(self, token: str) -> None:
        """Note that the page in a tab is being drawn; it is not woken until `show`."""
        with self._lock:
            if token in self._tabs:
                self._tabs[token].rests = math.inf

    def show(self, token: str, session_id: str, drawn: str) -> None:
        """Note that a tab has drawn a session as it is at a stamp."""
        with self._lock:
            tab = self._tabs.setdefault(token, Tab(session_id, drawn))
            tab.session_id, tab.drawn, tab.behind = session_id, drawn, None
            tab.rests = self._clock() + REST_SECONDS
            self._tabs.move_to_end(token)
            while len(self._tabs) > MOST_TABS:
                self._tabs.popitem(last=False)

    def connect(self, token: str, wake: Callable[[], None]) -> bool:
        """Let a tab be woken; False where no page was told this token."""
        with self._lock:
            tab = self._tabs.get(token)
            if tab is not None:
                tab.wake = wake
        return tab is not None

    def disconnect(self, token: str, wake: Callable[[], None]) -> None:
        """Wake a tab no longer, unless it has opened another line since."""
        with self._lock:
            tab = self._tabs.get(token)
            if tab is not None and tab.wake is wake:
                tab.wake = None

    def wake_those_behind(self) -> None:
        """Wake each tab whose page has been behind its session for a moment; call it some times a second."""
        now = self._clock()
        with self._lock:
            tabs = [tab for tab in self._tabs.values() if tab.wake is not None]
        stamps = {session_id: self._stamp(session_id) for session_id in {tab.session_id for tab in tabs}}
        for tab in tabs:
            wake = tab.wake
            if wake is not None and self._is_due(tab, stamps.get(tab.session_id, tab.drawn), now):
                wake()

    def _is_due(self, tab: Tab, stamp: str, now: float) -> bool:
        if stamp == tab.drawn:
            tab.behind = None
            return False
        if tab.behind is None:
            tab.behind = now
        if (
            now < max(tab.rests, tab.behind + GRACE_SECONDS)
            or tab.woken[0] == stamp
            or now - tab.woken[1] < AGAIN_SECONDS
        ):
            return False
        tab.woken = stamp, now
        return True
