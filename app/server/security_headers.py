"""Sets the security headers of every response: nothing is loaded from, or sent to, anywhere else."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable
from pathlib import Path

import streamlit
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

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
