"""Names that exist, for somebody who wrote one that does not."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

_NAMES_SHOWN = 8
_NAMES_COMPARED = 500
LONGEST_NAME = 60


def near(name: str, names: Iterable[str]) -> str:
    """Return which names there are, those alike first; long names are like none."""
    known = [known for known in names if isinstance(known, str) and len(known) <= LONGEST_NAME]
    alike = difflib.get_close_matches(name[: LONGEST_NAME + 1], known[:_NAMES_COMPARED], n=3, cutoff=0.6)
    if alike:
        return "did you mean " + " or ".join(alike) + "?"
    shown = ", ".join(known[:_NAMES_SHOWN]) + (", ..." if len(known) > _NAMES_SHOWN else "")
    return f"available: {shown}" if known else "nothing is available"
