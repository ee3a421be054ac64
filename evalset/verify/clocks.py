"""Tells whether a value is the time that a clock showed at a moment: a number of seconds, or a text that people or programs write. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from email.utils import parsedate_to_datetime
from functools import partial
from typing import Any

_UNITS = (1.0, 1e3, 1e6, 1e9)
"""How many of a number's units are a second: seconds, and what milli-, micro- and nanoseconds are counted in."""

_SLACK = 5.0
_AN_HOUR = 3600.0
_FURTHEST_ZONE = timedelta(hours=15)
_FORMATS = (
    "%a %b %d %H:%M:%S %Y",
    "%Y/%m/%d %H:%M:%S",
    "%d/%m/%Y %H:%M:%S",
    "%m/%d/%Y %H:%M:%S",
    "%Y%m%d%H%M%S",
    "%Y%m%d_%H%M%S",
)
_DAYS = (
    "%Y-%m-%d",
    "%Y/%m/%d",
    "%d/%m/%Y",
    "%m/%d/%Y",
    "%d.%m.%Y",
    "%B %d, %Y",
    "%b %d, %Y",
    "%d %B %Y",
    "%d %b %Y",
    "%Y%m%d",
)
_HOURS = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)(:[0-5]\d(\.\d+)?)?( ?[AaPp][Mm])?")
_NUMBERS = re.compile(r"\d{10,19}(\.\d+)?")
_LONGEST = 64


def is_clock(value: Any, began: float, ended: float) -> bool:
    """Tell whether a value is a time between two moments, in seconds since the epoch, wherever the clock stands."""
    if isinstance(value, bool):
        return False
    if isinstance(value, (int, float)):
        return any(began - _SLACK <= value / unit <= ended + _SLACK for unit in _UNITS)
    return isinstance(value, str) and len(value) <= _LONGEST and _is_clock_text(value.strip(), began, ended)


def _is_clock_text(text: str, began: float, ended: float) -> bool:
    if _NUMBERS.fullmatch(text):
        return is_clock(float(text), began, ended)
    if _HOURS.fullmatch(text):
        return ended - began > _AN_HOUR or _is_minute(text, ended)
    for day in _days(began) | _days(ended):
        if any(day.strftime(form) == text for form in _DAYS):
            return True
    low, high = (datetime.fromtimestamp(moment, UTC) for moment in (began - 60, ended + 60))
    return any(low - _FURTHEST_ZONE <= found <= high + _FURTHEST_ZONE for found in _moments(text))


def _is_minute(text: str, moment: float) -> bool:
    """Tell whether a text is the hour and the minute of a moment, in UTC or where this runs; a minute more or less."""
    hour, minute = text.split(":")[:2]
    there = datetime.fromtimestamp(moment, UTC)
    near = [there + timedelta(minutes=minutes) for minutes in (-1, 0, 1)]
    known = {(each.hour % 12, each.minute) for at in near for each in (at, at.astimezone())}
    return (int(hour) % 12, int(minute[:2])) in known


def _moments(text: str) -> Iterator[datetime]:
    """Read a text as a moment in each way that fits; without a zone it is taken as one of UTC."""
    readers: list[Callable[[str], datetime]] = [datetime.fromisoformat, parsedate_to_datetime]
    readers += [partial(_of_form, form) for form in _FORMATS]
    for read in readers:
        try:
            found = read(text)
        except (ValueError, TypeError, IndexError, OverflowError):
            continue
        yield found if found.tzinfo else found.replace(tzinfo=UTC)


def _of_form(form: str, text: str) -> datetime:
    return datetime.strptime(text, form).replace(tzinfo=UTC)


def _days(moment: float) -> set[date]:
    """Return the days that it is at a moment, somewhere on earth."""
    there = datetime.fromtimestamp(moment, UTC)
    return {(there + shift).date() for shift in (-_FURTHEST_ZONE, timedelta(), _FURTHEST_ZONE)}
