"""A spare kernel with this process's own interpreter: it has imported the engine, and waits for an agent."""

from __future__ import annotations

import logging
import os
import sys
import threading
from concurrent.futures import Future
from pathlib import Path

from simulator.kernel.kernel import Kernel, KernelError, RefusedError

_ENTER_SECONDS = 5.0
_PAUSE_SECONDS = 1.0
"""How long the next one is not started, so that the one that was taken has the processor for its agent."""
_LOG = logging.getLogger(__name__)


class Spare:
    """At most one spare kernel; taking it starts the next. There is none until `begin`."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._next: Future[Kernel] | None = None
        self._wanted = threading.Event()
        self._is_on = False

    def begin(self) -> None:
        """Start one in the background, and from now on another one whenever it is taken."""
        with self._lock:
            self._is_on = True
            self._start(0.0)

    def take(self, python: Path, folder: Path) -> Kernel | None:
        """Return a kernel that works in a folder, in the environment as it is now.

        None where there is no spare, or where it has another interpreter.
        """
        if python != Path(sys.executable):
            return None
        with self._lock:
            taken, self._next = self._next, None
            self._wanted.set()
            self._start(_PAUSE_SECONDS)
        if taken is None:
            return None
        try:
            kernel = taken.result()
        except KernelError:
            return None
        try:
            kernel.ask(
                "enter", {"folder": str(folder), "environment": dict(os.environ)}, patience=_ENTER_SECONDS
            )
        except (KernelError, RefusedError):
            _LOG.warning("A spare process could not be used", exc_info=True)
            kernel.kill()
            return None
        return kernel

    def end(self) -> None:
        """End the one that waits; no other is started."""
        with self._lock:
            self._is_on = False
        self.drop()

    def drop(self) -> bool:
        """End the one that waits, to make room; another one is started once a kernel is taken. False where none waits."""
        with self._lock:
            dropped, self._next = self._next, None
            self._wanted.set()
        if dropped is None:
            return False
        # One that is still being started is not waited for: a server that stops would stop that much later.
        dropped.add_done_callback(_ended)
        return True

    def _start(self, pause: float) -> None:
        if not self._is_on or self._next is not None:
            return
        spare, wanted = Future[Kernel](), threading.Event()
        self._next, self._wanted = spare, wanted
        threading.Thread(target=_made, args=(spare, wanted, pause), name="kernel-spare", daemon=True).start()


def _ended(spare: Future[Kernel]) -> None:
    if spare.exception() is None:
        spare.result().end()


def _made(spare: Future[Kernel], wanted: threading.Event, pause: float) -> None:
    wanted.wait(pause)
    try:
        kernel = Kernel(Path(sys.executable), Path.cwd())
        try:
            kernel.ask("warm", {})
        except RefusedError:  # it is slower at first, and no worse
            _LOG.warning("A spare process could not play a first turn", exc_info=True)
        spare.set_result(kernel)
    except (KernelError, OSError) as error:
        _LOG.warning("A spare process could not be started: %s", error)
        spare.set_exception(KernelError(str(error)))


SPARE = Spare()
"""That of this process."""
