"""Says who is at the page in this run: whom Streamlit knows, or the one who opened the server's link; and leads back who had to log in first.

It is for who is that person and does not look like it from here: behind a proxy, at a port that is forwarded to another name, with a
browser that sends no Origin. The token in the link is accepted once, and is exchanged for a cookie before any page is drawn, so that
it stays in no address bar, history, log or referrer. A link that was used is worth nothing; the terminal shows the next one.
"""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Callable, Mapping
from http.cookies import SimpleCookie
from typing import TypeAlias
from urllib.parse import parse_qsl, urlencode

import streamlit as st
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.server.owners import ANY, Arrival, NobodyError, Visitor, chosen_people, is_loopback, visitor_of

NAME = "token"
"""Names the token in the address."""

LOCAL_COOKIE = "golden_trace_local"
"""Holds the pass of who has opened the link; the server's port follows, as browsers send a cookie to every port of a host."""

_BYTES = 32
_SPENT = "This link is not valid. Each link works once, until the server stops. The server's terminal shows a new one.\n"

Tell: TypeAlias = Callable[[str], None]


class AccessLink:
    """The link of one server. Closed until it is told where the server listens; then it admits who has opened it."""

    def __init__(self) -> None:
        self._token, self._pass = "", ""
        self._url, self._cookie = "", LOCAL_COOKIE
        self._tell: Tell = print

    def open(self, url: str, port: int, tell: Tell) -> None:
        """Make a new link to the page at `url`, and tell it."""
        self._url, self._cookie, self._tell = url, f"{LOCAL_COOKIE}_{port}", tell
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


RETURN_COOKIE = "golden_trace_wanted"
"""Holds what of the address named a session, while somebody logs in."""

KEPT_SECONDS = 600
_CALLBACK = "/oauth2callback"
_NAMES = frozenset({"session", "shared", "view"})
_WORD = re.compile(r"[A-Za-z0-9_-]{1,200}")


def has_login() -> bool:
    """Return whether a login is configured in the secrets of the server."""
    return st.secrets.load_if_toml_exists() and "auth" in st.secrets


class LoginReturn:
    """ASGI middleware that keeps the wanted address in a cookie, and takes it up when the identity provider sends people back."""

    def __init__(self, app: ASGIApp, login: Callable[[], bool] = has_login) -> None:
        self._app, self._login = app, login

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        changed = self._changed(scope) if scope["type"] == "http" and scope["method"] == "GET" else None
        if changed is None:
            await self._app(scope, receive, send)
            return

        async def send_changed(message: Message) -> None:
            if message["type"] == "http.response.start":
                changed(MutableHeaders(scope=message))
            await send(message)

        await self._app(scope, receive, send_changed)

    def _changed(self, scope: Scope) -> Callable[[MutableHeaders], None] | None:
        """Return what the answer's headers get more; nothing for most requests."""
        asked = HTTPConnection(scope)
        if asked.url.path.endswith(_CALLBACK):
            wanted = _wanted(asked.cookies.get(RETURN_COOKIE, "").replace("~", "&"))
            return (lambda headers: _lead(headers, wanted)) if wanted else None
        wanted = _wanted(asked.url.query)
        if not wanted or "text/html" not in asked.headers.get("accept", "") or not self._login():
            return None
        return lambda headers: headers.append("Set-Cookie", _cookie(wanted.replace("&", "~"), KEPT_SECONDS))


def _wanted(query: str) -> str:
    """Return the part of a query that names a session, and nothing else: anyone may have written it."""
    named = {name: value for name, value in parse_qsl(query) if name in _NAMES and _WORD.fullmatch(value)}
    return urlencode(named) if named.keys() & {"session", "shared"} else ""


def _lead(headers: MutableHeaders, wanted: str) -> None:
    """Let a redirection to the start page lead on to what was wanted."""
    there = headers.get("location")
    if there is not None and "?" not in there:
        headers["location"] = f"{there}?{wanted}"
        headers.append("Set-Cookie", _cookie("", 0))


def _cookie(value: str, seconds: int) -> str:
    morsel = SimpleCookie({RETURN_COOKIE: value})[RETURN_COOKIE]
    morsel["path"] = "/"
    morsel["max-age"] = seconds
    morsel["httponly"] = True
    morsel["samesite"] = "Lax"
    return morsel.OutputString()


_LOGGED_IN = "is_logged_in"
"""Streamlit says so, or that they are not, exactly where a login is configured."""


def visitor() -> Visitor:
    """Return who is at the page.

    Raises:
        app.server.owners.NotLoggedInError: They have to log in first.
        app.server.owners.NobodyError: It cannot be told who they are.
    """
    return visitor_of(_arrival(), chosen_people(os.environ))


def providers() -> tuple[str, ...]:
    """Return the identity providers of the login, by the names of their sections; an empty name for one without.

    There are none where no login is configured.
    """
    if _LOGGED_IN not in st.user:
        return ()
    section = st.secrets.get("auth", {})
    named = tuple(
        str(name) for name, each in section.items() if isinstance(each, Mapping) and "client_id" in each
    )
    return ("", *named) if "client_id" in section else named


def is_logged_in() -> bool:
    """Return whether someone is logged in."""
    return st.user.to_dict().get(_LOGGED_IN) is True


def allowed_origins() -> frozenset[str]:
    """Return the pages of other addresses that the server's configuration lets in."""
    if not st.get_option("server.enableCORS"):
        return frozenset({ANY})
    named = {str(origin).strip() for origin in st.get_option("server.corsAllowedOrigins") or ()}
    return frozenset(named | {str(st.get_option("browser.serverAddress") or "")} - {"", "localhost"})


def open_link() -> None:
    """Print the link for who has started the server, where it serves this machine alone and nothing else says who is who."""
    try:
        is_said = chosen_people(os.environ) is not None
    except NobodyError:  # each page says what is wrong
        return
    if is_said or has_login() or not is_loopback(str(st.get_option("server.address") or "")):
        return
    port, base = int(st.get_option("server.port")), str(st.get_option("server.baseUrlPath") or "").strip("/")
    scheme = "https" if st.get_option("server.sslCertFile") else "http"
    ACCESS.open(f"{scheme}://localhost:{port}/{base}{'/' if base else ''}", port, _tell)


def _tell(text: str) -> None:
    print(text, flush=True)  # noqa: T201 - the terminal is where the person who has started the server looks


def _arrival() -> Arrival:
    user = st.user.to_dict()
    headers, cookies = st.context.headers, st.context.cookies.to_dict()
    return Arrival(
        address=str(st.get_option("server.address") or ""),
        # Two headers of one name are no header that could be believed.
        headers={name.lower(): ", ".join(headers.get_all(name)) for name in headers},
        cookies=cookies,
        user=dict(user) if _LOGGED_IN in user else None,
        has_opened_link=ACCESS.admits(cookies),
        allowed_origins=allowed_origins(),
    )
