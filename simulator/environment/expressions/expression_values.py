"""Brings what expressions give into JSON: as a text, or as a value of its own."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from simulator.base.work_limit import MOST_IN_ALL, make, weight


def text(value: object = "") -> str:
    """Write a value as a text: a text as it is, anything else as JSON.

    Raises:
        TooMuchWorkError: It would be too long.
        TypeError: It holds something that JSON has no word for.
    """
    if not isinstance(value, str):
        return json_text(value)
    make(len(value))
    return value


def json_text(value: object) -> str:
    """Write a value as JSON; raises as `text`."""
    make(weight(value))
    written = json.dumps(value, ensure_ascii=False, allow_nan=False, default=_as_json)
    make(len(written))
    return written


def plain(value: object) -> Any:
    """Return a value in which only objects, lists, texts, numbers, true, false and null are left, nothing shared.

    Raises:
        TooMuchWorkError: It is too large.
        TypeError: It holds something else.
    """
    if not isinstance(value, (bool, float)):
        make(weight(value), MOST_IN_ALL)
    return _plain(value)


def _plain(value: object) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        raise TypeError("it returns NaN or Infinity, which JSON cannot represent")
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, Mapping):
        return {key if isinstance(key, str) else text(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(inner) for inner in value]
    raise TypeError(f"it returns {_described(value)}")


def _as_json(value: object) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"it uses as text: {_described(value)}")


def _described(value: object) -> str:
    told = getattr(value, "described", None)  # raises where it is missing
    if told is None and callable(value):
        name = getattr(value, "__name__", "")
        told = f"the function {name}; write {name}() to call it"
    return told if isinstance(told, str) else f"a {type(value).__name__}, which is not a JSON value"
