"""Lets Streamlit take an upload whatever its name holds: a null character there would end each run of the page with a traceback."""

from __future__ import annotations

from starlette.types import ASGIApp, Message, Receive, Scope, Send

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
