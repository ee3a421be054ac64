"""Says where two JSON values differ, and how one text became another. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import Any

from evalset.verify.results import TextPiece, ValueDifference
from simulator.base.json_values import same
from simulator.environment.expressions.json_paths import field_place, item_place

_WORDS = re.compile(r"\s+|\w+|[^\w\s]")


def value_differences(golden: Any, actual: Any, place: str = "") -> Iterator[ValueDifference]:
    """Yield each place at which two values differ, by its path; nothing where they are the same."""
    if isinstance(golden, dict) and isinstance(actual, dict):
        for name in dict.fromkeys((*golden, *actual)):
            inner = field_place(place, name)
            if name not in actual:
                yield ValueDifference(path=inner, golden=golden[name], in_actual=False)
            elif name not in golden:
                yield ValueDifference(path=inner, actual=actual[name], in_golden=False)
            else:
                yield from value_differences(golden[name], actual[name], inner)
    elif isinstance(golden, list) and isinstance(actual, list):
        for index, (one, other) in enumerate(zip(golden, actual, strict=False)):
            yield from value_differences(one, other, item_place(place, index))
        for index in range(len(actual), len(golden)):
            yield ValueDifference(path=item_place(place, index), golden=golden[index], in_actual=False)
        for index in range(len(golden), len(actual)):
            yield ValueDifference(path=item_place(place, index), actual=actual[index], in_golden=False)
    elif not same(golden, actual):
        yield ValueDifference(path=place, golden=golden, actual=actual)


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
