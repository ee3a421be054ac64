"""Gives the id of a thing that a tool makes, in the style of the ids that are known, and never one that is taken."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from simulator.environment.conventions.chance import Chance
from simulator.environment.drafting import plausible

_NUMBERED = re.compile(r"(.*?)(\d{1,18})", re.DOTALL)
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_TRIES = 1_000


def new_id(name: str, known: Sequence[str | int], chance: Chance, *, whole: bool = False) -> str | int:
    """Give an id that no known thing has: the number after the last one where ids are counted, else one of its like.

    Args:
        name: The field, such as `order_id`.
        known: The ids of that kind that are known, the latest last.
        chance: Decides what is not given by the style.
        whole: Whether the id must be an integer, where none is known.
    """
    last = known[-1] if known else None
    if isinstance(last, int):
        return max(one for one in known if isinstance(one, int)) + 1
    if last is None:
        return 1_000 + chance.number(f"id:{name}", 9_000) if whole else plausible.identifier(name, chance)
    taken = {str(one) for one in known}
    if _UUID.fullmatch(last):
        return _free(taken, lambda place: plausible.uuid(f"{name}:{place}", chance))
    numbered = _NUMBERED.fullmatch(last)
    if numbered is None:
        return _free(
            taken,
            lambda place: plausible.identifier(name, Chance(str(chance.number(f"{name}:{place}", 2**53)))),
        )
    stem = numbered.group(1)
    alike = [
        match.group(2) for one in known if (match := _NUMBERED.fullmatch(str(one))) and match.group(1) == stem
    ]
    latest = max(map(int, alike))
    width = len(alike[-1]) if alike[-1].startswith("0") or len(set(map(len, alike))) == 1 else 0
    return f"{stem}{latest + 1:0{width}d}"


def _free(taken: set[str], draw: Callable[[int], str]) -> str:
    return next(made for place in range(_TRIES) if (made := draw(place)) not in taken)
