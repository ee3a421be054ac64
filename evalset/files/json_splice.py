"""Finds where a new case goes in the text of an eval set, and writes it in the manner of its neighbours.

Works on bytes that are known to be valid JSON. Nothing outside of the insertion is ever touched, and only the
end of the text is read: JSON strings hold no bare quote, so its tokens can be told apart from behind as well.
Places that are asked for by their path are found from the front, by `simulator.base.json_places`.
"""

from __future__ import annotations

import json
import re
from typing import Any

from pydantic_core import from_json, to_json

from simulator.base.frozen_value import Value
from simulator.base.json_places import Span

_WINDOW, _NEAR = 1 << 14, 1 << 8
"""How many bytes are looked at first for an opening bracket, and for one token."""
_GROWTH = 8
_BLANK = b" \t\r\n"
_CLOSING = frozenset({b"]", b"}"})
_BLANKS = re.compile(rb"[ \t\r\n]*+")
# In reversed text: a quote that a backslash follows is an escaped one inside of its string.
_TOKEN_BACK = re.compile(rb'"(?:[^"]++|"(?=\\))*+"|[\[\]{},:]|[^ \t\r\n"\[\]{},:]++')
# All up to the next bracket outside of strings, and that bracket.
_TO_BRACKET_BACK = re.compile(rb'(?:[^"\[\]{}]++|"(?:[^"]++|"(?=\\))*+")*+(?P<bracket>[\[\]{}])')
_FIRST_KEY = re.compile(rb'\{[ \t\r\n]*+"(?:[^"\\]++|\\.)*+"[ \t\r\n]*+:(?P<gap>[ \t\r\n]*+)')


class Style(Value):
    """How a case is written: `unit` is one step of indentation, None for all on one line."""

    newline: str = "\n"
    indent: str = ""
    unit: str | None = None
    spaced: bool = True

    def write(self, case: dict[str, Any]) -> bytes:
        """Write a case in UTF-8, its first line without indentation.

        Args:
            case: Whatever pydantic writes as JSON: bytes become base64, an enumeration's member its value.

        Raises:
            ValueError: JSON or UTF-8 has no form for something in it.
        """
        if self.unit and self.spaced and not self.unit.strip(" "):
            written = _json(case, len(self.unit))
        else:
            space = " " if self.spaced else ""
            separators = ("," if self.unit is not None else f",{space}", f":{space}")
            plain = from_json(_json(case))
            written = json.dumps(plain, ensure_ascii=False, indent=self.unit, separators=separators).encode()
        return written.replace(b"\n", f"{self.newline}{self.indent}".encode())


def _json(value: Any, indent: int | None = None) -> bytes:
    """Write a value, ten times faster than the standard library does; refuse what that refuses."""
    written = to_json(value, indent=indent, inf_nan_mode="constants", bytes_mode="base64")
    if b"NaN" in written or b"Infinity" in written:  # the word may stand in a string, too
        json.dumps(from_json(written), allow_nan=False)
    return written


class Layout(Value):
    """Where the next case goes: `lead` stands before it, `trail` after it; `next_lead` before those that follow."""

    insert_at: int
    lead: bytes
    trail: bytes = b""
    next_lead: bytes
    style: Style

    def moved(self, length: int) -> Layout:
        """Return the layout of the text in which so many bytes of new cases are inserted, without the trail."""
        return Layout(
            insert_at=self.insert_at + length,
            lead=self.next_lead,
            next_lead=self.next_lead,
            style=self.style,
        )


def find_layout(text: bytes, members_after: int) -> Layout:
    """Find where the next case goes.

    Args:
        text: A valid JSON object in UTF-8 whose member `eval_cases` is an array of objects.
        members_after: How many members of the object stand behind `eval_cases`.
    """
    end = _token_before(text, len(text))[0]
    for _ in range(members_after):
        colon = _token_before(text, _value_start(text, end))
        key = _token_before(text, colon[0])
        end = _token_before(text, key[0])[0]
    closing = _token_before(text, end)
    last = _token_before(text, closing[0])
    if text[slice(*last)] == b"[":
        return _layout_of_empty(text, last[1])
    start = _value_start(text, closing[0])
    before = _token_before(text, start)
    return _layout_behind(text, gap=text[before[1] : start], start=start, stop=last[1])


