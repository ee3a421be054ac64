"""Makes the link that the server prints at its start: the one who opens it counts as the person of this machine.

It is for who is that person and does not look like it from here: behind a proxy, at a port that is forwarded to another name, with a
browser that sends no Origin. The token in the link is accepted once, and is exchanged for a cookie before any page is drawn, so that
it stays in no address bar, history, log or referrer. A link that was used is worth nothing; the terminal shows the next one.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from http.cookies import SimpleCookie
from typing import TypeAlias
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import Headers
from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

NAME = "token"
"""Names the token in the address."""

COOKIE = "golden_trace_local"
"""Holds the pass of who has opened the link; the server's port follows, as browsers send a cookie to every port of a host."""

_BYTES = 32
_SPENT = "This link is not valid. Each link works once, until the server stops. The server's terminal shows a new one.\n"

Tell: TypeAlias = Callable[[str], None]


class AccessLink:
    """The link of one server. Closed until it is told where the server listens; then it admits who has opened it."""

    def __init__(self) -> None:
        self._token, self._pass = "", ""
        self._url, self._cookie = "", COOKIE
        self._tell: Tell = print

    def open(self, url: str, port: int, tell: Tell) -> None:
        """Make a new link to the page at `url`, and tell it."""
        self._url, self._cookie, self._tell = url, f"{COOKIE}_{port}", tell
        self._pass = secrets.token_urlsafe(_BYTES)
        self._renew(
            "If the page does not show your sessions (behind a proxy, or with a port forwarded to another name), "
            "open this link. It works once:"
        )

    def close(self) -> None:
        """Admit nobody any more."""
        self._token, self._pass = "", ""

    @property
    def is_open(self) -> bool:
        """Whether there is a link."""
        return bool(self._token)

    def admits(self, cookies: Mapping[str, str]) -> bool:
        """Return whether these are the cookies of somebody who has opened the link."""
        return self.is_open and _same(cookies.get(self._cookie, ""), self._pass)

    def spend(self, token: str) -> bool:
        """Take a token in; False where it is not the one in the link, or was used before."""
        if not self.is_open or not _same(token, self._token):
            return False
        self._renew("The link was used. To use another browser, open this one:")
        return True

    def cookie(self, *, is_secure: bool) -> str:
        """Write the cookie of who has opened the link. It ends with the browser, and is worth nothing when the server has ended."""
        morsel = SimpleCookie({self._cookie: self._pass})[self._cookie]
        morsel["path"] = "/"
        morsel["httponly"] = True
        morsel["samesite"] = "Strict"
        morsel["secure"] = is_secure
        return morsel.OutputString()

    def _renew(self, words: str) -> None:
        self._token = secrets.token_urlsafe(_BYTES)
        self._tell(f"  {words}\n  {self._url}?{NAME}={self._token}\n")


ACCESS = AccessLink()
"""The link of this server."""


class AccessLinks:
    """ASGI middleware that exchanges the token of the link for the cookie, and leads to the page without it."""

    def __init__(self, app: ASGIApp, link: AccessLink = ACCESS) -> None:
        self._app, self._link = app, link

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request; what has no token in its address passes through unchanged."""
        answer = self._answer(scope) if scope["type"] == "http" and scope["method"] == "GET" else None
        await (answer or self._app)(scope, receive, send)

    def _answer(self, scope: Scope) -> Response | None:
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        tokens = [value for name, value in query if name == NAME]
        if not tokens or not self._link.is_open or "text/html" not in Headers(scope=scope).get("accept", ""):
            return None
        asked = HTTPConnection(scope)
        if not self._link.admits(asked.cookies) and not self._link.spend(tokens[0]):
            return PlainTextResponse(_SPENT, 403, {"Cache-Control": "no-store"})
        rest = urlencode([(name, value) for name, value in query if name != NAME])
        # Relative to the page's own path, which a proxy may have shortened, and which an attacker may have written.
        answer = Response(status_code=303, headers={"Location": f"?{rest}", "Cache-Control": "no-store"})
        is_secure = "https" in {asked.url.scheme, asked.headers.get("x-forwarded-proto")}
        answer.headers.append("Set-Cookie", self._link.cookie(is_secure=is_secure))
        return answer


def _same(given: str, wanted: str) -> bool:
    """Compare in constant time; texts of any kind, as they come from outside."""
    return bool(wanted) and secrets.compare_digest(given.encode("utf-8", "replace"), wanted.encode())
