"""Puts what pydantic found wrong with a document into words for people."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from pydantic_core import ErrorDetails

_SHOWN = 80


def complaint(detail: ErrorDetails, known: Iterable[str]) -> str:
    """Return what is wrong with one field; `known` are the names that a misspelt one may have meant."""
    got = f"got {detail['input']!r:.{_SHOWN}}"
    match detail["type"]:
        case "extra_forbidden":
            near = difflib.get_close_matches(str(detail["loc"][-1]), list(known), n=1)
            return "unknown field" + (f"; did you mean {near[0]!r}?" if near else "")
        case "missing":
            return "this field is required"
        case "value_error":
            return detail["msg"].removeprefix("Value error, ")
        case "model_type" | "model_attributes_type":
            return f"Input should be an object, {got}"
        case "tuple_type":
            return f"Input should be a list, {got}"
        case _:
            return f"{detail['msg']}, {got}"
