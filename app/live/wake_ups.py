"""Wakes the pages in browsers over a WebSocket, so that what one tab does is in the others at once.

Each session has a text, its stamp, that differs whenever its page is to be drawn anew: `TABS` has what each tab has drawn.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from contextlib import suppress

from starlette.websockets import WebSocket, WebSocketDisconnect

from app.live.agent_catalogue import has_new_code
from app.live.lease_keeper import FOLLOWED, Followed
from app.live.live_sessions import LiveSession, registry
from app.live.session_store import store_if_open
from app.server.browser_tabs import Tabs
from app.server.login import allowed_origins
from app.server.owners import is_allowed

PATH = "/wake"
LOOK_SECONDS = 0.1
"""How often it is looked which tabs are behind, while any is connected."""

INTRODUCTION_SECONDS = 5.0
"""Who connects has to say within so long which tab it is."""

UNKNOWN_TAB = 4404
"""Closes the line of a tab that no page was told of; it is not to be opened again."""

NOT_OURS = 1008
"""Closes the line of a page that is not ours before it is open; the browser is told no more than that it was refused."""

_WORD = "look"


def stamp_of(live: LiveSession, version: int | None = None) -> str:
    """Return the stamp of a live session as it is now, or as it was at a version."""
    simulation = live.simulation
    store = store_if_open().store
    trouble = "!" if simulation.journal.trouble or (store is not None and store.trouble) else ""
    changed = "*" * has_new_code(live) + "~" * live.plays_script
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


class Waking:
    """An ASGI application for the lines of all tabs.

    A tab says its token, which only its own page knows, and hears nothing but that it is to look: what there is to see
    goes the page's own way.

    Args:
        tabs: The tabs.
        allowed: Gives the pages of other addresses that may open a line.
    """

    def __init__(self, tabs: Tabs, allowed: Callable[[], Collection[str]] = tuple) -> None:
        self._tabs, self._allowed = tabs, allowed
        self._lines = 0
        self._looking: asyncio.Task[None] | None = None

    async def __call__(self, websocket: WebSocket) -> None:
        """Serve one tab until its line ends. A page of another address opens none."""
        origin, host = (", ".join(websocket.headers.getlist(name)) for name in ("origin", "host"))
        if origin and not is_allowed(origin, host, self._allowed()):
            await websocket.close(NOT_OURS)
            return
        await websocket.accept()
        due = asyncio.Event()
        with suppress(WebSocketDisconnect, TimeoutError, KeyError):  # a KeyError: bytes instead of text
            async with asyncio.timeout(INTRODUCTION_SECONDS):
                token = await websocket.receive_text()
            if not self._tabs.connect(token, due.set):
                await websocket.close(UNKNOWN_TAB)
                return
            self._begin()
            try:
                await _serve(websocket, due)
            finally:
                self._tabs.disconnect(token, due.set)
                self._end()

    def _begin(self) -> None:
        self._lines += 1
        if self._looking is None:
            self._looking = asyncio.create_task(self._look())

    def _end(self) -> None:
        self._lines -= 1
        if not self._lines and self._looking is not None:
            self._looking.cancel()
            self._looking = None

    async def _look(self) -> None:
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            self._tabs.wake_those_behind()


async def _serve(websocket: WebSocket, due: asyncio.Event) -> None:
    """Pass each word on to the tab, until it leaves."""
    left = asyncio.create_task(_until_left(websocket))
    try:
        while not left.done():
            word = asyncio.create_task(due.wait())
            await asyncio.wait({left, word}, return_when=asyncio.FIRST_COMPLETED)
            word.cancel()
            if due.is_set():
                due.clear()
                await websocket.send_text(_WORD)
    finally:
        left.cancel()


async def _until_left(websocket: WebSocket) -> None:
    while (await websocket.receive())["type"] != "websocket.disconnect":
        pass


wake = Waking(TABS, allowed_origins).__call__
"""The endpoint of the route."""
