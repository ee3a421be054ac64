"""Small files of the page are sent without delay."""

from __future__ import annotations

import socket
from unittest.mock import Mock

import psutil
import pytest

from app.server.listening_sockets import send_small_packets_at_once


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
