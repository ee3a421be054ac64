"""Ends what takes too much of texts that somebody wrote: expressions, templates and patterns.

There are two limits. What is made is refused by its size before it is made, so that no operation is long by itself. The time of a
rule is looked at between its operations: it is that of the thread's own work, so a busy machine makes no difference to which rules fire.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar, Token
from time import thread_time

MOST_SECONDS = 0.1
"""Processor time that one rule, or one value with templates, may take."""

MOST_AT_ONCE = 1_000_000
MOST_IN_ALL = 20_000_000
"""Characters that one value may have, and all that is made within one limit; an item counts as ten."""

ITEM = 10
_BITS = 8
_LOOKS_EACH = 8


class TooMuchWorkError(ValueError):
    """An expression asked for more time, or for a larger value, than one may."""


class WorkLimit:
    """The time, and the room for what is made, that are left to one rule, value or invariant. One thread at a time.

    What runs inside of `with` counts.
    """

    def __init__(self, seconds: float = MOST_SECONDS) -> None:
        self._seconds = self.left = seconds
        self._room = MOST_IN_ALL
        self._looks = 0
        self._end = 0.0
        self._token: Token[WorkLimit | None] | None = None

    def __enter__(self) -> None:
        self._token = _RUNNING.set(self)
        self._end = thread_time() + self.left

    def __exit__(self, *error: object) -> None:
        self.left = self.seconds()
        if self._token is not None:
            _RUNNING.reset(self._token)

    def seconds(self) -> float:
        """Return the time that is left while it runs."""
        return self._end - thread_time()

    def look(self) -> None:
        """Look now and then whether there is time left, and refuse to go on where there is none."""
        self._looks += 1
        if self._looks % _LOOKS_EACH == 0 and self.seconds() < 0:
            raise TooMuchWorkError(f"it takes longer than {self._seconds * 1000:.0f} ms")

    def take(self, size: int, most: int) -> None:
        """Take room for what is made, and refuse what is larger than `most`."""
        self._room -= size
        if size > most or self._room < 0:
            raise TooMuchWorkError(
                f"it takes too much room: the maximum is {MOST_AT_ONCE:,} characters, or {MOST_AT_ONCE // ITEM:,} items"
            )

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Leave out the time that passes inside: for what is done once in a process."""
        began = thread_time()
        yield
        self._end += thread_time() - began


_RUNNING: ContextVar[WorkLimit | None] = ContextVar("work_limit", default=None)


def running() -> WorkLimit:
    """Return the limit that what is done now counts for; one that starts here and now where there is none."""
    return _RUNNING.get() or WorkLimit()


def limited() -> AbstractContextManager[None]:
    """Return what limits an expression: the limit that already runs, or one for it alone."""
    return WorkLimit() if _RUNNING.get() is None else nullcontext()


def seconds_left() -> float:
    """Return the time that is left; without end where nothing limits it."""
    limit = _RUNNING.get()
    return math.inf if limit is None else limit.seconds()


def look() -> None:
    """Refuse to go on where there is no time left.

    Raises:
        TooMuchWorkError: There is none.
    """
    running().look()


def make(size: int, most: int = MOST_AT_ONCE) -> None:
    """Take room for a value of a size before it is made.

    Raises:
        TooMuchWorkError: It is too large.
    """
    running().take(size, most)


def weight(value: object) -> int:
    """Return the size of a value with all that is in it, however often it holds itself; a number above all limits ends the counting."""
    size, waiting = ITEM, [value]
    while waiting and size <= MOST_IN_ALL:
        inner = waiting.pop()
        if isinstance(inner, str):
            size += len(inner)
        elif isinstance(inner, int):
            size += inner.bit_length() // _BITS
        elif isinstance(inner, Mapping):
            size += 2 * ITEM * len(inner)
            waiting.extend(inner.keys())
            waiting.extend(inner.values())
        elif isinstance(inner, (list, tuple)):
            size += ITEM * len(inner)
            waiting.extend(inner)
    return size
