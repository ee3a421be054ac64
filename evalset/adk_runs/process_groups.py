"""Starts a process in a group of its own, and ends it with all that it started; it ends with this process, too, whichever way that ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from evalset.adk_runs import supervisor

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
    """A process that runs under `supervisor`: it ends when our end of its standard input is closed, if only by our own end."""

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
    supervised = [sys.executable, "-I", "-S", supervisor.__file__, *map(str, command)]
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
