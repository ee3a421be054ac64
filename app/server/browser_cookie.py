"""Gives each browser an id that nobody can guess, in a cookie that no script reads and no other site sends."""

from __future__ import annotations

import secrets
from http.cookies import SimpleCookie

from starlette.datastructures import MutableHeaders
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.server.owners import COOKIE, is_browser_id

KEPT_SECONDS = 400 * 24 * 60 * 60
"""For how long a browser keeps its id after it last loaded the page; browsers keep none for longer."""

_NEW_BYTES = 32
_SHOWN = frozenset({200, 304})


class BrowserIds:
    """ASGI middleware that hands the id over with the page itself, and once more with each load of it."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request; what is no page passes through unchanged."""
        if scope["type"] != "http" or scope["method"] != "GET":
            await self._app(scope, receive, send)
            return
        asked = HTTPConnection(scope)
        if "text/html" not in asked.headers.get("accept", ""):
            await self._app(scope, receive, send)
            return
        cookie = _cookie(asked)

        async def send_with_id(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] in _SHOWN:
                headers = MutableHeaders(scope=message)
                headers.append("Set-Cookie", cookie)
                # No cache between here and there may hand it to somebody else.
                headers["Cache-Control"] = "no-store"
            await send(message)

        await self._app(scope, receive, send_with_id)


def _cookie(asked: HTTPConnection) -> str:
    kept = asked.cookies.get(COOKIE, "")
    cookie: SimpleCookie = SimpleCookie(
        {COOKIE: kept if is_browser_id(kept) else secrets.token_urlsafe(_NEW_BYTES)}
    )
    morsel = cookie[COOKIE]
    morsel["path"] = "/"
    morsel["max-age"] = KEPT_SECONDS
    morsel["httponly"] = True
    # `Strict` would hide the id from us when a link elsewhere leads here, and the browser would get another one.
    morsel["samesite"] = "Lax"
    if asked.url.scheme == "https" or asked.headers.get("x-forwarded-proto") == "https":
        morsel["secure"] = True
    return morsel.OutputString()
