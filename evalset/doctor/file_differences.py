"""Shows how two states of a file differ, as a unified diff."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from simulator.base.line_differences import hunks

_CONTEXT = 3
_LONGEST_LINE = 400
_MOST_LINES = 5_000


def unified(before: bytes, after: bytes, name: str) -> str:
    """Return a unified diff; empty where nothing differs.

    What is no text in UTF-8 shows its odd bytes escaped. A line of more than 400 characters is cut around what differs in
    it, and a diff of more than 5,000 lines behind them.
    """
    if before == after:
        return ""
    old, new = _lines(before), _lines(after)
    lines = [f"--- {name}", f"+++ {name} (fixed)"]
    for line in _written(old, new):
        if len(lines) >= _MOST_LINES:
            lines.append("... (diff truncated)")
            break
        lines.append(line)
    return "\n".join(lines) + "\n"


def _lines(text: bytes) -> list[str]:
    return text.decode("utf-8", "backslashreplace").split("\n")


def _written(old: Sequence[str], new: Sequence[str]) -> Iterator[str]:
    for hunk in hunks(old, new, _CONTEXT):
        start, stop = hunk.start, hunk.stop
        yield f"@@ -{start + 1},{stop - start} +{hunk.new_start + 1},{hunk.new_stop - hunk.new_start} @@"
        place = start
        for block in hunk.blocks:
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
