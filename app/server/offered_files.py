"""Lets a file that a page offers be fetched by the browser to which it was offered, for as long as that may see the page.

Streamlit gives each such file an address that works for anyone who knows it. Here it holds for the browser whose page drew it, by its id, and
of a session that is shared until the sharing ends, whether that page looks again or not.
"""

from __future__ import annotations

import asyncio
import functools
import re
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from streamlit import runtime

from app.server.owners import COOKIE

MOST_PAGES = 5_000
"""Of so many pages it is known what they offer; those that were drawn longest ago are forgotten first."""

MOST_FILES = 1_000
"""Of so many files of a page it is known that it offered them; those that it offered longest ago are forgotten first."""

_FOLDER = "media"
_OF_STREAMLIT = ["static", _FOLDER]
"""Where the fonts of Streamlit's own page lie, which are for everybody."""

_DIGEST = re.compile(r"[0-9a-f]{56}")
"""How Streamlit names a file that a page offers; no font is named so, whatever the server's base path is."""


@dataclass
class BrowserPage:
    """A page in a browser: whose it is, whether it may still be seen, and for each file that it offered who decides about that one."""

    browser: str
    may_look: Callable[[], bool]
    files: OrderedDict[str, Callable[[], bool]] = field(default_factory=OrderedDict)


class Offered:
    """What the pages of a server offer. Safe to use from several threads.

    A browser asks for a file when the page may be past it: drawn anew, in parts, or given up half drawn. So what a page has once offered stays
    its to fetch; how long the file is there is Streamlit's to say.

    Args:
        files_of_pages: Gives the files that each page offers at the moment, by the ids of the pages.
    """

    def __init__(self, files_of_pages: Callable[[], Mapping[str, frozenset[str]]]) -> None:
        self._files_of_pages = files_of_pages
        self._pages: OrderedDict[str, BrowserPage] = OrderedDict()
        self._lock = Lock()

    def begin(self, page_id: str, browser: str, may_look: Callable[[], bool]) -> None:
        """Note that a page is being drawn, for a browser that may look at it while `may_look` says so."""
        with self._lock:
            before = self._pages.pop(page_id, None)
            page = BrowserPage(browser, may_look)
            if before is not None and before.browser == browser:
                page.files = before.files
            self._pages[page_id] = page
            while len(self._pages) > MOST_PAGES:
                self._pages.popitem(last=False)

    def note(self, page_id: str) -> None:
        """Note what a page, or a part of it, offers now that it has been drawn."""
        files = self._files_of_pages().get(page_id, frozenset())
        with self._lock:
            if page := self._pages.get(page_id):
                for file in files:
                    page.files[file] = page.may_look
                    page.files.move_to_end(file)
                while len(page.files) > MOST_FILES:
                    page.files.popitem(last=False)

    def note_made(self, page_id: str, make: Callable[[], str]) -> str:
        """Make a file that a page has offered to make on a click; return its address, where the page may still be seen.

        Raises:
            PermissionError: It may not any more.
        """
        with self._lock:
            page = self._pages.get(page_id)
        if page is None or not page.may_look():
            raise PermissionError("the page is no longer accessible")
        address = make()
        with self._lock:
            file = _file_id(address)
            page.files[file] = page.may_look
            page.files.move_to_end(file)
        return address

    def may_fetch(self, file_id: str, browser: str) -> bool:
        """Return whether a browser may fetch a file; where that is shared, it is asked whether it still is."""
        now = self._files_of_pages()
        with self._lock:
            deciding = [
                page.may_look if file_id in now.get(page_id, ()) else page.files[file_id]
                for page_id, page in self._pages.items()
                if page.browser == browser and (file_id in page.files or file_id in now.get(page_id, ()))
            ]
        return any(may_look() for may_look in deciding)


def _files_of_pages() -> Mapping[str, frozenset[str]]:
    """Ask Streamlit for the files of each of its pages: it keeps them to know when nobody needs one any more, and shows them to nobody."""
    if not runtime.exists():
        return {}
    manager: Any = runtime.get_instance().media_file_mgr
    with manager._lock:  # noqa: SLF001 - as above; tests/app/server/test_page_access.py fetches a file of a real server
        pages: dict[str, dict[str, str]] = manager._files_by_session_and_coord  # noqa: SLF001 - as above
        return {page: frozenset(files.values()) for page, files in pages.items()}


OFFERED = Offered(_files_of_pages)
"""What the pages of this server offer."""


def follow_deferred(offered: Offered = OFFERED) -> None:
    """Note from now on which files a click on a page makes: Streamlit counts those among the files of no page."""
    if not runtime.exists():
        return
    manager: Any = runtime.get_instance().media_file_mgr
    make: Callable[[str], str] = manager.execute_deferred

    def noted(file_id: str) -> str:
        entry = manager._deferred_callables.get(file_id)  # noqa: SLF001 - as above
        if entry is None:
            return make(file_id)  # raises as it does for any file that it does not know
        return offered.note_made(entry["session_id"], functools.partial(make, file_id))

    manager.execute_deferred = noted


class GuardedMedia:
    """ASGI middleware that gives a file to the browsers that may fetch it; to others there is none."""

    def __init__(self, app: ASGIApp, offered: Offered = OFFERED) -> None:
        self._app, self._offered = app, offered

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        file_id = (
            _file_id(scope["path"]) if scope["type"] == "http" and scope["method"] in {"GET", "HEAD"} else ""
        )
        if file_id:
            browser = HTTPConnection(scope).cookies.get(COOKIE, "")
            if not await asyncio.to_thread(self._offered.may_fetch, file_id, browser):
                await PlainTextResponse("File not found", 404)(scope, receive, send)
                return
        await self._app(scope, receive, send)


def _file_id(path: str) -> str:
    """Return the id of the file that a path names; empty where it names none. The folder may be below the server's base path."""
    *folders, name = path.split("/")
    file_id = name.partition(".")[0]
    if folders[-2:] == _OF_STREAMLIT and not _DIGEST.fullmatch(file_id):
        return ""
    return file_id if folders[-1:] == [_FOLDER] else ""
