"""Starts a process in a group of its own, and ends it with all that it started; it ends with this process, too, whichever way that ends.

The process runs under a supervisor, which is this file as a script, with the command behind it. It ends the command when the process that wanted it is gone, even by a
SIGKILL: that one holds the other end of its standard input, and whichever way it ends, the system closes it. It needs nothing but the standard library, so that it starts at once.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import Protocol

GRACE_SECONDS = 3.0
"""How long a process has to end by itself once it was asked to."""


class Process(Protocol):
    """What is asked of a process, as `subprocess.Popen` says it."""

    @property
    def pid(self) -> int:
        """Its number, which is that of its group too."""

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end; `subprocess.TimeoutExpired` after `timeout` seconds."""

    def kill(self) -> None:
        """End it."""


class Start(Protocol):
    """Starts a command in `folder`, in a group of its own, with all that it prints appended to `log`."""

    def __call__(
        self, command: Sequence[str | Path], *, folder: Path, environment: Mapping[str, str], log: Path
    ) -> Process:
        """Start the command."""


class Supervised:
    """A process that runs under a supervisor: it ends when our end of its standard input is closed, if only by our own end."""

    def __init__(self, supervisor: subprocess.Popen[bytes]) -> None:
        self._supervisor = supervisor

    @property
    def pid(self) -> int:
        """The number of the supervisor, which is that of the group too."""
        return self._supervisor.pid

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end, and return its exit code; `subprocess.TimeoutExpired` after `timeout` seconds."""
        code = self._supervisor.wait(timeout)
        if self._supervisor.stdin is not None:
            self._supervisor.stdin.close()
        return code

    def kill(self) -> None:
        """End it."""
        self._supervisor.kill()


def start_process(
    command: Sequence[str | Path], *, folder: Path, environment: Mapping[str, str], log: Path
) -> Supervised:
    """Start a program, as `Start` says."""
    # -I and -S: the supervisor needs nothing of what is installed, and nothing there can come into its way.
    supervised = [sys.executable, "-I", "-S", __file__, *map(str, command)]
    with log.open("ab") as output:
        return Supervised(
            subprocess.Popen(  # noqa: S603 - the program of this Python, with paths that we made
                supervised,
                cwd=folder,
                env=dict(environment),
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        )


def end_group(process: Process) -> None:
    """Ask a process and its group to end, and end them where they do not."""
    for name in ("SIGTERM", "SIGKILL"):
        _signal_group(process, name)
        try:
            process.wait(GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            continue
        break
    _signal_group(process, "SIGKILL")  # what it started, and left


def _signal_group(process: Process, name: str) -> None:
    if not hasattr(
        os, "killpg"
    ):  # pragma: no cover - where the system knows no groups, the process alone is ended
        process.kill()
        return
    try:
        os.killpg(process.pid, getattr(signal, name))
    except (ProcessLookupError, PermissionError):
        return


_UNWANTED_SECONDS = 1.0
"""How long the command has to end by itself when nobody wants it any more."""

_CANNOT_START = 127


def _supervise(command: list[str]) -> int:
    """Run the command to its end, and return its exit code."""
    # A handler, where ignoring would be passed on to the command: it is asked to end with its group, and we end after it.
    signal.signal(signal.SIGTERM, _stay)
    try:
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL)  # noqa: S603 - as we were told
    except OSError as error:
        print(f"{command[0]} cannot be started: {error.strerror or error}", flush=True)  # noqa: T201 - into the log
        return _CANNOT_START
    is_unwanted = threading.Event()
    ending = threading.Thread(target=_end_with_parent, args=(child, is_unwanted), daemon=True)
    ending.start()
    code = child.wait()
    if is_unwanted.is_set():  # what it started may still be there
        ending.join()
    return code


def _stay(_signal: int, _frame: FrameType | None) -> None:
    """Do nothing."""


def _end_with_parent(child: subprocess.Popen[bytes], is_unwanted: threading.Event) -> None:
    while os.read(0, 1):
        pass
    is_unwanted.set()
    if not hasattr(os, "killpg"):  # pragma: no cover - where the system knows no groups
        child.kill()
        return
    os.killpg(0, signal.SIGTERM)
    time.sleep(_UNWANTED_SECONDS)
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    code = _supervise(sys.argv[1:])
    if code < 0:  # ended by a signal, as we do then
        if -code == signal.SIGTERM:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)  # whatever still reads our standard input
