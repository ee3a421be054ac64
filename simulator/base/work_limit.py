"""Ends what takes too much of texts that somebody wrote: expressions, templates and patterns, and searches for those patterns within bounds of time.

There are two limits. What is made is refused by its size before it is made, so that no operation is long by itself. The time of a
rule is looked at between its operations: it is that of the thread's own work, so a busy machine makes no difference to which rules fire.

The package `regex` ends a search that takes too long. Where it is not installed, Python's own `re` searches. Nothing
can end that, so a search that may take too long is not begun: `SearchError` says so.
"""

from __future__ import annotations

import importlib.util
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar, Token
from functools import lru_cache
from re import _constants as op  # type: ignore[attr-defined] # the parser of `re` has no public name since 3.11
from re import _parser as parser  # type: ignore[attr-defined] # as above
from time import thread_time
from typing import Any

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


HAS_REGEX = importlib.util.find_spec("regex") is not None

_NO_REGEX = "the package regex is not installed"
_TOO_DEEP = "is nested too deeply or too large"
_STEPS_PER_SECOND = 50_000_000
_REPEATS = (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT)
_BEGINNINGS = ((op.AT, op.AT_BEGINNING), (op.AT, op.AT_BEGINNING_STRING))
_READ_BY_REGEX_ALONE = ("bad escape", "unknown extension", "look-behind requires fixed-width")


MOST_PARTS = 100_000
"""So many parts an expression may have with its counted repetitions written out: so `regex` compiles them."""

SECONDS = 0.05
"""How long a search may take."""

_COUNTED = re.compile(r"\{(\d+)(?:,(\d*))?\}|\{,(\d+)\}")


class PatternError(ValueError):
    """A regular expression cannot be read; the text says why."""


class SearchError(ValueError):
    """A search was given up, or was not begun; the text says why, in words that follow what was searched for."""


class PatternSizeError(PatternError, SearchError):
    """A regular expression is too large to be made ready, so that no search for it is begun; the text follows it, too."""


class Searcher(ABC):
    """A regular expression that is ready to search."""

    def search(self, text: str, seconds: float = SECONDS) -> bool:
        """Return whether it is found in a text.

        Raises:
            SearchError: It cannot be told in this time, or in what is left within the `WorkLimit` that runs.
        """
        return self._in_time("search", text, seconds)

    def fullmatch(self, text: str, seconds: float = SECONDS) -> bool:
        """Return whether it matches the whole text; raises as `search`."""
        return self._in_time("fullmatch", text, seconds)

    def _in_time(self, how: str, text: str, seconds: float) -> bool:
        left = min(seconds, seconds_left())
        if left <= 0:
            raise SearchError("was not tried, because others took too long")
        return self._found(how, text, left)

    @abstractmethod
    def _found(self, how: str, text: str, seconds: float) -> bool: ...


@lru_cache(maxsize=512)
def searcher(pattern: str, *, ignore_case: bool = False) -> Searcher:
    """Make a regular expression ready to search.

    Raises:
        PatternError: It cannot be read; a `PatternSizeError` where it is too large.
    """
    check_repetitions(pattern)
    try:
        return _Bounded(pattern, ignore_case) if HAS_REGEX else StandardSearcher(pattern, ignore_case)
    except (RecursionError, OverflowError) as error:
        raise PatternSizeError(_TOO_DEEP) from error


def check_repetitions(pattern: str) -> None:
    """Check that an expression is of a size that can be compiled.

    Raises:
        PatternSizeError: Its counted repetitions multiply each other to too many parts, or it is nested too deeply.
    """
    counts = [max(int(count or 0) for count in found) for found in _COUNTED.findall(pattern)]
    if len(pattern) * math.prod(max(count, 1) for count in counts) <= MOST_PARTS:
        return
    try:
        parts = size_of(parser.parse(pattern))
    except re.error:
        parts = MOST_PARTS + 1  # only `regex` reads it, so that each count may stand in each other
    except (RecursionError, OverflowError) as error:
        raise PatternSizeError(_TOO_DEEP) from error
    if parts > MOST_PARTS:
        raise PatternSizeError(
            f"repeats too much: more than {MOST_PARTS:,} parts when its repetitions are written out"
        )


