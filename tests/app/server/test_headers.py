"""Every response carries headers that keep the page to itself, and what a file is called ends no page."""

from __future__ import annotations

import asyncio
import base64
import hashlib
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from starlette.types import Message, Receive, Scope, Send

from app.server.security_headers import (
    UploadNames,
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


_HEAD = (
    b'--edge\r\nContent-Disposition: form-data; name="file"; filename="a\x00b.json"\r\n'
    b"Content-Type: application/json\r\n\r\n"
)
_CONTENT = b"one\x00two\r\n\r\nthree\x00\r\n--edge--\r\n"
_UPLOAD = {"type": "http", "method": "PUT", "path": "/_stcore/upload_file/page/file"}


@given(st.lists(st.integers(0, len(_HEAD + _CONTENT)), max_size=6))
def test_only_the_name_is_changed_however_the_body_comes(cuts: list[int]) -> None:
    """Each byte of the content arrives as it was sent, and the whole is as long as it was."""
    body = _HEAD + _CONTENT
    places = [0, *sorted(cuts), len(body)]
    pieces = [body[start:end] for start, end in pairwise(places)]
    assert _received(_UPLOAD, pieces) == _HEAD.replace(b"\x00", b"_") + _CONTENT


def test_other_requests_stay_as_they_are() -> None:
    """Nothing but an upload is looked at."""
    for other in ({"method": "POST"}, {"path": "/other"}):
        assert _received({**_UPLOAD, **other}, [_HEAD]) == _HEAD


def _received(scope: Scope, pieces: list[bytes]) -> bytes:
    """Return the body as the application behind the middleware receives it."""
    waiting, found = list(pieces), b""

    async def receive() -> Message:
        return {"type": "http.request", "body": waiting.pop(0), "more_body": bool(waiting)}

    async def app(_scope: Scope, receive: Receive, _send: Send) -> None:
        nonlocal found
        for _ in pieces:
            found += (await receive())["body"]

    async def send(_message: Message) -> None:
        raise AssertionError

    asyncio.run(UploadNames(app)(scope, receive, send))
    return found
