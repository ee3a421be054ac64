"""Marks connections that a program of another user of this machine has made: another person, or a proxy that runs under its own name."""

from __future__ import annotations

import os
import struct
import sys
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path

from starlette.types import ASGIApp, Receive, Scope, Send

MARK = "x-golden-trace-other-user"
"""The header with the mark. Who sends it themselves only loses by it."""

_ROOT = 0
_TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
_CLIENT, _SERVER, _USER = 1, 2, 7


class MarkedPeers:
    """ASGI middleware that marks each WebSocket which another user's program has opened; Linux alone says whose it is."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection."""
        if (
            scope["type"] == "websocket"
            and sys.platform == "linux"
            and is_another(_user_of(scope), os.getuid())
        ):
            scope = {**scope, "headers": [*scope["headers"], (MARK.encode(), b"1")]}
        await self._app(scope, receive, send)


def is_another(peer: int | None, own: int) -> bool:
    """Return whether a connection is another user's. Root relays connections of others, as into a container, and may do all anyway."""
    return peer is not None and peer != own and _ROOT not in {peer, own}


def _user_of(scope: Scope) -> int | None:
    client, server = scope.get("client"), scope.get("server")
    if not client or not server:
        return None
    try:
        ends = _written(client[0], client[1]), _written(server[0], server[1])
        return next(
            (found for table in _TABLES if (found := user_in(table.read_text(), *ends)) is not None), None
        )
    except (OSError, ValueError, TypeError):  # no such table, or no address: a socket file, a test
        return None


def user_in(table: str, client: str, server: str) -> int | None:
    """Return the user of the connection between two ends, as the kernel's table writes them; None where it is not in it."""
    for line in table.splitlines()[1:]:
        fields = line.split()
        if len(fields) > _USER and (fields[_CLIENT], fields[_SERVER]) == (client, server):
            return int(fields[_USER])
    return None


def _written(host: str, port: int) -> str:
    """Write an end as the kernel's table does: words of 32 bits in the machine's own order."""
    address: IPv4Address | IPv6Address = ip_address(host)
    words = struct.unpack(f"={len(address.packed) // 4}I", address.packed)
    return f"{''.join(f'{word:08X}' for word in words)}:{port:04X}"
