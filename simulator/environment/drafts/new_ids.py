"""Gives the id of a thing that a tool makes, in the style of the ids that are known, and never one that is taken."""

from __future__ import annotations

import re
from collections.abc import Sequence

_NUMBERED = re.compile(r"(.*?)(\d{1,18})", re.DOTALL)


def next_id(known: Sequence[str | int]) -> str | int | None:
    """Return the id that follows some, the latest last: the next number where they are counted; None where they are not."""
    last = known[-1] if known else None
    if isinstance(last, int):
        return max(one for one in known if isinstance(one, int)) + 1
    numbered = _NUMBERED.fullmatch(last) if last is not None else None
    if numbered is None:
        return None
    stem = numbered.group(1)
    alike = [
        match.group(2) for one in known if (match := _NUMBERED.fullmatch(str(one))) and match.group(1) == stem
    ]
    width = len(alike[-1]) if alike[-1].startswith("0") or len(set(map(len, alike))) == 1 else 0
    return f"{stem}{max(map(int, alike)) + 1:0{width}d}"
