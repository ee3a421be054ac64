"""Bounds the work that one expression may do, so that none eats memory or time."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

MOST_WORK = 1_000_000
"""Steps that one evaluation may take: roughly, the values that it looks at and the characters that it writes."""

MOST_CHARACTERS = 1_000_000
MOST_ITEMS = 100_000

_CHARACTERS_PER_STEP = 16


class TooMuchWorkError(ValueError):
    """An expression asked for more work, or for a larger value, than one may."""


class Budget:
    """The steps that are left to one evaluation. One thread at a time."""

    def __init__(self, steps: int = MOST_WORK) -> None:
        self._left = steps

    def spend(self, steps: int) -> None:
        """Take steps.

        Raises:
            TooMuchWorkError: There are not that many left.
        """
        self._left -= steps
        if self._left < 0:
            raise TooMuchWorkError("it takes too much work")

    def spend_on(self, value: object) -> None:
        """Take the steps for looking at a value, without what is inside of its items."""
        if isinstance(value, str):
            self.spend(1 + len(value) // _CHARACTERS_PER_STEP)
        elif isinstance(value, (list, tuple, Mapping)):
            self.spend(1 + len(value))
        else:
            self.spend(1)

    def spend_deeply_on(self, value: object) -> None:
        """Take the steps for looking at all of a value, and stop where they end, however often it holds itself."""
        waiting = [value]
        while waiting:
            inner = waiting.pop()
            self.spend_on(inner)
            if isinstance(inner, Mapping):
                waiting.extend(inner.values())
            elif isinstance(inner, (list, tuple)):
                waiting.extend(inner)

    def counted(self, items: Iterable[Any]) -> Iterator[Any]:
        """Give the items one by one, a step for each."""
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
        written = json.dumps(value, ensure_ascii=False, default=_as_json)
        self.room_for(len(written))
        return written

    def room_for(self, characters: int) -> None:
        """Take the steps for a text of that length.

        Raises:
            TooMuchWorkError: It is too long.
        """
        if characters > MOST_CHARACTERS:
            raise TooMuchWorkError(
                f"it makes a text of {characters:,} characters; {MOST_CHARACTERS:,} are the most"
            )
        self.spend(1 + characters // _CHARACTERS_PER_STEP)

    def room_for_items(self, items: int) -> None:
        """Take the steps for a list of that length.

        Raises:
            TooMuchWorkError: It is too long.
        """
        if items > MOST_ITEMS:
            raise TooMuchWorkError(f"it makes a list of {items:,} items; {MOST_ITEMS:,} are the most")
        self.spend(1 + items)

    def plain(self, value: object) -> Any:
        """Give a value in which only objects, lists, texts, numbers, true, false and null are left, nothing shared.

        Raises:
            TooMuchWorkError: It is too large.
            TypeError: It holds something else.
        """
        if value is None or isinstance(value, (bool, int, float)):
            return value
        self.spend_on(value)
        if isinstance(value, str):
            return value
        if isinstance(value, Mapping):
            return {self._key(key): self.plain(inner) for key, inner in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.plain(inner) for inner in self.counted(value)]
        raise TypeError(f"it gives {_described(value)}")

    def _key(self, key: object) -> str:
        return key if isinstance(key, str) else self.text(key)


def _as_json(value: object) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"it makes a text of {_described(value)}")


def _described(value: object) -> str:
    offered = getattr(value, "described", None)
    return offered if isinstance(offered, str) else f"a {type(value).__name__}, which is no JSON value"
