"""A reverse proxy on a loopback port that puts another name into `Host`, as nginx does where it is told nothing else."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress

_END = b"\r\n\r\n"
_CHUNK = 65536


@contextmanager
def rewriting_proxy(port: int, host: str = "", headers: Mapping[str, str] | None = None) -> Iterator[int]:
    """Pass connections on to a port of this machine; return the proxy's port.

    Args:
        port: Where the server listens.
        host: What stands in `Host` then; by default what the server calls itself.
        headers: What the proxy adds.
    """
    added = "".join(f"\r\n{name}: {value}" for name, value in (headers or {}).items())
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(
            target=_serve, args=(listening, port, host or f"localhost:{port}", added.encode()), daemon=True
        )
        thread.start()
        found: int = listening.getsockname()[1]
        try:
            yield found
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            thread.join()


def _serve(listening: socket.socket, port: int, host: str, added: bytes) -> None:
    passing: list[threading.Thread] = []
    with suppress(OSError):
        while True:
            client, _ = listening.accept()
            passing.append(threading.Thread(target=_pass_on, args=(client, port, host, added), daemon=True))
            passing[-1].start()
    for thread in passing:
        thread.join()


def _pass_on(client: socket.socket, port: int, host: str, added: bytes) -> None:
    with suppress(OSError), client, socket.create_connection(("127.0.0.1", port)) as server:
        head = b""
        while _END not in head:
            read = client.recv(_CHUNK)
            if not read:
                return
            head += read
        lines, rest = head.split(_END, 1)
        kept = [line for line in lines.split(b"\r\n") if not line.lower().startswith(b"host:")]
        server.sendall(b"\r\n".join([kept[0], f"Host: {host}".encode(), *kept[1:]]) + added + _END + rest)
        back = threading.Thread(target=_copy, args=(server, client), daemon=True)
        back.start()
        _copy(client, server)
        back.join()


def _copy(there: socket.socket, here: socket.socket) -> None:
    with suppress(OSError):
        while read := there.recv(_CHUNK):
            here.sendall(read)
    with suppress(OSError):
        here.shutdown(socket.SHUT_WR)
