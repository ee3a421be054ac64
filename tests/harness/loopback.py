"""A server on a loopback port that speaks as model providers do, in an order that a test writes down."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

PATIENCE = 120.0
"""Seconds after which a reply that hangs lets its connection go."""


@dataclass(frozen=True)
class Reply:
    """One answer: a JSON body, or several of them as a stream of server-sent events.

    A body of bytes is sent as it is. With `drops`, the connection ends in the middle of the body.
    """

    body: Any = None
    status: int = 200
    stream: tuple[Any, ...] = ()
    hangs: bool = False
    headers: tuple[tuple[str, str], ...] = ()
    drops: bool = False


@dataclass(frozen=True)
class Asked:
    """One request that arrived."""

    path: str
    headers: dict[str, str]
    body: Any


@dataclass
class Loopback:
    """The server: `asked` is what arrived so far, `replies` what is given next, in order."""

    url: str
    replies: list[Reply]
    asked: list[Asked] = field(default_factory=list)
    arrived: threading.Event = field(default_factory=threading.Event)
    let_go: threading.Event = field(default_factory=threading.Event)

    def next_reply(self, asked: Asked) -> Reply:
        """Take the request down and return its reply; 410 when there is none left."""
        self.asked.append(asked)
        self.arrived.set()
        place = len(self.asked) - 1
        return self.replies[place] if place < len(self.replies) else Reply({"error": "no reply is left"}, 410)


@contextmanager
def loopback(*replies: Reply) -> Iterator[Loopback]:
    """Serve these replies, in order, to whatever is asked."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            length = int(self.headers.get("content-length") or 0)
            body = json.loads(self.rfile.read(length) or b"null")
            asked = Asked(self.path, {key.lower(): value for key, value in self.headers.items()}, body)
            _send(self, served, served.next_reply(asked))

        do_GET = do_POST  # noqa: N815 - as above

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    served = Loopback(f"http://127.0.0.1:{server.server_port}", list(replies))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield served
    finally:
        served.let_go.set()
        server.shutdown()
        server.server_close()
        thread.join()


def _send(handler: BaseHTTPRequestHandler, served: Loopback, reply: Reply) -> None:
    if reply.hangs:
        served.let_go.wait(PATIENCE)
        handler.close_connection = True
        return
    events = b"".join(b"data: " + _bytes(chunk) + b"\r\n\r\n" for chunk in reply.stream)
    body = events or _bytes(reply.body)
    handler.send_response(reply.status)
    handler.send_header("content-type", "text/event-stream" if events else "application/json")
    handler.send_header("content-length", str(len(body)))
    # A client that keeps a connection open closes it when it is collected, and warns in whatever test runs by then.
    handler.send_header("connection", "close")
    for name, value in reply.headers:
        handler.send_header(name, value)
    handler.end_headers()
    if reply.drops:
        handler.wfile.write(body[: len(body) // 2])
        handler.close_connection = True
        return
    handler.wfile.write(body)


def _bytes(value: Any) -> bytes:
    if isinstance(value, bytes):
        return value
    return value.encode() if isinstance(value, str) else json.dumps(value).encode()


HANGS = Reply(hangs=True)
"""A reply that never comes."""


# ---------------------------------------------------------------- Gemini's words


def gemini(*parts: Any, finish: str = "STOP") -> Reply:
    """Answer `generateContent` with these parts, in Gemini's JSON."""
    return Reply(gemini_chunk(*parts, finish=finish))


def gemini_chunk(*parts: Any, finish: str | None = "STOP") -> Any:
    """Return one response of Gemini in JSON; a text stands for a part of text."""
    content = {
        "role": "model",
        "parts": [{"text": part} if isinstance(part, str) else part for part in parts],
    }
    candidate = {"content": content, "index": 0} | ({"finishReason": finish} if finish else {})
    usage = {"promptTokenCount": 5, "candidatesTokenCount": 3, "totalTokenCount": 8}
    return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "gemini-test"}


def gemini_call(name: str, **arguments: Any) -> Any:
    """Return a part that calls a function."""
    return {"functionCall": {"name": name, "args": arguments}}


# ---------------------------------------------------------------- OpenAI's words


def openai(text: str | None = None, calls: Iterable[tuple[str, str, Any]] = ()) -> Reply:
    """Answer a chat completion with a text, or with calls: each an id, a name and its arguments."""
    made = [
        {"id": call_id, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
        for call_id, name, arguments in calls
    ]
    message = {"role": "assistant", "content": text} | ({"tool_calls": made} if made else {})
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if made else "stop"}
    return Reply(
        {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1_700_000_000,
            "model": "m",
            "choices": [choice],
            "usage": {"prompt_tokens": 5, "completion_tokens": 3, "total_tokens": 8},
        }
    )


def openai_error(status: int, message: str) -> Reply:
    """Answer with an error of OpenAI's API."""
    return Reply({"error": {"message": message, "type": "error", "code": str(status)}}, status)
