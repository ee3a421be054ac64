"""Tolerances as rows that a person edits: what they are for, the tool, the place, the kind, and what the kind needs, as a text."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from pydantic import TypeAdapter, ValidationError

from evalset.recorded.tolerances import EVERY_TOOL, OneOfTolerance, PatternTolerance, Range, Tolerance
from simulator.base.json_values import canonical

KINDS: Mapping[str, str] = {
    "ignore": "any value",
    "one_of": "one of these values",
    "regex": "text matching a regex",
    "range": "number in a range",
    "unordered": "list in any order",
    "case_insensitive": "any letter case",
    "exact": "exactly as recorded",
}
"""Each kind of tolerance, in words."""

OF: Mapping[str, str] = {
    "arguments": "arguments",
    "response": "response",
    "state": "state",
    "final_response": "final response",
}
"""What a tolerance is for, in words."""

HINTS: Mapping[str, str] = {
    "one_of": '["express", "standard"]',
    "regex": "R-[0-9]+",
    "range": "1..5 or ±0.5",
}
"""What a kind needs beside its place; the others need nothing."""

WITHOUT_TOOL = frozenset({"state", "final_response"})
"""What no tool gives."""

Row: TypeAlias = dict[str, str]
"""`of`, `tool`, `path`, `kind` and `more`, all of them texts."""

_NUMBER = r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?"
_BOUNDS = re.compile(rf"({_NUMBER})?\s*\.\.\s*({_NUMBER})?")
_DISTANCE = re.compile(rf"(?:±|\+-)\s*({_NUMBER})")
_ONE: TypeAdapter[Any] = TypeAdapter(Tolerance)


class RowError(ValueError):
    """A row says no tolerance; the text names it."""


def new_row() -> Row:
    """Return an empty row."""
    return {"of": "arguments", "tool": "*", "path": "", "kind": "ignore", "more": ""}


def row_of(tolerance: Tolerance) -> Row:
    """Write a tolerance as a row."""
    match tolerance:
        case OneOfTolerance(values=values):
            more = canonical(list(values))
        case PatternTolerance(pattern=pattern):
            more = pattern
        case Range():
            more = _range_text(tolerance)
        case _:
            more = ""
    return {
        "of": tolerance.of,
        "tool": tolerance.tool,
        "path": tolerance.path,
        "kind": tolerance.kind,
        "more": more,
    }


def tolerance_words(tolerance: Tolerance) -> str:
    """Return a tolerance in a line of words."""
    row = row_of(tolerance)
    named = "every tool" if row["tool"] == EVERY_TOOL else row["tool"]
    tool = "" if row["of"] in WITHOUT_TOOL else f" of {named}"
    path = f", {row['path']}" if row["path"] else ""
    return f"{OF[row['of']]}{tool}{path}: {KINDS[row['kind']]} {row['more']}".strip()


def _range_text(tolerance: Range) -> str:
    low, high = (_number_text(bound) for bound in (tolerance.low, tolerance.high))
    bounds = f"{low}..{high}" if low or high else ""
    distance = "" if tolerance.distance is None else f"±{_number_text(tolerance.distance)}"
    return " ".join(part for part in (bounds, distance) if part)


def _number_text(number: float | None) -> str:
    return "" if number is None else repr(number)


def tolerances_from(rows: Sequence[Row]) -> tuple[Tolerance, ...]:
    """Read rows.

    Raises:
        RowError: One of them says no tolerance; its number and what is wrong are named.
    """
    return tuple(_tolerance(row, number) for number, row in enumerate(rows, 1))


def _tolerance(row: Row, number: int) -> Tolerance:
    said: dict[str, Any] = {name: row.get(name, "").strip() for name in ("of", "kind", "tool", "path")}
    said["of"] = said["of"] or "arguments"
    if said["of"] in WITHOUT_TOOL:
        said["tool"] = EVERY_TOOL
    try:
        match row["kind"]:
            case "one_of":
                said["values"] = json.loads(row["more"])
            case "regex":
                said["pattern"] = row["more"]
            case "range":
                said |= _range(row["more"])
        made: Tolerance = _ONE.validate_python(said)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(step) for step in first["loc"] if step != row["kind"])
        words = first["msg"].removeprefix("Value error, ")
        raise RowError(f"row {number}: {f'{place}: ' if place else ''}{words}") from error
    except ValueError as error:  # no JSON, or no range
        raise RowError(f"row {number}: {error}") from error
    return made


def _range(text: str) -> dict[str, float]:
    bounds, distance = _BOUNDS.search(text), _DISTANCE.search(text)
    rest = text
    for found in (bounds, distance):
        rest = rest.replace(found[0], "", 1) if found else rest
    if rest.strip() or not (bounds or distance):
        raise ValueError(f"{text!r} is not a range; write {HINTS['range']}")
    said: dict[str, str | None] = {
        "low": bounds[1] if bounds else None,
        "high": bounds[2] if bounds else None,
        "distance": distance[1] if distance else None,
    }
    return {name: json.loads(number.lstrip("+")) for name, number in said.items() if number is not None}
