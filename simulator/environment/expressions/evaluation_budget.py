"""Bounds the work that one expression may do, so that none eats memory or time."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from time import thread_time
from typing import Any

MOST_WORK = 1_000_000
"""Steps that one evaluation may take: roughly, the values that it looks at and the characters that it writes."""

MOST_SECONDS = 0.1
"""Processor time that the expressions of one rule, or of one value with templates, may take together."""

MOST_CHARACTERS = 1_000_000
MOST_ITEMS = 100_000

_CHARACTERS_PER_STEP = 16
_BITS_PER_STEP = 64
_SHORT_NUMBER = 1 << _BITS_PER_STEP
# How often the clock is read: after this many steps, where taking some counts as a few by itself.
_STEPS_PER_LOOK = 1_000
_STEPS_PER_SPENDING = 30


class TooMuchWorkError(ValueError):
    """An expression asked for more work or time, or for a larger value, than one may."""


class EvaluationBudget:
    """The steps and the time that are left to one evaluation, or to several together. One thread at a time.

    Each operation takes its steps before it is done, as many as its cost in proportion. So no operation is long by itself,
    and the clock, which is read between operations, ends what is long as a whole. The time is that of the thread's own
    work: a busy machine makes no difference to which rules fire.

    Args:
        steps: The steps that there are.
        seconds: The time that there is.
        clock: Gives the time that this thread has worked, in seconds.
    """

    def __init__(
        self,
        steps: int = MOST_WORK,
        seconds: float = MOST_SECONDS,
        clock: Callable[[], float] = thread_time,
    ) -> None:
        self._left = steps
        self._seconds, self._clock = seconds, clock
        self._begun: float | None = None
        self._unlooked = 0
        self.taken = 0.0
        """Seconds that evaluations have taken so far."""

    @contextmanager
    def running(self) -> Iterator[None]:
        """Count the time that passes inside."""
        self._begun = self._clock()
        self._unlooked = 0
        try:
            yield
        finally:
            self.taken += self._clock() - self._begun
            self._begun = None

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Leave out the time that passes inside `running`: for what is done once in a process."""
        paused_at = self._clock()
        try:
            yield
        finally:
            if self._begun is not None:
                self._begun += self._clock() - paused_at

    def spend(self, steps: int) -> None:
        """Take steps.

        Raises:
            TooMuchWorkError: There are not that many left, or no time is left.
        """
        self._left -= steps
        if self._left < 0:
            raise TooMuchWorkError("it takes too much work")
        self._unlooked += steps + _STEPS_PER_SPENDING
        if self._unlooked > _STEPS_PER_LOOK:
            self._look()

    def _look(self) -> None:
        self._unlooked = 0
        running = 0.0 if self._begun is None else self._clock() - self._begun
        if self.taken + running > self._seconds:
            raise TooMuchWorkError(f"it takes longer than {self._seconds * 1000:.0f} ms")

    def spend_on(self, value: object) -> None:
        """Take the steps for looking at a value, without what is inside of its items."""
        if isinstance(value, str):
            self.spend(1 + len(value) // _CHARACTERS_PER_STEP)
        elif isinstance(value, (list, tuple, Mapping)):
            self.spend(1 + len(value))
        elif isinstance(value, int):
            self.spend(_steps_of_number(value))
        else:
            self.spend(1)

    def spend_on_characters(self, text: str, *, for_each: int = 1) -> None:
        """Take the steps for work on each character of a text, with others of which there are `for_each`."""
        self.spend(1 + len(text) * (1 + for_each // _CHARACTERS_PER_STEP))

    def spend_deeply_on(self, value: object) -> None:
        """Take the steps for looking at all of a value, and stop where they end, however often it holds itself."""
        waiting = [value]
        while waiting:
            inner = waiting.pop()
            self.spend_on(inner)
            if isinstance(inner, Mapping):
                for key in inner:
                    self.spend_on(key)
                waiting.extend(inner.values())
            elif isinstance(inner, (list, tuple)):
                waiting.extend(inner)

    def counted(self, items: Iterable[Any]) -> Iterator[Any]:
        """Yield the items one by one, a step for each."""
        for item in items:
            self.spend(1)
            yield item

    def text(self, value: object) -> str:
        """Write a value as a text: a text as it is, anything else as JSON.

        Raises:
            TooMuchWorkError: It would be too long.
            TypeError: It holds something that JSON has no word for.
        """
        if isinstance(value, str):
            self.room_for(len(value))
            return value
        return self.json(value)

    def json(self, value: object) -> str:
        """Write a value as JSON.

        Raises:
            TooMuchWorkError: It would be too long.
            TypeError: It holds something that JSON has no word for.
        """
        self.spend_deeply_on(value)
        written = json.dumps(value, ensure_ascii=False, allow_nan=False, default=_as_json)
        self.room_for(len(written))
        return written

    def room_for(self, characters: int) -> None:
        """Take the steps for a text of that length.

        Raises:
            TooMuchWorkError: It is too long.
        """
        if characters > MOST_CHARACTERS:
            raise TooMuchWorkError(
                f"it produces a text of {characters:,} characters; the maximum is {MOST_CHARACTERS:,}"
            )
        self.spend(1 + characters // _CHARACTERS_PER_STEP)

    def room_for_items(self, items: int) -> None:
        """Take the steps for a list of that length.

        Raises:
            TooMuchWorkError: It is too long.
        """
        if items > MOST_ITEMS:
            raise TooMuchWorkError(f"it produces a list of {items:,} items; the maximum is {MOST_ITEMS:,}")
        self.spend(1 + items)

    def plain(self, value: object) -> Any:
        """Return a value in which only objects, lists, texts, numbers, true, false and null are left, nothing shared.

        Raises:
            TooMuchWorkError: It is too large.
            TypeError: It holds something else.
        """
        if value is None or value is True or value is False:
            return value
        if isinstance(value, float):
            return _finite(value)
        if isinstance(value, int) and -_SHORT_NUMBER < value < _SHORT_NUMBER:
            return value
        self.spend_on(value)
        if isinstance(value, (int, str)):
            return value
        if isinstance(value, Mapping):
            return {self._key(key): self.plain(inner) for key, inner in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.plain(inner) for inner in value]
        raise TypeError(f"it returns {_described(value)}")

    def _key(self, key: object) -> str:
        self.spend_on(key)
        return key if isinstance(key, str) else self.text(key)


def _steps_of_number(number: int) -> int:
    """Return the steps for writing a number out, which takes the square of its length."""
    length = number.bit_length() // _BITS_PER_STEP
    return 1 + length + length * length // _CHARACTERS_PER_STEP


def _finite(number: float) -> float:
    if math.isfinite(number):
        return number
    raise TypeError("it returns NaN or Infinity, which JSON cannot represent")


def _as_json(value: object) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"it uses as text: {_described(value)}")


def _described(value: object) -> str:
    offered = getattr(value, "described", None)
    return offered if isinstance(offered, str) else f"a {type(value).__name__}, which is not a JSON value"
