"""`streamlit run app` serves the page from the root of the repository, behind its headers."""

from __future__ import annotations

import http.client
import os
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter
from unittest.mock import Mock
from urllib.parse import urlsplit

import psutil
import pytest
import streamlit

from app.server.listening_sockets import send_small_packets_at_once

ROOT = Path(__file__).resolve().parents[3]
SECONDS = 60.0


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """The address of a studio that was started as a newcomer starts it; it ends by an interrupt, in order."""
    port = free_port()
    server = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "streamlit",
            "run",
            "app",
            "--server.port",
            str(port),
            "--server.headless=true",
        ],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    assert server.stdout is not None
    try:
        said = next(line for line in server.stdout if "URL:" in line)
        assert f"http://localhost:{port}" in said
        yield f"http://localhost:{port}"
    finally:
        server.send_signal(signal.SIGINT)
        rest, _ = server.communicate(timeout=SECONDS)
    assert "Traceback" not in rest


def headers_of(url: str) -> dict[str, str]:
    """Fetch a page and return its headers, of an error too."""
    try:
        with urllib.request.urlopen(url, timeout=SECONDS) as answer:  # noqa: S310 - a loopback address of our own
            return {name.lower(): value for name, value in answer.headers.items()}
    except urllib.error.HTTPError as error:
        return {name.lower(): value for name, value in error.headers.items()}


def test_the_server_answers(address: str) -> None:
    """The server is healthy, and only this machine can reach it."""
    with urllib.request.urlopen(f"{address}/_stcore/health", timeout=SECONDS) as answer:  # noqa: S310 - as above
        assert answer.read() == b"ok"


@pytest.mark.parametrize("path", ["/", "/_stcore/health", "/no/such/file.js"])
def test_every_answer_carries_the_headers(address: str, path: str) -> None:
    """Page, service and error alike: nothing foreign is loaded, framed or told where the reader came from."""
    headers = headers_of(address + path)
    assert "default-src 'self'" in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"


def test_a_system_that_does_not_name_its_sockets_is_served_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Some containers hide their network's tables, and a quicker page is no reason not to have one."""
    for error in (FileNotFoundError("/proc/net/tcp"), psutil.AccessDenied()):
        hidden = Mock(side_effect=error)
        monkeypatch.setattr(psutil.Process, "net_connections", hidden)
        send_small_packets_at_once()
        assert hidden.called


def test_small_files_of_the_page_come_at_once(address: str) -> None:
    """On one connection: 40 ms each, where the server keeps small packets back until the last one was received."""
    files = sorted((Path(streamlit.__file__).parent / "static" / "static" / "js").glob("*.js"))
    small = [file.name for file in files if file.stat().st_size < 10_000][:40]
    line, taken = http.client.HTTPConnection(urlsplit(address).netloc, timeout=SECONDS), []
    for name in small:
        start = perf_counter()
        line.request("GET", f"/static/js/{name}")
        assert line.getresponse().read()
        taken.append(perf_counter() - start)
    line.close()
    # The first ones are received at once in any case; a busy machine delays some, and not each.
    assert min(taken[20:]) < 0.03
