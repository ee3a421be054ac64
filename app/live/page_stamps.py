"""Gives each session a text that differs whenever its page is to be drawn anew."""

from __future__ import annotations

from app.live.live_sessions import LiveSession, registry
from app.live.new_code import has_new_code
from app.live.remote_sessions import FOLLOWED, Followed
from app.live.session_store import store_if_open
from app.server.browser_tabs import Tabs


def stamp_of(live: LiveSession, version: int | None = None) -> str:
    """Return the stamp of a live session as it is now, or as it was at a version."""
    simulation = live.simulation
    store = store_if_open().store
    trouble = "!" if simulation.journal.trouble or (store is not None and store.trouble) else ""
    changed = "*" if has_new_code(live) else ""
    return f"{live.order}:{simulation.version if version is None else version}{trouble}{changed}"


def stamp(session_id: str) -> str:
    """Return the stamp of any session; cheap, and no use of it."""
    live = registry().peek(session_id)
    if live is not None:
        return stamp_of(live)
    followed = FOLLOWED.peek(session_id)
    return followed_stamp(followed) if followed is not None else ""


def followed_stamp(followed: Followed) -> str:
    """Return the stamp of a session that is played elsewhere."""
    return f"elsewhere {followed.version}"


TABS = Tabs(stamp)
"""The tabs of this server."""