def _token_before(text: bytes, end: int) -> Span:
    """Return the place of the last token before `end`."""
    size = _NEAR
    while True:
        start = max(0, end - size)
        window = text[start:end][::-1]
        blanks = _BLANKS.match(window)
        token = _TOKEN_BACK.match(window, blanks.end() if blanks else 0)
        if token and (token.end() < len(window) or start == 0):
            return end - token.end(), end - token.start()
        if start == 0:
            raise ValueError(f"not valid JSON before byte {end}")
        size *= _GROWTH


def _value_start(text: bytes, end: int) -> int:
    """Return the place where the value starts whose last token is the last before `end`."""
    last = _token_before(text, end)
    if text[slice(*last)] not in _CLOSING:
        return last[0]
    size = _WINDOW
    while True:
        start = max(0, last[1] - size)
        opening = _opening(text[start : last[1]][::-1])
        if opening is not None:
            return last[1] - opening
        if start == 0:
            raise ValueError(f"not valid JSON before byte {end}")
        size *= _GROWTH


def _opening(window: bytes) -> int | None:
    """Find, in reversed text that begins with a closing bracket, the end of its opening one; None if it is further."""
    depth = place = 0
    while found := _TO_BRACKET_BACK.match(window, place):
        place = found.end()
        depth += 1 if found["bracket"] in _CLOSING else -1
        if depth == 0:
            return place
    return None


def _layout_behind(text: bytes, *, gap: bytes, start: int, stop: int) -> Layout:
    """Continue an array whose last element is `text[start:stop]`, with `gap` before it."""
    inner = _blanks_at(text, start + 1)
    if _has_line_break(inner):
        outer = text[start : stop - 1]
        indent = _indent(outer[len(outer.rstrip(_BLANK)) :])
        deeper = _indent(inner)
        unit = deeper[len(indent) :] if deeper.startswith(indent) else "  "
        style = Style(newline=_line_break(inner), indent=indent, unit=unit, spaced=_is_spaced(text, start))
    else:
        style = Style(spaced=_is_spaced(text, start))
    lead = b"," + (gap or (b" " if style.spaced else b""))
    return Layout(insert_at=stop, lead=lead, next_lead=lead, style=style)


def _layout_of_empty(text: bytes, stop: int) -> Layout:
    """Fill an empty array, whose bracket ends at `stop`, in the manner of the object around it."""
    opening = text.index(b"{")
    inner = _blanks_at(text, opening + 1)
    spaced = _is_spaced(text, opening)
    if not _has_line_break(inner):
        next_lead = b", " if spaced else b","
        return Layout(insert_at=stop, lead=b"", next_lead=next_lead, style=Style(spaced=spaced))
    newline, unit = _line_break(inner), _indent(inner)
    style = Style(newline=newline, indent=unit * 2, unit=unit, spaced=spaced)
    lead = f"{newline}{unit * 2}".encode()
    trail = b"" if _has_line_break(_blanks_at(text, stop)) else f"{newline}{unit}".encode()
    return Layout(insert_at=stop, lead=lead, trail=trail, next_lead=b"," + lead, style=style)


def _blanks_at(text: bytes, start: int) -> bytes:
    found = _BLANKS.match(text, start)
    return found.group() if found else b""


def _has_line_break(blanks: bytes) -> bool:
    return b"\n" in blanks or b"\r" in blanks


def _line_break(blanks: bytes) -> str:
    return "\r\n" if b"\r\n" in blanks else "\n" if b"\n" in blanks else "\r"


def _indent(blanks: bytes) -> str:
    """Return what stands behind the last line break."""
    return re.split(rb"[\r\n]", blanks)[-1].decode() if _has_line_break(blanks) else ""


def _is_spaced(text: bytes, opening: int) -> bool:
    """Return whether the object that opens there has a space behind its first colon; yes where it is empty."""
    found = _FIRST_KEY.match(text, opening)
    return found is None or bool(found["gap"])
