"""Reads a tool's answer, whatever shape it has: a record, a list, a text, an error, or nothing."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

NOT_FOUND = 404
TOO_MANY_REQUESTS = 429
SERVER_ERRORS = range(500, 600)

_BUSY_WORDS = ("unavailable", "timeout", "timed out", "try again", "overloaded", "temporar", "deadline")
_MISSING_WORDS = ("not found", "no such", "does not exist", "unknown ", "no order", "no record")
_ERROR_STATUSES = ("error", "failed", "failure")
_QUOTE_LENGTH = 160


@dataclass(frozen=True)
class ToolFailure:
    """The failure of a tool: a code where there is one, and its words."""

    code: int | str | None
    words: str

    @property
    def is_busy(self) -> bool:
        """Whether the same call may work a moment later."""
        if isinstance(self.code, int):
            return self.code == TOO_MANY_REQUESTS or self.code in SERVER_ERRORS
        return any(word in self._text for word in _BUSY_WORDS)

    @property
    def is_missing(self) -> bool:
        """Whether the thing that was asked for does not exist."""
        if isinstance(self.code, int):
            return self.code == NOT_FOUND
        return any(word in self._text for word in _MISSING_WORDS)

    @property
    def _text(self) -> str:
        return f"{self.code or ''} {self.words}".lower()

    def __str__(self) -> str:
        code = "" if self.code is None else f"{self.code}: "
        return f"{code}{self.words}" if self.words else code.rstrip(": ") or "no reason given"


@dataclass(frozen=True)
class Answer:
    """What a tool answered; `response` is the dict of ADK's `FunctionResponse`."""

    response: Mapping[str, Any]

    @property
    def value(self) -> Any:
        """What the tool returned: ADK wraps everything but a dict as `{"result": value}`."""
        return self.response["result"] if self.response.keys() == {"result"} else dict(self.response)

    @property
    def failure(self) -> ToolFailure | None:
        """The error that the answer reports, in one of the forms that tools use."""
        return _failure(self.value)

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing in the answer."""
        return self.value in (None, "", {}, [])

    def record(self, *wrappers: str, **wanted: str) -> dict[str, Any]:
        """Find the one record that the answer is about, or an empty dict.

        Args:
            *wrappers: Keys under which a tool may have put the record.
            **wanted: A field and the value that picks the record out of a list; with none that fits, the first.
        """
        return _record(self.value, wrappers, wanted)

    def records(self, *wrappers: str) -> list[dict[str, Any]]:
        """Find the records of the answer: a list of dicts, or one under one of the keys `wrappers`."""
        value = self.value
        if isinstance(value, dict):
            value = next((value[key] for key in wrappers if isinstance(value.get(key), list)), [])
        return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []

    def __str__(self) -> str:
        return quoted(self.value)


def number(value: object) -> float | None:
    """Read a number, also out of a text such as "49.90 EUR"; None where there is none."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    if isinstance(value, str):
        match = re.search(r"-?\d{1,15}(?:\.\d{1,6})?", value.replace(",", ""))
        if match is None:
            return None
        value = match.group()
    try:
        result = round(float(value), 2)
    except OverflowError:
        return None
    return result if math.isfinite(result) else None


def pick_number(record: Mapping[str, Any], *names: str) -> float | None:
    """Return the first of the fields that holds a number."""
    return next((found for name in names if (found := number(record.get(name))) is not None), None)


def pick_text(record: Mapping[str, Any], *names: str, default: str = "") -> str:
    """Return the first of the fields that holds a text, or a whole number written out; cut at a length to quote."""
    for name in names:
        value = record.get(name)
        if isinstance(value, str) and value.strip():
            return shortened(value)
        if isinstance(value, int) and not isinstance(value, bool):
            return shortened(str(value)) if abs(value) < 10**18 else default
    return default


def money(amount: float, currency: str) -> str:
    """Write an amount with its currency, as in "49.90 EUR"."""
    return f"{amount:.2f} {currency}".strip()


def shortened(text: str) -> str:
    """Put a text on one line, cut where it is too long to quote."""
    line = " ".join(text.split())
    return line if len(line) <= _QUOTE_LENGTH else f"{line[:_QUOTE_LENGTH]}..."


def quoted(value: object) -> str:
    """Write any JSON value so that it can stand in a sentence."""
    return shortened(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str))


def listed(items: Iterable[str]) -> str:
    """Join words as a person does: "a, b and c"."""
    words = list(items)
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1]))) if words else ""


def _failure(value: object) -> ToolFailure | None:
    if not isinstance(value, dict):
        return None
    error = value.get("error")
    if isinstance(error, dict):
        code = error.get("code", error.get("status"))
        return ToolFailure(_code(code), pick_text(error, "message", "details", default=quoted(error)))
    words = pick_text(value, "error_message", "error", "message", "detail")
    if value.get("error_code") is not None or value.get("error_message") or error:
        return ToolFailure(_code(value.get("error_code")), words or quoted(value))
    if str(value.get("status")).lower() in _ERROR_STATUSES:
        return ToolFailure(_code(value.get("code")), words or quoted(value))
    return None


def _code(value: object) -> int | str | None:
    if isinstance(value, str) and re.fullmatch(r"\d{1,4}", value.strip(), re.ASCII):
        return int(value)
    if isinstance(value, bool) or not isinstance(value, (int, str)):
        return None
    return shortened(value) if isinstance(value, str) else value


def _record(value: object, wrappers: tuple[str, ...], wanted: Mapping[str, str]) -> dict[str, Any]:
    if isinstance(value, list):
        records = [item for item in value if isinstance(item, dict)]
        fitting = (item for item in records if any(item.get(key) == wanted[key] for key in wanted))
        return next(fitting, records[0] if records else {})
    if not isinstance(value, dict):
        return {}
    for key in wrappers:
        if isinstance(value.get(key), (dict, list)):
            return _record(value[key], wrappers, wanted)
    return value
