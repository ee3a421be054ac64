"""Gives the id of a thing that a tool makes, in the style of the ids that are known, and never one that is taken."""

from __future__ import annotations

import re
from collections.abc import Sequence

from simulator.environment.conventions.entity_kinds import id_kind, is_own_key
from simulator.environment.conventions.seeded_choice import Chance

_FEWEST, _MANY = 1_000, 9_000
_NUMBERED = re.compile(r"(.*?)(\d{1,18})", re.DOTALL)
_DRAWN = re.compile(r"\d[0-9A-Za-z]*")
"""What differs between ids such as `ord_8f3k` and `9b2e-4f1c`."""


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


def is_new_id(name: str, path: str, kind: str) -> bool:
    """Return whether a field of an answer is the id of the one thing of a kind that the call makes: the tool may choose it."""
    if not kind or "[" in path or not is_own_key(name, kind):
        return False
    return id_kind(name) == kind or path in {f"$.{one}id" for one in ("", f"{kind}.", "data.", "result.")}


def drawn_number(kind: str, chance: Chance) -> int:
    """Draw the number of a thing of which no other is known."""
    return _FEWEST + chance.number(f"new {kind}", _MANY)


def drawn_id(kind: str, chance: Chance, like: str = "") -> str:
    """Draw the id of a thing: in the shape of another one that is not counted on, else `ORD-4821`."""
    made = _DRAWN.sub(
        lambda part: "".join(_alike(one, part.start(), chance) for one in enumerate(part[0])), like
    )
    return made if made != like else f"{kind[:3].upper()}-{drawn_number(kind, chance)}"


def _alike(sign: tuple[int, str], start: int, chance: Chance) -> str:
    number = chance.number(f"sign {start + sign[0]}", 30)
    drawn = str(number % 10) if sign[1].isdigit() else "abcdef"[number % 6]
    return drawn.upper() if sign[1].isupper() else drawn
