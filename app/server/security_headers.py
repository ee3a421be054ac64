"""Sets what every connection and response needs: security headers, so that nothing is loaded from anywhere else, no delay, and file names that are safe.

By default the system holds a small packet back until the one before it is acknowledged, which a browser does up to 40 ms later
(Nagle's algorithm and delayed acknowledgements). asyncio turns that off for sockets of protocol TCP. Streamlit makes its socket
without naming a protocol, so each of the hundred small files of a first page took 43 ms on a connection. Now it takes 3.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import os
import re
import socket
from collections.abc import Iterable
from pathlib import Path

import psutil
import streamlit
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send


def send_small_packets_at_once() -> None:
    """Set TCP_NODELAY on the sockets on which this process listens; the connections that they accept inherit it.

    Where the system does not list them, all is as before.
    """
    with contextlib.suppress(psutil.Error, OSError):
        for connection in psutil.Process().net_connections("tcp"):
            if connection.status == psutil.CONN_LISTEN and connection.fd >= 0:
                with socket.socket(fileno=os.dup(connection.fd)) as listening:
                    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


_PATH = "/_stcore/upload_file/"
_END = b"\r\n\r\n"


class UploadNames:
    """ASGI middleware that puts `_` where the name of an uploaded file holds a null character; its content stays as it is."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        is_upload = scope["type"] == "http" and scope["method"] == "PUT" and _PATH in scope["path"]
        await self._app(scope, _named(receive) if is_upload else receive, send)


def _named(receive: Receive) -> Receive:
    """Return what is received, without null characters in the headers before the file."""
    is_head, seen = True, b""

    async def received() -> Message:
        nonlocal is_head, seen
        message = await receive()
        if is_head and (body := message.get("body", b"")):
            end = (seen + body).find(_END)
            size = len(body) if end < 0 else max(0, end - len(seen))
            message = {**message, "body": body[:size].replace(b"\x00", b"_") + body[size:]}
            is_head, seen = end < 0, (seen + body)[-len(_END) + 1 :]
        return message

    return received


_INLINE_SCRIPT = re.compile(r"<script(?![^>]*\bsrc=)[^>]*>(.*?)</script>", re.DOTALL)


def script_hashes(page: str) -> tuple[str, ...]:
    """Return the Content-Security-Policy source of each inline script of an HTML page."""
    digests = (hashlib.sha256(body.encode()).digest() for body in _INLINE_SCRIPT.findall(page))
    return tuple(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)


def content_security_policy(hashes: Iterable[str]) -> str:
    """Write the policy: own files and the given inline scripts only, no foreign host, no foreign frame."""
    return "; ".join(
        (
            "default-src 'self'",
            # Graphs are laid out by WebAssembly of Streamlit's own; the word allows that, and no eval of scripts.
            " ".join(("script-src 'self' blob: 'wasm-unsafe-eval'", *hashes)),
            "style-src 'self' 'unsafe-inline'",
            "img-src 'self' data: blob:",
            "font-src 'self' data:",
            "connect-src 'self' data: blob:",
            "media-src 'self' data: blob:",
            "worker-src 'self' blob:",
            "frame-src 'self' blob:",
            "object-src 'none'",
            "base-uri 'self'",
            "form-action 'self'",
            "frame-ancestors 'self'",
        )
    )


def streamlit_page() -> str:
    """Read the HTML page that the installed Streamlit serves."""
    return (Path(streamlit.__file__).parent / "static" / "index.html").read_text(encoding="utf-8")


def security_headers() -> dict[str, str]:
    """Return all headers, with the hashes of the scripts of the installed Streamlit.

    The address of a page holds its session's id, so it is never passed on as a referrer.
    """
    return {
        "Content-Security-Policy": content_security_policy(script_hashes(streamlit_page())),
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "SAMEORIGIN",
        "Referrer-Policy": "no-referrer",
        "Cross-Origin-Opener-Policy": "same-origin",
        # Nor is anything of ours put into a page of another address, as a picture or a script may be without asking.
        "Cross-Origin-Resource-Policy": "same-origin",
        "Permissions-Policy": "camera=(), microphone=(), geolocation=(), payment=(), usb=()",
    }


class SecurityHeaders:
    """ASGI middleware that adds the headers to each HTTP response, the errors included."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._headers = security_headers()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request; other kinds than HTTP pass through unchanged."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in self._headers.items():
                    headers[name] = value
            await send(message)

        await self._app(scope, receive, send_with_headers)
