"""Compares two texts line by line, for a person: what went, what came, and a little around it. Pure."""

from __future__ import annotations

from contextlib import suppress

from pydantic import JsonValue

from app.forms.typed_json import TypedJsonError, parse_json, write_json
from simulator.base.frozen_value import Value
from simulator.base.line_differences import hunks

AROUND = 2
"""How many unchanged lines are shown before and after a change."""

MOST_LINES = 400
"""Of longer texts only the beginning is compared, as nobody reads more."""

_GAP = "  \u2026"


class Difference(Value):
    """What two texts differ in.

    `text` has a sign before each line: `-` is only in the first, `+` only in the second; it is empty where they are the
    same. `removed` and `added` count those lines; `is_cut` says that the rest of a long text was not compared.
    """

    text: str = ""
    removed: int = 0
    added: int = 0
    is_cut: bool = False


def difference(before: str, after: str) -> Difference:
    """Compare two texts."""
    if before == after:
        return Difference()
    old, new = before.splitlines(), after.splitlines()
    is_cut = len(old) > MOST_LINES or len(new) > MOST_LINES
    old, new = old[:MOST_LINES], new[:MOST_LINES]
    lines: list[str] = []
    removed = added = 0
    for hunk in hunks(old, new, AROUND):
        if lines or hunk.start:
            lines.append(_GAP)
        place = hunk.start
        for block in hunk.blocks:
            lines += [f"  {line}" for line in old[place : block.a]]
            lines += [f"- {line}" for line in old[block.a : block.a_end]]
            lines += [f"+ {line}" for line in new[block.b : block.b_end]]
            removed, added = removed + block.a_end - block.a, added + block.b_end - block.b
            place = block.a_end
        lines += [f"  {line}" for line in old[place : hunk.stop]]
        if hunk.stop < len(old):
            lines.append(_GAP)
    text = "\n".join(
        line for place, line in enumerate(lines) if line != _GAP or lines[place - 1 : place] != [_GAP]
    )
    return Difference(text=text, removed=removed, added=added, is_cut=is_cut)


def value_difference(before: JsonValue, text: str) -> Difference:
    """Compare a value with a text that may be JSON: how it is spaced makes no difference then."""
    with suppress(TypedJsonError):
        text = write_json(parse_json(text))
    return difference(write_json(before), text)