def size_of(tree: Any, *, least: bool = False) -> int:
    """Return how many signs a parsed expression comes to with its counted repetitions written out, as often as they may be or (`least`) must be."""
    return sum(_size_of_part(code, value, least) for code, value in tree)


def _size_of_part(code: Any, value: Any, least: bool) -> int:
    if code in _REPEATS:
        low, high = int(value[0]), int(value[1])
        times = low if least or high == op.MAXREPEAT else high
        return max(times, 1) * max(size_of(value[2], least=least), 1)
    inner = _inner(code, value)
    return sum(size_of(one, least=least) for one in inner) if inner else 1


def _inner(code: Any, value: Any) -> list[Any]:
    """Return the expressions inside of a part of one."""
    if code is op.BRANCH:
        return list(value[1])
    if code is op.GROUPREF_EXISTS:
        return [one for one in value[1:] if one is not None]
    place = {op.SUBPATTERN: -1, op.ASSERT: 1, op.ASSERT_NOT: 1}.get(code)
    if place is not None:
        return [value[place]]
    return [value] if code is op.ATOMIC_GROUP else []


class _Bounded(Searcher):
    """Searches with the package `regex`."""

    def __init__(self, pattern: str, ignore_case: bool) -> None:
        import regex  # noqa: PLC0415 - it may be missing where an agent has its own environment

        try:
            self._compiled = regex.compile(pattern, regex.IGNORECASE if ignore_case else 0)
        except regex.error as error:
            raise PatternError(str(error)) from error

    def _found(self, how: str, text: str, seconds: float) -> bool:
        try:
            return getattr(self._compiled, how)(text, timeout=seconds) is not None
        except TimeoutError:
            raise SearchError("took too long") from None


class StandardSearcher(Searcher):
    """Searches with Python's `re`, where no search of a text of this length can take much longer than it may."""

    def __init__(self, pattern: str, ignore_case: bool) -> None:
        self._compiled: re.Pattern[str] | None = None
        self._tree: Any = ()
        try:
            self._compiled = re.compile(pattern, re.IGNORECASE if ignore_case else 0)
            self._tree = parser.parse(pattern)
        except re.error as error:
            if not str(error).startswith(_READ_BY_REGEX_ALONE):
                raise PatternError(str(error)) from error

    def _found(self, how: str, text: str, seconds: float) -> bool:
        if self._compiled is None:
            raise SearchError(f"was not searched: {_NO_REGEX}, and Python's re cannot read it")
        most = int(seconds * _STEPS_PER_SECOND)
        is_anchored = how == "fullmatch" or (self._tree and self._tree[0] in _BEGINNINGS)
        if (1 if is_anchored else len(text) + 1) * _ways(self._tree, len(text), most) > most:
            raise SearchError(f"was not searched: {_NO_REGEX}, and Python's re could take too long")
        return getattr(self._compiled, how)(text) is not None


def _ways(tree: Any, length: int, most: int) -> int:
    """Return how many ways to match a text of a length a search may try at most; a number above `most` where it is more."""
    ways = 1
    for code, value in tree:
        ways *= _ways_of(code, value, length, most)
        if ways > most:
            return most + 1
    return ways


def _ways_of(code: Any, value: Any, length: int, most: int) -> int:
    if code in _REPEATS:
        low, high = int(value[0]), min(int(value[1]), length)
        each, counts = _ways(value[2], length, most), max(high - low, 0) + 1
        # One way for each count where the inner part has one; else each of the repetitions multiplies them.
        return counts if each == 1 else min(each ** min(max(high, low), most.bit_length()) * counts, most + 1)
    inner = _inner(code, value)
    return sum(_ways(one, length, most) for one in inner) if inner else 1
