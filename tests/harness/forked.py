"""Starts `adk` commands as forks of one process that has imported what they need, which takes ten times as long as the rest."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import ModuleType

CAN_FORK = sys.platform == "linux"
"""Whether a process with threads can be forked: elsewhere each command is a process from its very beginning."""

_NEEDED = (
    "google.adk.cli.cli_tools_click",
    "google.adk.cli.cli_eval",
    "google.adk.cli.fast_api",
    "google.adk.evaluation.local_eval_service",
    "google.adk.evaluation.agent_evaluator",
    "google.adk.tools.agent_tool",
    "google.adk.tools.long_running_tool",
    "nltk.stem",
)


class ForkedProgram:
    """A running `adk` command, or another fork; to be treated as the `subprocess.Popen` of the program would be."""

    def __init__(self, process: BaseProcess) -> None:
        self._process = process

    @property
    def pid(self) -> int:
        """The process's number, and its group's."""
        assert self._process.pid
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        """How the command ended: the program's code, or a signal below zero; None while it runs."""
        return self._process.exitcode

    def poll(self) -> int | None:
        """As `returncode`."""
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end.

        Raises:
            subprocess.TimeoutExpired: it did not end in `timeout` seconds.
        """
        self._process.join(timeout)
        if (code := self._process.exitcode) is None:
            raise subprocess.TimeoutExpired("the fork", timeout or 0)
        return code

    def terminate(self) -> None:
        """Ask the command to end."""
        self._process.terminate()

    def kill(self) -> None:
        """End the command."""
        self._process.kill()


def start_forked(
    command: Sequence[str | Path], *, folder: Path, environment: Mapping[str, str], log: Path
) -> ForkedProgram:
    """Start an `adk` command, as `tests.harness.processes.Start` says; `command` begins with the program's path."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(_NEEDED))
    arguments = [str(part) for part in command]
    process = context.Process(target=_run, args=(arguments, str(folder), dict(environment), str(log)))
    with _no_main_script():
        process.start()
    return ForkedProgram(process)


@contextmanager
def _no_main_script() -> Iterator[None]:
    """Hide the script of this process, which the new one would run again: pytest, or the last page that AppTest drew."""
    script = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = script


def _run(command: list[str], folder: str, environment: dict[str, str], log: str) -> None:
    """Become the `adk` program: its own session, folder, variables, output and arguments."""
    os.setsid()
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    written = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    for stream in (1, 2):
        os.dup2(written, stream)
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr] # it is the stream that Python opened
    sys.argv = command
    from google.adk.cli import main  # noqa: PLC0415 - the process that asks for the command has no need of it

    main()
