"""Finds the lines in which two texts differ, in a time that grows with their lengths alone. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

_AGREED = 3
"""So many lines that are the same bring two texts together again."""

_WINDOWS = (16, 256, 4096)
_SHORT = 300


class LineChange(NamedTuple):
    """Lines `[a, a_end)` of the old text that became lines `[b, b_end)` of the new one."""

    a: int
    a_end: int
    b: int
    b_end: int


class Hunk(NamedTuple):
    """Changes that stand near each other, with some lines around: `[start, stop)` of the old text, `[new_start, new_stop)` of the new one."""

    blocks: tuple[LineChange, ...]
    start: int
    stop: int
    new_start: int
    new_stop: int


def hunks(old: Sequence[str], new: Sequence[str], around: int) -> Iterator[Hunk]:
    """Yield what differs, with so many lines around; changes whose surroundings touch stand together."""
    group: list[LineChange] = []
    for block in _blocks(old, new):
        if group and block.a - group[-1].a_end > 2 * around:
            yield _hunk(old, new, group, around)
            group = []
        group.append(block)
    if group:
        yield _hunk(old, new, group, around)


def _hunk(old: Sequence[str], new: Sequence[str], group: list[LineChange], around: int) -> Hunk:
    first, last = group[0], group[-1]
    lead = min(around, first.a)
    stop = min(len(old), last.a_end + around)
    new_stop = min(len(new), last.b_end + stop - last.a_end)
    return Hunk(tuple(group), first.a - lead, stop, first.b - lead, new_stop)


def _blocks(old: Sequence[str], new: Sequence[str]) -> Iterator[LineChange]:
    """Find what differs: behind each difference the texts are brought together where they agree again."""
    a = b = 0
    while a < len(old) or b < len(new):
        if a < len(old) and b < len(new) and old[a] == new[b]:
            a, b = a + 1, b + 1
            continue
        more_a, more_b = _until_they_agree(old[a : a + _WINDOWS[-1]], new[b : b + _WINDOWS[-1]])
        yield from _smaller(old, new, LineChange(a, a + more_a, b, b + more_b))
        a, b = a + more_a, b + more_b


def _smaller(old: Sequence[str], new: Sequence[str], block: LineChange) -> Iterator[LineChange]:
    """Leave out of a block, where it is short, the lines that stayed."""
    gone, come = old[block.a : block.a_end], new[block.b : block.b_end]
    if max(len(gone), len(come)) > _SHORT:
        yield block
        return
    for tag, a, a_end, b, b_end in SequenceMatcher(None, gone, come, autojunk=False).get_opcodes():
        if tag != "equal":
            yield LineChange(block.a + a, block.a + a_end, block.b + b, block.b + b_end)


def _until_they_agree(old: Sequence[str], new: Sequence[str]) -> tuple[int, int]:
    """Return how many lines of each to pass over until three lines, or the ends, are the same."""
    for window in _WINDOWS:
        ahead: dict[tuple[str, ...], int] = {}
        for place in range(min(window, len(new) + 1)):
            ahead.setdefault(tuple(new[place : place + _AGREED]), place)
        found = (
            (place, ahead[seen])
            for place in range(min(window, len(old) + 1))
            if (seen := tuple(old[place : place + _AGREED])) in ahead
        )
        if (best := min(found, key=_total, default=None)) is not None and _total(best):
            return best
        if window >= max(len(old), len(new)):
            break
    return len(old), len(new)


def _total(pair: tuple[int, int]) -> int:
    return pair[0] + pair[1]
