"""Templates: processes that have imported the engine, and fork kernels.

The import of ADK takes over a second of a processor. A template imports it once for each interpreter; a kernel is a fork
of it, and shares its memory until one of them changes it. A template has one thread, loads no agent and works in no project's
folder: what a kernel imports of those it imports itself, after the fork.

The two talk through a socket that keeps messages apart (`kernel_program.serve_forks` is the other side): a request brings
the folder, the environment and the pipes of the kernel. The answer is its process id. The kernel is a child of the template,
so the template says how it ended. A template ends with the studio, as the socket does.

Where there is none, a kernel is started as a program of its own: not on Linux, without google-adk, or after a failure.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import logging
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping
from concurrent.futures import FIRST_COMPLETED, Future, InvalidStateError, wait
from concurrent.futures import TimeoutError as FutureTimeoutError
from pathlib import Path
from typing import IO, Any

from simulator.kernel.kernel_program import template_command
from simulator.kernel.process_setup import NICE, set_group_niceness

CAN_FORK = sys.platform == "linux"
"""Elsewhere a process that has imported much cannot be forked safely."""
_READY_SECONDS = 60.0
_FORK_SECONDS = 10.0
_LONGEST_MESSAGE = 1 << 16
_LOG = logging.getLogger(__name__)


class ForkedKernel:
    """A kernel's process that a template has forked; it can be used as its `subprocess.Popen` could be.

    Attributes:
        pid: Its process id, and its group's.
        stdin: Its input.
        stdout: Its output.
        stderr: What it prints.
    """

    def __init__(self, pid: int, ended: Future[int], pipes: tuple[IO[bytes], IO[bytes], IO[bytes]]) -> None:
        self.pid = pid
        self.stdin, self.stdout, self.stderr = pipes
        self._ended = ended

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end; return its exit code, or a signal below zero.

        Raises:
            subprocess.TimeoutExpired: It did not end within so many seconds.
        """
        try:
            return self._ended.result(timeout)
        except FutureTimeoutError as error:
            raise subprocess.TimeoutExpired("kernel", timeout or 0.0) from error

    def kill(self) -> None:
        """Kill it."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)


class Template:
    """A process of one interpreter that forks kernels. Threads may use it at once.

    Args:
        python: The interpreter.
        wanted: Done when somebody waits for it: until then it begins with low priority. By default somebody does.
    """

    def __init__(self, python: Path, wanted: Future[None] | None = None) -> None:
        """Start it.

        Raises:
            OSError: It cannot be started, does not have google-adk, or takes too long.
        """
        self._socket, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._forking = threading.Lock()
        self._said: Future[dict[str, Any]] = Future()
        self._ended: dict[int, Future[int]] = {}
        try:
            with other:
                self._process = self._started(python, other.fileno())
        except OSError:
            self._socket.close()
            raise
        threading.Thread(target=self._hear, name="kernel-template", daemon=True).start()
        if wanted is not None:
            set_group_niceness(self._process.pid, NICE)
            either: list[Future[Any]] = [self._said, wanted]
            wait(either, return_when=FIRST_COMPLETED)
            set_group_niceness(self._process.pid, 0)
        self._places = [Path(place) for place in self._answer(_READY_SECONDS)["places"]]
        self._installed = self._stamps()

    def _started(self, python: Path, number: int) -> subprocess.Popen[bytes]:
        return subprocess.Popen(  # noqa: S603 - the interpreter that a person has chosen for the agent
            template_command(python, number),
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,  # the kernel that is started in its place says what is wrong
            start_new_session=True,
            pass_fds=(number,),
        )

    @property
    def is_current(self) -> bool:
        """Whether it can fork kernels, and nothing has been installed or removed since it imported what there was."""
        return self._process.poll() is None and self._stamps() == self._installed

    def fork(self, folder: Path, life: int, environment: Mapping[str, str] = os.environ) -> ForkedKernel:
        """Fork a kernel.

        Args:
            folder: Where it works.
            environment: The variables of its environment.
            life: The end of a pipe to be read, whose other end closes with the studio.

        Raises:
            OSError: It cannot be forked.
        """
        request = json.dumps({"folder": str(folder), "environment": dict(environment)}).encode()
        (to_read, stdin), (stdout, to_write), (stderr, to_print) = os.pipe(), os.pipe(), os.pipe()
        try:
            with self._forking:
                self._said = Future()
                socket.send_fds(self._socket, [request], [to_read, to_write, to_print, life])
                answer = self._answer(_FORK_SECONDS)
        except OSError:
            for end in (stdin, stdout, stderr):
                os.close(end)
            raise
        finally:
            for end in (to_read, to_write, to_print):
                os.close(end)
        pipes = os.fdopen(stdin, "wb"), os.fdopen(stdout, "rb"), os.fdopen(stderr, "rb")
        return ForkedKernel(int(answer["forked"]), answer["ends"], pipes)

    def end(self) -> None:
        """End it; kernels that it has forked go on."""
        with contextlib.suppress(OSError):  # it has ended already
            self._socket.shutdown(socket.SHUT_RDWR)
        self._process.wait()

    def _answer(self, seconds: float) -> dict[str, Any]:
        try:
            return self._said.result(seconds)
        except FutureTimeoutError as error:
            self._process.kill()
            raise OSError("the template is not responding") from error

    def _hear(self) -> None:
        while message := self._received():
            found: dict[str, Any] = json.loads(message)
            if "ended" in found:
                self._ended.pop(int(found["ended"])).set_result(int(found["code"]))
                continue
            if "forked" in found:
                found["ends"] = self._ended[int(found["forked"])] = Future()
            self._said.set_result(found)
        self._process.wait()
        self._socket.close()
        with contextlib.suppress(InvalidStateError):  # nobody waits for an answer
            self._said.set_exception(OSError("the template has ended"))
        for process_id, ended in list(self._ended.items()):
            threading.Thread(target=_wait_for, args=(process_id, ended), daemon=True).start()

    def _received(self) -> bytes:
        try:
            return self._socket.recv(_LONGEST_MESSAGE)
        except OSError:
            return b""

    def _stamps(self) -> list[int]:
        return [place.stat().st_mtime_ns if place.is_dir() else 0 for place in self._places]


def _wait_for(process_id: int, ended: Future[int]) -> None:
    """Wait for a process whose parent is gone, so that nobody knows its exit code."""
    import psutil  # noqa: PLC0415 - only who starts processes has it: an agent's environment need not

    with contextlib.suppress(psutil.Error):  # it has ended already
        psutil.Process(process_id).wait()
    ended.set_result(-signal.SIGKILL)


class Templates:
    """The templates of this process, one for each interpreter that is used."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[Path, Future[Template | None]] = {}
        self._wanted: dict[Path, Future[None]] = {}

    def fork(
        self, python: Path, folder: Path, life: int, environment: Mapping[str, str] = os.environ
    ) -> ForkedKernel | None:
        """Fork a kernel of an interpreter; None where that is not possible, and it has to be started."""
        if not CAN_FORK:
            return None
        with self._lock:
            wanted = self._wanted.pop(python, None)
        if wanted is not None:
            wanted.set_result(None)
        if (template := self._template(python)) is None:
            return None
        try:
            return template.fork(folder, life, environment)
        except OSError as error:
            _LOG.warning("A kernel could not be forked: %s", error)
            return None

    def prepare(self, python: Path) -> None:
        """Start the template of an interpreter in the background, so that the first kernel is forked at once.

        It has low priority until that kernel is asked for: the page to ask from is drawn by the same processors.
        """
        if CAN_FORK:
            with self._lock:
                wanted = self._wanted[python] = Future()
            threading.Thread(
                target=self._template, args=(python, wanted), name="kernel-template-start", daemon=True
            ).start()

    def end(self) -> None:
        """End them."""
        with self._lock:
            known, self._known = self._known, {}
        for future in known.values():  # one that is still being started ends with this process
            if future.done() and (template := future.result()) is not None:
                template.end()

    def _template(self, python: Path, wanted: Future[None] | None = None) -> Template | None:
        with self._lock:
            known = self._known.get(python)
            old = _outdated(known)
            is_new = known is None or old is not None
            if is_new:
                known = self._known[python] = Future()
        if old is not None:
            old.end()
        assert known is not None  # noqa: S101 - for mypy
        if is_new:
            known.set_result(_started(python, wanted))
            if known.result() is None:  # tried again next time: google-adk may have been installed by then
                with self._lock:
                    self._known.pop(python, None)
        return known.result()


def _outdated(known: Future[Template | None] | None) -> Template | None:
    if known is None or not known.done() or (template := known.result()) is None:
        return None
    return None if template.is_current else template


def _started(python: Path, wanted: Future[None] | None) -> Template | None:
    try:
        return Template(python, wanted)
    except OSError as error:
        _LOG.debug("No template of %s: %s", python, error)
        return None


TEMPLATES = Templates()
"""Those of this process."""
atexit.register(TEMPLATES.end)
