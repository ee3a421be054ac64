"""What a file is called ends no page: a null character in the name of an upload is replaced before anybody reads it."""

from __future__ import annotations

import asyncio
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from starlette.types import Message, Receive, Scope, Send

from app.server.upload_names import UploadNames

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
