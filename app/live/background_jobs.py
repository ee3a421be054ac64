"""Long work on the server: it continues without a viewer, reports its progress, and can be stopped."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from threading import Event, Lock, Thread
from typing import Generic, Literal, TypeAlias, TypeVar

from simulator.base.frozen_value import Value
from simulator.base.secret_masking import error_words

Result = TypeVar("Result")
JobState: TypeAlias = Literal["running", "done", "failed"]
_LOG = logging.getLogger(__name__)


class JobProgress(Value):
    """The progress of a job: `done` of `total`, and what it does; 0 of 0 while the total is unknown."""

    done: int = 0
    total: int = 0
    words: str = ""

    @property
    def share(self) -> float:
        """From 0 to 1."""
        return min(1.0, self.done / self.total) if self.total else 0.0


Report: TypeAlias = Callable[[JobProgress], None]
Work: TypeAlias = Callable[[Report, Event], Result]
"""Does the work: reports how far it is, and ends early, with what it has, when the event is set."""


class Job(Generic[Result]):
    """A work in a thread of its own, which begins at once. Threads may ask it.

    Args:
        work: The work.
        name: The thread's name.
        may_be_left: The work changes nothing, and may not look whether it is to end: stopped, it is over at once, and what comes
            of it is forgotten.
    """

    def __init__(self, work: Work[Result], name: str, *, may_be_left: bool = False) -> None:
        self._work, self._may_be_left = work, may_be_left
        self._lock = Lock()
        self._stop = Event()
        self._progress = JobProgress()
        self._result: Result | None = None
        self._problem = ""
        self.began_at = time.time()
        """When it was begun, in seconds since the epoch."""
        self.ended_at = 0.0
        """When its work ended, in seconds since the epoch; 0 before."""
        self._thread = Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    @property
    def state(self) -> JobState:
        """Whether it runs, has given its result, or has failed."""
        if self._is_left:
            return "failed"
        if self._thread.is_alive():
            return "running"
        return "failed" if self._problem else "done"

    @property
    def _is_left(self) -> bool:
        return self._may_be_left and self._stop.is_set()

    @property
    def is_stopping(self) -> bool:
        """Whether somebody has asked it to end."""
        return self._stop.is_set()

    @property
    def progress(self) -> JobProgress:
        """How far it is."""
        with self._lock:
            return self._progress

    @property
    def result(self) -> Result | None:
        """What it gave; None before."""
        return None if self._is_left else self._result

    @property
    def problem(self) -> str:
        """Why it failed, which may come from outside; empty where it has not."""
        return "It was stopped." if self._is_left else self._problem

    def stop(self) -> None:
        """Ask it to end; it returns at once."""
        self._stop.set()

    def wait(self, seconds: float) -> bool:
        """Wait until it is over, at most so long; return whether it is."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def _run(self) -> None:
        try:
            self._result = self._work(self._report, self._stop)
        except ValueError as error:  # what the work refuses, in words for a person
            self._problem = str(error) or type(error).__name__
        except Exception as error:  # noqa: BLE001 - agents' own code may raise anything: it is shown and kept
            _LOG.exception("A job on an eval set failed")
            self._problem = error_words(error)
        finally:
            self.ended_at = time.time()

    def _report(self, progress: JobProgress) -> None:
        with self._lock:
            self._progress = progress
