"""Writes behind: one thread that stores what was appended elsewhere, and never lets go of what could not be stored."""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable

from simulator.store.errors import StoreError, UnknownSessionError

LATE_SECONDS = 2.0
"""What waits longer to be stored is told of."""

_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 30.0


class Unwritten(ABC):
    """Something that is changed in any thread and stored by the writer's."""

    def __init__(self) -> None:
        self.error: StoreError | None = None
        """What went wrong when it was last tried to store it."""
        self.waits = False
        """It is in the writer's queue."""
        self.tries = 0
        """How often it was tried to store it."""
        self.since: float | None = None
        """Since when, by the monotonic clock, something of it waits to be stored; None where nothing does."""

    @property
    def trouble(self) -> str | None:
        """Why something is not durable, in words: it failed, or takes long. None where there is no such trouble."""
        if self.error is not None:
            return str(self.error)
        since = self.since
        if since is None or time.monotonic() - since < LATE_SECONDS:
            return None
        return f"{self.name}: saving takes longer than {LATE_SECONDS:g} s"

    @property
    @abstractmethod
    def name(self) -> str:
        """What it is, in an error."""

    @abstractmethod
    def changes(self) -> int:
        """How often it was changed."""

    @abstractmethod
    def changes_stored(self) -> int:
        """How many of these changes are durable."""

    @abstractmethod
    def store(self) -> None:
        """Store what is not durable, in the writer's thread.

        Raises:
            StoreError: It could not; nothing was lost.
        """


class Writer:
    """A thread that stores what it is told of, one thing after another.

    What fails is tried again when something else could be stored, when somebody waits for it or changes it, and by
    itself after a while.

    Args:
        name: Of the database, for who looks at the threads.
        at_end: Is called by the thread when it has stored its last.
        on_late: Is called by a waiting caller when its time is over, before it is told.
    """

    def __init__(
        self, name: str, at_end: Callable[[], None], on_late: Callable[[], None] = lambda: None
    ) -> None:
        self._at_end, self._on_late = at_end, on_late
        self._changed = threading.Condition()
        self._queue: OrderedDict[Unwritten, None] = OrderedDict()
        self._failed: dict[Unwritten, None] = {}
        self._now: Unwritten | None = None
        self._pause = _FIRST_PAUSE
        self._stops, self._gives_up = False, False
        self._thread = threading.Thread(target=self._run, name=f"store {name}", daemon=True)
        self._thread.start()

    def tell(self, item: Unwritten) -> None:
        """Say that something was changed; takes no longer than a look where it waits to be stored anyway."""
        if item.since is None:
            item.since = time.monotonic()
        # The writer unsets `waits` before it looks what there is to store, so no change can be overlooked.
        if not item.waits:
            with self._changed:
                self._enqueue(item)

    def wait(self, item: Unwritten, timeout: float) -> None:
        """Wait until all changes of up to now are durable.

        Raises:
            StoreError: They could not be stored, or not within so many seconds.
        """
        goal, end = item.changes(), time.monotonic() + timeout
        with self._changed:
            # A try that has begun may not know the newest changes.
            enough = item.tries + (2 if self._now is item else 1)
            while item.changes_stored() < goal:
                if item.tries >= enough and item.error:
                    raise item.error
                if self._stops and self._now is not item and not item.waits:
                    raise StoreError(f"{item.name} is not saved: the store is closed")
                self._enqueue(item)
                if item.waits:
                    self._queue.move_to_end(item, last=False)
                if not self._changed.wait(end - time.monotonic()) and time.monotonic() >= end:
                    self._on_late()
                    raise item.error or StoreError(f"{item.name} is still not saved after {timeout:g} s")

    def retry(self) -> None:
        """Try at once what failed before."""
        with self._changed:
            self._pause = _FIRST_PAUSE
            self._retry()

    def stop(self, timeout: float) -> list[Unwritten]:
        """Store what there is, end the thread, and return what could not be stored within so many seconds."""
        with self._changed:
            self._stops, self._gives_up = True, timeout <= 0
            for item in [] if self._gives_up else self._failed:
                self._enqueue(item, even_if_closed=True)
            self._changed.notify_all()
        # Where the last reference to the store goes in this very thread, there is nothing to wait for.
        if self._thread is not threading.current_thread():
            self._thread.join(max(timeout, 0))
        with self._changed:
            self._gives_up = True
            return [*self._failed, *(item for item in self._queue if item not in self._failed)]

    def _enqueue(self, item: Unwritten, *, even_if_closed: bool = False) -> None:
        if not item.waits and (even_if_closed or not self._stops) and self._now is not item:
            item.waits = True
            self._queue[item] = None
            self._changed.notify_all()

    def _run(self) -> None:
        while (item := self._next()) is not None:
            error: StoreError | None = None
            try:
                item.store()
            except StoreError as found:
                error = found
            except Exception as found:  # noqa: BLE001 - the thread goes on for the others; the error is shown and kept
                error = StoreError(f"{item.name} cannot be saved: {type(found).__name__}: {found}")
            self._end(item, error)
            # Nothing is to live on because the thread still has a name for it while it waits.
            del item, error
        self._at_end()

    def _next(self) -> Unwritten | None:
        with self._changed:
            while not self._queue:
                if self._stops:
                    return None
                if not self._changed.wait(self._pause if self._failed else None):
                    self._pause = min(self._pause * 2, _LONGEST_PAUSE)
                    self._retry()
            if self._gives_up:
                return None
            item, _ = self._queue.popitem(last=False)
            item.waits, self._now = False, item
            return item

    def _end(self, item: Unwritten, error: StoreError | None) -> None:
        with self._changed:
            item.tries, item.error, self._now = item.tries + 1, error, None
            self._failed.pop(item, None)
            if error is None:
                self._pause = _FIRST_PAUSE
                self._retry()
                is_done = item.changes_stored() >= item.changes()
                item.since = None if is_done else time.monotonic()
                if not is_done:
                    self._enqueue(item, even_if_closed=True)
            elif not isinstance(
                error, UnknownSessionError
            ):  # for what is gone for good, a further try is in vain
                self._failed[item] = None
            self._changed.notify_all()

    def _retry(self) -> None:
        if not self._stops:
            for item in self._failed:
                self._enqueue(item)
