"""Names that exist, for somebody who wrote one that does not."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

_NAMES_SHOWN = 8
_LONGEST_COMPARED, _CHARACTERS_COMPARED = 500, 60_000
LONGEST_NAME = 60
"""A longer name is shown up to here."""


def near(name: str, names: Iterable[str]) -> str:
    """Return which names there are: those that begin like it, else those alike, else the first ones."""
    known = [known for known in names if isinstance(known, str)]
    compared, size = [], 0
    for one in (one for one in known if len(one) <= _LONGEST_COMPARED):
        size += len(one)
        if size > _CHARACTERS_COMPARED:
            break
        compared.append(one)
    begun = [one for one in known if name and one.startswith(name)]
    alike = begun[:3] or difflib.get_close_matches(name[:_LONGEST_COMPARED], compared, n=3, cutoff=0.6)
    if alike:
        return "did you mean " + " or ".join(alike) + "?"
    shown = ", ".join(_short(one) for one in known[:_NAMES_SHOWN])
    return (
        f"available: {shown}{', ...' if len(known) > _NAMES_SHOWN else ''}"
        if known
        else "nothing is available"
    )


def _short(name: str) -> str:
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}\u2026"
