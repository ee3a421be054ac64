"""Says where two JSON values differ, and how one text became another. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import Any

from evalset.verify.results import TextPiece, ValueDifference
from simulator.base.json_differences import ABSENT, differing

_WORDS = re.compile(r"\s+|\w+|[^\w\s]")


def value_differences(golden: Any, actual: Any, place: str = "") -> Iterator[ValueDifference]:
    """Yield each place at which two values differ, by its path; nothing where they are the same."""
    for at, ours, theirs in differing(golden, actual, place):
        yield ValueDifference(
            path=at,
            golden=None if ours is ABSENT else ours,
            actual=None if theirs is ABSENT else theirs,
            in_golden=ours is not ABSENT,
            in_actual=theirs is not ABSENT,
        )


def text_pieces(golden: str, actual: str) -> tuple[TextPiece, ...]:
    """Cut two texts into pieces that both have and that only one has; together they are the whole of each."""
    ours, theirs = _WORDS.findall(golden), _WORDS.findall(actual)
    pieces: list[TextPiece] = []
    for kind, g, g_end, a, a_end in SequenceMatcher(None, ours, theirs, autojunk=False).get_opcodes():
        if kind == "equal":
            pieces.append(TextPiece(kind="same", text="".join(ours[g:g_end])))
            continue
        if g < g_end:
            pieces.append(TextPiece(kind="golden", text="".join(ours[g:g_end])))
        if a < a_end:
            pieces.append(TextPiece(kind="actual", text="".join(theirs[a:a_end])))
    return tuple(pieces)
