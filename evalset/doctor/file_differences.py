"""Shows how two texts differ, line by line, in a time that grows with their lengths alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

_CONTEXT = 3
_WINDOWS = (16, 256, 4096)
_SHORT = 300
_LONGEST_LINE = 400
_MOST_LINES = 5_000


class _Block(NamedTuple):
    """Lines `[a, a_end)` of the old text that became lines `[b, b_end)` of the new one."""

    a: int
    a_end: int
    b: int
    b_end: int


def unified(before: bytes, after: bytes, name: str) -> str:
    """Return a unified diff; empty where nothing differs.

    What is no text in UTF-8 shows its odd bytes escaped. A line of more than 400 characters is cut around what differs in
    it, and a diff of more than 5,000 lines behind them.
    """
    if before == after:
        return ""
    old, new = _lines(before), _lines(after)
    lines = [f"--- {name}", f"+++ {name} (mended)"]
    for line in _hunks(old, new, list(_blocks(old, new))):
        if len(lines) >= _MOST_LINES:
            lines.append("... (the rest of the diff is left out)")
            break
        lines.append(line)
    return "\n".join(lines) + "\n"


def _lines(text: bytes) -> list[str]:
    return text.decode("utf-8", "backslashreplace").split("\n")


def _blocks(old: Sequence[str], new: Sequence[str]) -> Iterator[_Block]:
    """Find what differs: behind each difference the texts are brought together where they agree again."""
    a = b = 0
    while a < len(old) or b < len(new):
        if a < len(old) and b < len(new) and old[a] == new[b]:
            a, b = a + 1, b + 1
            continue
        more_a, more_b = _until_they_agree(old[a : a + _WINDOWS[-1]], new[b : b + _WINDOWS[-1]])
        yield from _smaller(old, new, _Block(a, a + more_a, b, b + more_b))
        a, b = a + more_a, b + more_b


def _smaller(old: Sequence[str], new: Sequence[str], block: _Block) -> Iterator[_Block]:
    """Leave out of a block, where it is short, the lines that stayed."""
    gone, come = old[block.a : block.a_end], new[block.b : block.b_end]
    if max(len(gone), len(come)) > _SHORT:
        yield block
        return
    for tag, a, a_end, b, b_end in SequenceMatcher(None, gone, come, autojunk=False).get_opcodes():
        if tag != "equal":
            yield _Block(block.a + a, block.a + a_end, block.b + b, block.b + b_end)


def _until_they_agree(old: Sequence[str], new: Sequence[str]) -> tuple[int, int]:
    """Return how many lines of each to pass over until three lines, or the ends, are the same."""
    for window in _WINDOWS:
        ahead: dict[tuple[str, ...], int] = {}
        for place in range(min(window, len(new) + 1)):
            ahead.setdefault(tuple(new[place : place + _CONTEXT]), place)
        found = (
            (place, ahead[seen])
            for place in range(min(window, len(old) + 1))
            if (seen := tuple(old[place : place + _CONTEXT])) in ahead
        )
        if (best := min(found, key=_total, default=None)) is not None and _total(best):
            return best
        if window >= max(len(old), len(new)):
            break
    return len(old), len(new)


def _total(pair: tuple[int, int]) -> int:
    return pair[0] + pair[1]


def _hunks(old: Sequence[str], new: Sequence[str], blocks: list[_Block]) -> Iterator[str]:
    group: list[_Block] = []
    for block in blocks:
        if group and block.a - group[-1].a_end > 2 * _CONTEXT:
            yield from _hunk(old, new, group)
            group = []
        group.append(block)
    if group:
        yield from _hunk(old, new, group)


def _hunk(old: Sequence[str], new: Sequence[str], group: list[_Block]) -> Iterator[str]:
    first, last = group[0], group[-1]
    lead = min(_CONTEXT, first.a)
    start, stop = first.a - lead, min(len(old), last.a_end + _CONTEXT)
    new_start, new_stop = first.b - lead, min(len(new), last.b_end + stop - last.a_end)
    yield f"@@ -{start + 1},{stop - start} +{new_start + 1},{new_stop - new_start} @@"
    place = start
    for block in group:
        yield from (f" {_cut(line)}" for line in old[place : block.a])
        gone, come = old[block.a : block.a_end], new[block.b : block.b_end]
        for index, line in enumerate(gone):
            yield f"-{_cut(line, come[index] if index < len(come) else '')}"
        for index, line in enumerate(come):
            yield f"+{_cut(line, gone[index] if index < len(gone) else '')}"
        place = block.a_end
    yield from (f" {_cut(line)}" for line in old[place:stop])


def _cut(line: str, other: str = "") -> str:
    """Cut a long line around the first place where it differs from another one."""
    if len(line) <= _LONGEST_LINE:
        return line
    shared = next((at for at, pair in enumerate(zip(line, other, strict=False)) if pair[0] != pair[1]), 0)
    start = max(0, shared - _LONGEST_LINE // 4)
    end = min(len(line), start + _LONGEST_LINE)
    return f"{'…' if start else ''}{line[start:end]}{'…' if end < len(line) else ''}"
