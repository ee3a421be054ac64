"""Leads somebody who had to log in first to the session whose address they came with."""

from __future__ import annotations

import re
from collections.abc import Callable
from http.cookies import SimpleCookie
from urllib.parse import parse_qsl, urlencode

import streamlit as st
from starlette.datastructures import MutableHeaders
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

COOKIE = "golden_trace_wanted"
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
            wanted = _wanted(asked.cookies.get(COOKIE, "").replace("~", "&"))
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
    morsel = SimpleCookie({COOKIE: value})[COOKIE]
    morsel["path"] = "/"
    morsel["max-age"] = seconds
    morsel["httponly"] = True
    morsel["samesite"] = "Lax"
    return morsel.OutputString()
