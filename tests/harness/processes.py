"""Starts a real server process on a loopback port, waits until it answers, and ends it."""

from __future__ import annotations

import os
import secrets
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

import httpx
import psutil

REPOSITORY = Path(__file__).resolve().parents[2]

# Below the ports that the kernel hands to outgoing connections, so that none is taken between choice and use.
_FIRST_PORT, _LAST_PORT = 20_000, 32_000


class ProcessError(AssertionError):
    """A process ended early or did not answer in time; the text holds the end of its output."""


class Process(Protocol):
    """What the harness asks of a process that it started, as `subprocess.Popen` says it."""

    @property
    def pid(self) -> int:
        """Its number, which is that of its group too."""

    @property
    def returncode(self) -> int | None:
        """How it ended, if it has."""

    def poll(self) -> int | None:
        """Look whether it has ended."""

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end; `subprocess.TimeoutExpired` after `timeout` seconds."""

    def terminate(self) -> None:
        """Ask it to end."""

    def kill(self) -> None:
        """End it."""


@dataclass(frozen=True)
class Served:
    """A server that answers at `url`."""

    url: str
    process: Process
    log: Path

    @property
    def output(self) -> str:
        """All that the process has printed so far."""
        return self.log.read_text(errors="replace")


def free_port() -> int:
    """A loopback port that nothing listens on; for programs that cannot be told to take any, as two of them may meet."""
    while True:
        port = _FIRST_PORT + secrets.randbelow(_LAST_PORT - _FIRST_PORT)
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) != 0:
                return port


def port_of(number: int) -> int:
    """Return the port on which a process listens; 0 where it does not."""
    try:
        found = psutil.Process(number).net_connections("tcp")
    except psutil.Error:  # it has ended
        return 0
    return next((each.laddr.port for each in found if each.status == psutil.CONN_LISTEN), 0)


def wait_until(condition: Callable[[], bool], *, what: str, seconds: float = 60) -> None:
    """Return as soon as the condition holds.

    Raises:
        ProcessError: it did not hold within `seconds`; names `what` was awaited.
    """
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            message = f"waited {seconds:g} s for {what}"
            raise ProcessError(message)
        time.sleep(0.02)


def quiet_environment(**more: str) -> dict[str, str]:
    """This process's variables without keys and addresses of model services, and with `more`."""
    services = ("GOOGLE_", "GEMINI_", "OPENAI_", "ANTHROPIC_", "LITELLM_", "STREAMLIT_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(services)}
    return kept | {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "PYTHONUNBUFFERED": "1"} | more


def completed(
    *command: str | Path, folder: Path | None = None, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a program to its end, by default where this process is and with its variables; return what it wrote and its code."""
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


class Start(Protocol):
    """Starts a command in `folder`, in a group of its own, with all that it prints appended to `log`."""

    def __call__(
        self, command: Sequence[str | Path], *, folder: Path, environment: Mapping[str, str], log: Path
    ) -> Process:
        """Start the command."""


def start_program(
    command: Sequence[str | Path], *, folder: Path, environment: Mapping[str, str], log: Path
) -> subprocess.Popen[bytes]:
    """Start a program, as `Start` says."""
    with log.open("ab") as output:
        return subprocess.Popen(
            [str(part) for part in command],
            cwd=folder,
            env=dict(environment),
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


@contextmanager
def serve(
    command: Sequence[str | Path],
    *,
    url: str,
    ready: str = "/",
    folder: Path = REPOSITORY,
    environment: Mapping[str, str] | None = None,
    seconds: float = 180,
    start: Start = start_program,
) -> Iterator[Served]:
    """Run a server process in `folder` while the block runs, from the moment that `url + ready` answers 200.

    Where `{port}` stands in the URL, it is the port that the process has taken by itself.

    Raises:
        ProcessError: it ended early or did not answer within `seconds`.
    """
    with tempfile.NamedTemporaryFile(prefix="served-", suffix=".log") as log:
        variables = environment if environment is not None else quiet_environment()
        process = start(command, folder=folder, environment=variables, log=Path(log.name))
        served = Served(url, process, Path(log.name))
        try:
            yield _answering(served, ready, seconds)
        finally:
            end(process)


def _answering(served: Served, ready: str, seconds: float) -> Served:
    """Return the server when it answers 200; raise with the process's output when it can't any more."""
    try:
        port = _awaited_port(served, seconds) if "{port}" in served.url else 0
        there = replace(served, url=served.url.format(port=port))
        # One client for all: each would read the certificates of the world, which keeps a core from the server.
        with httpx.Client(timeout=5, trust_env=False) as client:
            wait_until(lambda: _answers(client, there, ready), what=there.url + ready, seconds=seconds)
    except ProcessError as error:
        message = f"{error}\n{served.output[-4000:]}"
        raise ProcessError(message) from None
    return there


def _awaited_port(served: Served, seconds: float) -> int:
    """Wait until the process listens; return where."""
    wait_until(lambda: _runs(served) and bool(port_of(served.process.pid)), what="a port", seconds=seconds)
    return port_of(served.process.pid)


def _answers(client: httpx.Client, served: Served, ready: str) -> bool:
    """Whether the server answers 200 now; raises when its process has ended."""
    try:
        return _runs(served) and client.get(served.url + ready).status_code == httpx.codes.OK
    except httpx.TransportError:
        return False


def _runs(served: Served) -> bool:
    """Return true; raise when the process has ended."""
    if served.process.poll() is not None:
        message = f"the process ended with code {served.process.returncode}"
        raise ProcessError(message)
    return True


def end(process: Process) -> None:
    """End the process, kindly at first, then its whole group, whatever it started."""
    process.terminate()
    try:
        process.wait(timeout=60)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def kill(process: Process) -> None:
    """Kill the process and its whole group at once, as a machine that loses its power does."""
    os.killpg(os.getpgid(process.pid), signal.SIGKILL)
    process.wait()
