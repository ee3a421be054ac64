"""Says which hosts code may connect to, where nothing real is to be reached."""

from __future__ import annotations

import functools
import ipaddress
import socket
from collections.abc import Awaitable, Callable, Iterable
from contextvars import ContextVar
from typing import Any

from simulator.runtime.adk.turn_context import WATCH

LISTING: ContextVar[bool] = ContextVar("simulation_listing_tools", default=False)
"""A tool set is asked which tools it has; that runs none of them, and may need its server."""


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
    """

    def __init__(self, hosts: Iterable[str]) -> None:
        self._hosts = {host.lower() for host in hosts}

    def check(self, host: Any) -> bool:
        """Let a host be looked up or connected to; return whether it was named.

        Raises:
            OutgoingConnectionError: It may not.
        """
        if LISTING.get() or not host:
            return False
        name = host.decode("ascii", "replace") if isinstance(host, bytes) else str(host)
        if name.lower() in self._hosts:
            return True
        if not _is_here(name):
            raise OutgoingConnectionError(name)
        return False

    def resolved(self, found: Iterable[Any]) -> None:
        """Let the addresses of a host be connected to, as `getaddrinfo` gives them."""
        self._hosts.update(str(each[4][0]) for each in found)


def _is_here(host: str) -> bool:
    if host.lower() == "localhost" or host.lower().endswith(".localhost"):
        return True
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified


def _allowed() -> AllowedHosts | None:
    return getattr(WATCH.get(), "connections", None)


def watched_connect(connect: Callable[..., Any]) -> Callable[..., Any]:
    """Let a socket connect where it may; for `socket.socket.connect` and `connect_ex`."""

    @functools.wraps(connect)
    def connected(self: socket.socket, address: Any, /) -> Any:
        allowed = _allowed()
        if allowed is not None and self.family in {socket.AF_INET, socket.AF_INET6}:
            allowed.check(address[0])
        return connect(self, address)

    return connected


def watched_lookup(getaddrinfo: Callable[..., Any]) -> Callable[..., Any]:
    """Let a host be looked up that may be connected to; so an error has its name, and not its address."""

    @functools.wraps(getaddrinfo)
    def looked_up(host: Any, *args: Any, **given: Any) -> Any:
        allowed = _allowed()
        is_named = allowed is not None and allowed.check(host)
        found = getaddrinfo(host, *args, **given)
        if allowed is not None and is_named:
            allowed.resolved(found)
        return found

    return looked_up


def listed(get_tools: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    """Let a tool set ask its server which tools it has."""

    @functools.wraps(get_tools)
    async def tools(self: Any, *args: Any, **given: Any) -> Any:
        token = LISTING.set(True)
        try:
            return await get_tools(self, *args, **given)
        finally:
            LISTING.reset(token)

    return tools
