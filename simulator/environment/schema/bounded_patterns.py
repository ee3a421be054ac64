"""Searches for the regular expressions of schemas that others wrote, within bounds of time and of memory."""

from __future__ import annotations

import re
from functools import lru_cache
from re import _constants as op  # type: ignore[attr-defined] # the parser of `re` has no public name since 3.11
from re import _parser as parser  # type: ignore[attr-defined] # as above
from typing import Any

from simulator.environment.regexes import Searcher, SearchError, searcher

LARGEST = 20_000
"""How many signs a pattern may come to, with its repetitions written out; to make one ready takes as much time and room."""
_REPEATS = (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT)
_MOST_NESTED = 100


class UnboundedPatternError(ValueError):
    """A pattern is too large, or a search for it takes too long; the text says which."""


def is_found(pattern: str, text: str, seconds: float) -> bool:
    """Tell whether a pattern is found in a text.

    Raises:
        UnboundedPatternError: It would take too much time or memory to tell.
        PatternError: It cannot be read.
    """
    try:
        return _ready(pattern).search(text, seconds)
    except SearchError as error:
        raise UnboundedPatternError(
            f"it cannot be told whether it matches {pattern!r}: the search {error}"
        ) from None


@lru_cache(maxsize=512)
def tree_of(pattern: str) -> Any:
    """Give a pattern as Python's own parser reads it; None where it cannot. Must not be changed, as it is kept."""
    if len(pattern) > LARGEST:
        return None
    try:
        return parser.parse(pattern)
    except (re.error, OverflowError, RecursionError):
        return None


@lru_cache(maxsize=512)
def least_size(pattern: str) -> int:
    """Say how many signs a pattern comes to, with each repetition written out as often as it must be; 0 where unknown."""
    tree = tree_of(pattern)
    return 0 if tree is None else _size(tree, 0)


@lru_cache(maxsize=512)
def _ready(pattern: str) -> Searcher:
    tree = tree_of(pattern)
    size = _unread_size(pattern) if tree is None else _size(tree, 0)
    if size > LARGEST:
        raise UnboundedPatternError(f"{pattern[:200]!r} repeats too much to be checked")
    return searcher(pattern)


def _size(tree: Any, depth: int) -> int:
    if depth > _MOST_NESTED:
        return LARGEST + 1
    size = 0
    for code, value in tree:
        if code in _REPEATS:
            size += max(int(value[0]), 1) * max(_size(value[2], depth + 1), 1)
        elif code is op.SUBPATTERN:
            size += _size(value[-1], depth + 1)
        elif code is op.ATOMIC_GROUP:
            size += _size(value, depth + 1)
        elif code is op.BRANCH:
            size += sum(_size(one, depth + 1) for one in value[1])
        elif code in (op.ASSERT, op.ASSERT_NOT):
            size += _size(value[1], depth + 1)
        elif code is op.GROUPREF_EXISTS:
            size += sum(_size(one, depth + 1) for one in value[1:] if one is not None)
        else:
            size += 1
    return size


def _unread_size(pattern: str) -> int:
    """Say how large a pattern may be that only the other library reads: as if each repetition held all before it."""
    size = len(pattern)
    for times in re.findall(r"\{(\d+)", pattern):
        size *= max(int(times[:9]), 1)
    return size
