"""What a studio and its kernels say to each other: JSON, each message with its length before it.

The first message of a kernel says which version of these it speaks. `session` is the id under which both sides know a session.
"""

from __future__ import annotations

import json
import struct
import threading
from typing import Annotated, BinaryIO, Literal, TypeAlias

from pydantic import Field, JsonValue, TypeAdapter

from simulator.base.frozen_value import Value

VERSION = 1

JsonObject: TypeAlias = dict[str, JsonValue]
"""Here a text may hold half a surrogate pair, which a model may say and JSON can write."""
_LENGTH = struct.Struct(">I")
MOST_BYTES = 1 << 30


class ProtocolError(ValueError):
    """What came is none of these messages; the text says why."""


class KernelReady(Value):
    """A kernel's first message: the version of the messages, its process, its Python and its ADK (empty where there is none)."""

    kind: Literal["ready"] = "ready"
    version: int
    process: int
    python: str
    adk: str


class KernelCall(Value):
    """The studio's request to a kernel: the name of what is asked for, and its arguments by name."""

    kind: Literal["call"] = "call"
    number: int
    session: str = ""
    name: str
    arguments: JsonObject = Field(default_factory=dict)


class KernelReply(Value):
    """The reply to the call with this number: what it gives, or why it could not be done."""

    kind: Literal["reply"] = "reply"
    number: int
    value: JsonValue = None
    error: JsonObject | None = None


class Appended(Value):
    """A fact has been appended to a session's journal, after the fact `parent`."""

    kind: Literal["appended"] = "appended"
    session: str
    parent: int
    fact: JsonObject


class HeadMoved(Value):
    """The head of a session's journal has been moved to a fact."""

    kind: Literal["head_moved"] = "head_moved"
    session: str
    head: int


class Keep(Value):
    """A kernel asks to be told once all that it has appended is durable, before it lets something real run."""

    kind: Literal["keep"] = "keep"
    session: str
    number: int


class KeepReply(Value):
    """The studio's reply to a `Keep`; `problem` says why it is not durable."""

    kind: Literal["kept"] = "kept"
    number: int
    problem: str = ""


class SessionDisplay(Value):
    """The display of a session: what the page shows beside its facts, as far as it has changed.

    Attributes:
        session: The session.
        version: Grows with every change.
        order: The keys of all requests that wait for a person, the oldest first.
        requests: Those of them that are new or have changed; fields in `later` are made when they are asked for.
        later: The names of those fields, by the request's key.
        running: What is at work, as `RunningCall`s.
        busy: Whether something will happen by itself.
        problems: Words for the person.
        divergence: Where a re-execution left the recorded way.
        user: The user's seat, as a `UserView`.
        turn: The turn in progress, or -1.
        first_event: The place in the turn of the first of `events`.
        events: ADK's events of the turn since the last message.
    """

    kind: Literal["shown"] = "shown"
    session: str
    version: int
    order: tuple[str, ...] = ()
    requests: tuple[JsonObject, ...] = ()
    later: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    running: tuple[JsonObject, ...] = ()
    busy: bool = False
    problems: tuple[str, ...] = ()
    divergence: JsonObject | None = None
    user: JsonObject = Field(default_factory=dict)
    turn: int = -1
    first_event: int = 0
    events: tuple[JsonObject, ...] = ()


Message: TypeAlias = Annotated[
    KernelReady | KernelCall | KernelReply | Appended | HeadMoved | Keep | KeepReply | SessionDisplay,
    Field(discriminator="kind"),
]
_MESSAGE: TypeAdapter[Message] = TypeAdapter(Message)
_written, _read = json.JSONEncoder(separators=(",", ":")).encode, json.JSONDecoder().decode
"""Held from the beginning: an agent's code may put something else in the place of `json.dumps`, and its session has to be stopped all the same."""


class Channel:
    """Two streams of bytes, for messages one way and the other. Any thread may send; one reads."""

    def __init__(self, incoming: BinaryIO, outgoing: BinaryIO) -> None:
        self._incoming, self._outgoing = incoming, outgoing
        self._sending = threading.Lock()

    def send(self, message: Message) -> None:
        """Send a message.

        Raises:
            OSError: The other side is not there any more.
        """
        # Not by pydantic, which writes no half of a surrogate pair; a model may say one.
        body = _written(message.model_dump()).encode()
        with self._sending:
            try:
                self._outgoing.write(_LENGTH.pack(len(body)) + body)
                self._outgoing.flush()
            except ValueError as error:  # it was closed meanwhile, as the other side has ended
                raise BrokenPipeError(str(error)) from error

    def receive(self) -> Message | None:
        """Wait for the next message; None once the other side has ended.

        Raises:
            ProtocolError: What came is no message.
        """
        head = self._incoming.read(_LENGTH.size)
        if len(head) < _LENGTH.size:
            return None
        (length,) = _LENGTH.unpack(head)
        if length > MOST_BYTES:
            raise ProtocolError(f"a message has {length} bytes; the limit is {MOST_BYTES}")
        body = self._incoming.read(length)
        if len(body) < length:
            return None
        try:
            return _MESSAGE.validate_python(_read(body.decode()))
        except ValueError as error:
            raise ProtocolError(f"not a message of version {VERSION}: {error}") from error

    def close_outgoing(self) -> None:
        """Say that nothing comes any more."""
        _closed(self._outgoing)

    def close(self) -> None:
        """Close both streams; for the thread that reads, as nobody else may close what it reads from."""
        _closed(self._outgoing)
        _closed(self._incoming)


def _closed(stream: BinaryIO) -> None:
    try:
        stream.close()
    except OSError:  # what was not sent has nobody to read it
        return
