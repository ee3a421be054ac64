"""A connection of another user's program is told from one's own by what the kernel says of it; small files of the page are sent without delay."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from pathlib import Path
from unittest.mock import Mock

import psutil
import pytest
from starlette.types import Message, Receive, Scope, Send

from app.server import local_peers
from app.server.local_peers import MARK, MarkedPeers, is_another, user_in
from app.server.security_headers import send_small_packets_at_once

_HEAD = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
_TABLE = (
    f"{_HEAD}   0: 0100007F:2135 0100007F:9C40 01 00000000:00000000 00:00000000 00000000  1000        0 1 1\n"
    "   1: 0100007F:9C40 0100007F:2135 01 00000000:00000000 00:00000000 00000000    33        0 2 1\n"
)


def test_the_clients_end_says_whose_it_is() -> None:
    """Not the server's own end of the same connection."""
    assert user_in(_TABLE, "0100007F:9C40", "0100007F:2135") == 33
    assert user_in(_TABLE, "0100007F:2135", "0100007F:9C40") == 1000
    assert user_in(_TABLE, "0100007F:9C41", "0100007F:2135") is None


@pytest.mark.parametrize(
    ("peer", "own", "other"),
    [(33, 1000, True), (1000, 1000, False), (0, 1000, False), (33, 0, False), (None, 1000, False)],
)
def test_root_is_nobodys_other_user(peer: int | None, own: int, other: bool) -> None:
    """It relays for others, as into a container; who cannot be told is not taken for another."""
    assert is_another(peer, own) is other


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not say whose a connection is")
@pytest.mark.parametrize(("family", "host"), [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")])
@pytest.mark.parametrize("other", [False, True])
def test_a_real_connection_is_found(
    family: socket.AddressFamily, host: str, other: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over both kinds of loopback. Patched, as a test has one user only: this process is said to be somebody else's."""
    monkeypatch.setattr(os, "getuid", lambda: os.geteuid() + (4242 if other else 0))
    monkeypatch.setattr(local_peers, "_ROOT", -1)
    seen: list[Scope] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await asyncio.sleep(0)
        seen.append(scope)

    async def receive() -> Message:
        return await asyncio.sleep(0, {})

    async def send(_: Message) -> None:
        await asyncio.sleep(0)

    with socket.create_server((host, 0), family=family) as listening, socket.socket(family) as client:
        client.connect(listening.getsockname())
        ends = {"client": client.getsockname()[:2], "server": listening.getsockname()[:2]}
        for kind in ("websocket", "http"):
            asyncio.run(MarkedPeers(app)({"type": kind, "headers": [], **ends}, receive, send))
    assert [dict(scope["headers"]) for scope in seen] == [{MARK.encode(): b"1"} if other else {}, {}]


def test_where_nothing_is_said_nobody_is_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A socket file has no address, and another system no table. Patched, to be such a system."""
    assert local_peers._user_of({"client": None, "server": ("127.0.0.1", 1)}) is None
    assert local_peers._user_of({"client": ("testclient", 50000), "server": ("testserver", 80)}) is None
    monkeypatch.setattr(local_peers, "_TABLES", (Path("/no/such/table"),))
    assert local_peers._user_of({"client": ("127.0.0.1", 1), "server": ("127.0.0.1", 2)}) is None


def test_a_connection_keeps_no_small_packet_back() -> None:
    """Neither the socket on which this process listens, nor what it accepts: files would take 40 ms each on a connection."""
    with socket.create_server(("127.0.0.1", 0)) as listening, socket.socket() as client:
        before = listening.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        send_small_packets_at_once()
        client.connect(listening.getsockname())
        accepted, _ = listening.accept()
        with accepted:
            assert not before
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_a_system_that_does_not_name_its_sockets_is_served_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Some containers hide their network's tables, and a quicker page is no reason not to have one."""
    for error in (FileNotFoundError("/proc/net/tcp"), psutil.AccessDenied()):
        hidden = Mock(side_effect=error)
        monkeypatch.setattr(psutil.Process, "net_connections", hidden)
        send_small_packets_at_once()
        assert hidden.called
