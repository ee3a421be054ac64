"""Every response carries headers that keep the page to itself."""

from __future__ import annotations

import asyncio
import base64
import hashlib
from typing import Any

from starlette.types import Message, Receive, Scope, Send

from app.server.security_headers import (
    SecurityHeaders,
    content_security_policy,
    script_hashes,
    streamlit_page,
)


def test_the_hash_is_that_of_the_script_text() -> None:
    """Only inline scripts are hashed, each over exactly the text between its tags."""
    page = '<script>\n a = 1\n</script><script src="./x.js"></script><script type="module">b()</script>'
    expected = [base64.b64encode(hashlib.sha256(body).digest()).decode() for body in (b"\n a = 1\n", b"b()")]
    assert script_hashes(page) == tuple(f"'sha256-{digest}'" for digest in expected)


def test_the_installed_page_has_scripts_to_allow() -> None:
    """The page of the installed Streamlit is found, and each of its inline scripts is allowed by name."""
    hashes = script_hashes(streamlit_page())
    policy = content_security_policy(hashes)
    assert hashes
    assert all(source in policy for source in hashes)


def test_the_policy_names_no_foreign_host() -> None:
    """Nothing may be loaded from or sent to another host, and no script may be injected into the page."""
    policy = content_security_policy(("'sha256-x'",))
    scripts = next(part for part in policy.split("; ") if part.startswith("script-src"))
    assert "http" not in policy
    assert "*" not in policy
    # WebAssembly may be compiled, for graphs; no script may be, and none may stand in the page.
    assert "unsafe" not in scripts.replace("'wasm-unsafe-eval'", "")
    assert "frame-ancestors 'self'" in policy


def test_an_error_carries_the_headers_too() -> None:
    """The middleware adds its headers to whatever the app inside answers, and passes a WebSocket's messages on unchanged.

    With them no page of another address, also of another port, embeds anything of ours.
    """
    sent = respond_through_middleware({"type": "http"}, status=500)
    headers = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    assert {"content-security-policy", "x-content-type-options", "referrer-policy"} <= headers.keys()
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert sent[0]["status"] == 500
    sent = respond_through_middleware({"type": "websocket"}, status=101)
    assert sent == [{"type": "http.response.start", "status": 101, "headers": []}]


def respond_through_middleware(scope: Scope, status: int) -> list[Message]:
    """Send one response of an inner app through the middleware."""
    sent: list[Message] = []

    async def inner(_scope: Scope, _receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": status, "headers": []})

    async def receive() -> Message:
        return {"type": "http.request"}

    async def send(message: Any) -> None:
        sent.append(message)

    asyncio.run(SecurityHeaders(inner)(scope, receive, send))
    return sent
