"""Knows what an agent's own code reaches outside of ADK's tools: the processes that it starts, the hosts that it connects to, and those to which it may.

A real tool, a model or an executor that someone chose to be real may do the same without a note, and so may a tool set that lists
its tools. Python tells nobody of processes that native code starts, as `multiprocessing` does unless it forks; what a forked process does
is told in that process alone, and a thread of `_thread` is nobody's. Plain functions cannot be noted.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import inspect
import ipaddress
import os
import shlex
import socket
import sys
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any

from simulator.base.secret_masking import error_words, without_secrets
from simulator.base.validation_words import shortened
from simulator.runtime.adk.private_network import private_network
from simulator.runtime.adk.turn_context import CURRENT_TURN, INSIDE_REAL_CALL, TOLD, WATCH

_LONGEST = 120


@cache
def watch_outside_work() -> None:
    """Watch this process from now on. An audit hook cannot be taken away, so there is one for all sessions."""
    sys.addaudithook(_hear)


def _hear(event: str, details: tuple[Any, ...]) -> None:
    words = _WORDS.get(event)
    if words is None:
        return
    turn, told = CURRENT_TURN.get(), TOLD.get()
    if not (turn or told) or INSIDE_REAL_CALL.get() or LISTING.get():
        return
    with contextlib.suppress(Exception):  # what is raised here would be raised in the agent's code
        if not (done := words(*details)):
            return
        note = f"The agent's code {done}. This was real, not a tool call."
        if turn is not None:
            turn.loop.call_soon_threadsafe(turn.note_problem, note)
        elif told is not None:
            told.told(note)


def _started(program: object, arguments: object, *_: object) -> str:
    """Return what `subprocess.Popen` and `os.posix_spawn` started; the one may use the other, with the same words."""
    if isinstance(arguments, (str, bytes, os.PathLike)) or not isinstance(arguments, Sequence):
        return _ran(arguments or program)
    return _ran(shlex.join(os.fsdecode(each) for each in arguments))


def _ran(command: Any) -> str:
    return f"started a process: {shortened(without_secrets(os.fsdecode(command)), _LONGEST)}"


def _spawned(_mode: object, program: object, arguments: object, *_: object) -> str:
    return _started(program, arguments)


def _forked(*_: object) -> str:
    return "forked its process"


def _connected(_socket: object, address: Any) -> str:
    return f"connected to {_written(address)}"


def _sent(_socket: object, address: Any) -> str:
    """Return where a datagram was sent; nothing of a connection, which was told of when it was made."""
    return "" if address is None else f"sent data to {_written(address)}"


def _written(address: Any) -> str:
    if isinstance(address, tuple):
        host, port, *_ = address
        return f"{f'[{host}]' if ':' in str(host) else host}:{port}"
    return f"{os.fsdecode(address)!r}"


_WORDS: dict[str, Callable[..., str]] = {
    "subprocess.Popen": _started,
    "os.posix_spawn": _started,
    "os.spawn": _spawned,
    "os.fork": _forked,
    "os.forkpty": _forked,
    "os.system": _ran,
    "socket.connect": _connected,
    "socket.sendto": _sent,
    "socket.sendmsg": _sent,
}
"""What is said of each audit event of Python's, https://docs.python.org/3/library/audit_events.html."""


LISTING: ContextVar[bool] = ContextVar("simulation_listing_tools", default=False)
"""A tool set is asked which tools it has; that runs none of them, and may need its server."""

LISTING_SECONDS = 10.0
"""So long a replay waits for the tools of a set."""

UNLISTED: ContextVar[Callable[[str, Any], list[Any] | None] | None] = ContextVar(
    "simulation_unlisted_tools", default=None
)
"""Is told, in a sentence, which tool set could not say which tools it has, and for whom; gives the tools that stand in for them, or None."""


class OutgoingConnectionError(ConnectionError):
    """Code wanted to connect to a host that is not allowed."""

    def __init__(self, host: str) -> None:
        self.host = host
        super().__init__(
            f"connection to {host} blocked: only this machine can be reached while models and tools are replayed. "
            "Add the host to `allow_hosts` if it is harmless"
        )


