"""What judges of any domain ask of texts: that they are names, moments, addresses of pages."""

from __future__ import annotations

import datetime as dt
import re
from typing import Any

NAME = re.compile(r"(?:[A-Z][\w'\u2019-]+\.? ){1,2}[A-Z][\w'\u2019-]+(?: (?:MD|DDS|DVM|PhD|Jr\.|[IV]+))?")
NO_NAMES = re.compile(
    r"lamp|mug|hotel|airways|traders|harbour|notebook|bottle|keyboard|example|systems", re.IGNORECASE
)


def is_person(text: Any) -> bool:
    """Tell whether a text is the name of a person."""
    return isinstance(text, str) and bool(NAME.fullmatch(text)) and not NO_NAMES.search(text)


def is_moment(text: Any) -> bool:
    """Tell whether a text is a day with a time, as programs write it."""
    try:
        read = dt.datetime.fromisoformat(text)
    except (TypeError, ValueError):
        return False
    return read.year in range(2020, 2031) and len(text) > len("2026-01-01")


def is_clock(text: Any) -> bool:
    """Tell whether a text is a time of the day when people work."""
    return isinstance(text, str) and bool(re.fullmatch(r"(0[7-9]|1[0-9]|20):[0-5]\d(:00)?Z?", text))


def is_url(text: Any) -> bool:
    """Tell whether a text is the address of a page."""
    return isinstance(text, str) and bool(re.fullmatch(r"https?://[\w.-]+(/[\w./?=&%-]*)?", text))


def records_in(answer: Any) -> list[dict[str, Any]]:
    """Give the objects of a list, or of the one list of an object."""
    if isinstance(answer, dict):
        lists = [value for value in answer.values() if isinstance(value, list)]
        answer = lists[0] if len(lists) == 1 else []
    return [one for one in answer if isinstance(one, dict) and one] if isinstance(answer, list) else []
