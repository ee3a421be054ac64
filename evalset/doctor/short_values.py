"""Shows values of files in a few words."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

_LONGEST = 60


def short(value: Any) -> str:
    """Write a value as JSON, cut where it is long."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}… ({len(text)} characters)"


def listed(names: Iterable[str]) -> str:
    """List names once each, in the order in which they came."""
    return ", ".join(dict.fromkeys(names))