class AllowedHosts:
    """The hosts that may be connected to: this machine, and those that are named. Threads may use it at once.

    Args:
        hosts: Names and addresses.

    Attributes:
        refused: The hosts that were refused, each once, in the order of the first time.
    """

    def __init__(self, hosts: Iterable[str]) -> None:
        self._hosts = {host.lower() for host in hosts}
        self.refused: dict[str, None] = {}

    def check(self, host: Any) -> bool:
        """Let a host be looked up or connected to; return whether it was named.

        Raises:
            OutgoingConnectionError: It may not.
        """
        if LISTING.get() or not host:
            return False
        name = _text(host)
        if name.lower() in self._hosts:
            return True
        if not _is_here(name):
            self.refused[name] = None
            if (network := private_network()) is not None:
                network.note(name)
            raise OutgoingConnectionError(name)
        return False

    def resolved(self, found: Iterable[Any]) -> None:
        """Let the addresses of a host be connected to, as `getaddrinfo` gives them."""
        self._hosts.update(str(each[4][0]) for each in found)


def _text(host: Any) -> str:
    return host.decode("ascii", "replace") if isinstance(host, bytes) else str(host)


def _is_here(host: str) -> bool:
    if host.lower() == "localhost" or host.lower().endswith(".localhost"):
        return True
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified


_OF_PROCESS = AllowedHosts(())
"""For code that is under no watch, in a process with a network of its own."""


def _allowed() -> AllowedHosts | None:
    of_watch = getattr(WATCH.get(), "connections", None)
    return of_watch or (_OF_PROCESS if private_network() is not None else None)


def watched_connect(connect: Callable[..., Any]) -> Callable[..., Any]:
    """Let a socket connect where it may; for `socket.socket.connect` and `connect_ex`."""

    @functools.wraps(connect)
    def connected(self: socket.socket, address: Any, /) -> Any:
        allowed = _allowed()
        if allowed is not None and self.family in {socket.AF_INET, socket.AF_INET6}:
            allowed.check(address[0])
            if (network := private_network()) is not None:
                network.lead_out(self, address, is_here=_is_here(str(address[0])))
        return connect(self, address)

    return connected


_LOOKUP = inspect.signature(lambda host, port, family=0, type=0, proto=0, flags=0: None)  # noqa: ARG005, A006 - as `getaddrinfo` has it


def watched_lookup(getaddrinfo: Callable[..., Any]) -> Callable[..., Any]:
    """Let a host be looked up that may be connected to; so an error has its name, and not its address."""

    @functools.wraps(getaddrinfo)
    def looked_up(host: Any, *args: Any, **given: Any) -> Any:
        allowed = _allowed()
        is_named = allowed is not None and allowed.check(host)
        network = private_network()
        if network is not None and host and not _is_here(_text(host)):
            found: Any = network.lookup(*_LOOKUP.bind(host, *args, **given).args)
        else:
            found = getaddrinfo(host, *args, **given)
        if allowed is not None and is_named:
            allowed.resolved(found)
        return found

    return looked_up


@contextmanager
def asked_what_there_is() -> Iterator[None]:
    """Let servers be asked which tools or models they have: that runs none of them."""
    token = LISTING.set(True)
    try:
        yield
    finally:
        LISTING.reset(token)


def listed(get_tools: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    """Let a tool set ask its server which tools it has."""

    @functools.wraps(get_tools)
    async def tools(self: Any, *args: Any, **given: Any) -> Any:
        with asked_what_there_is():
            stand_ins = UNLISTED.get()
            try:
                if stand_ins is None:
                    return await get_tools(self, *args, **given)
                return await _in_time(get_tools(self, *args, **given))
            except Exception as error:  # ADK only logs it, and goes on without these tools
                context = next(iter((*args, *given.values())), None)
                if (
                    stand_ins is None
                    or (found := stand_ins(unlisted_words(type(self).__name__, error_words(error)), context))
                    is None
                ):
                    raise
                return found

    return tools


async def _in_time(listing: Awaitable[Any]) -> Any:
    try:
        async with asyncio.timeout(LISTING_SECONDS) as limit:
            return await listing
    except TimeoutError as error:
        if not limit.expired():
            raise
        raise TimeoutError(f"it took longer than {LISTING_SECONDS:g} s") from error


def unlisted_words(tool_set: str, error: str) -> str:
    """Say that a tool set could not say which tools it has, and why."""
    return f"the tools of {tool_set} could not be listed: {error}"
