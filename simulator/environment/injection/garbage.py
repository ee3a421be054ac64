"""Makes wrong values out of right ones, seeded: garbage, other types, broken JSON, too much of everything."""

from __future__ import annotations

import json
import string
from collections.abc import Callable
from random import Random
from typing import Any

from pydantic import JsonValue

from simulator.jsonvalue import copied

_LONGEST_GARBAGE = 10_000
_MOST_ITEMS = 100_000
_LETTERS = string.ascii_letters + string.digits + "#?%~^\ufffd"
_LARGEST_WHOLE = 2**31


def size(value: JsonValue) -> int:
    """Give the bytes of a value's JSON."""
    return len(json.dumps(value, ensure_ascii=False).encode())


def corrupted(value: str | bool | float, rng: Random) -> str | bool | float:
    """Give garbage of the value's own type, and never the value itself."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, str):
        return _corrupted_text(value, rng)
    if isinstance(value, int):
        choices = [-value - 1, value + rng.randint(1, _LARGEST_WHOLE), rng.randint(-_LARGEST_WHOLE, -1)]
        return next(choice for choice in rng.sample(choices, 3) if choice != value)
    made = rng.uniform(-1e6, 1e6)
    return made if made != value else made + 1.0


def _corrupted_text(text: str, rng: Random) -> str:
    head, rest = text[:_LONGEST_GARBAGE], text[_LONGEST_GARBAGE:]
    garbage = "".join(rng.choices(_LETTERS, k=max(len(head), 1)))
    return ("\ufffd" + garbage[1:] if garbage == head else garbage) + rest


def of_another_type(value: JsonValue, rng: Random) -> JsonValue:
    """Give something like the value, as a service might by mistake, of another JSON type."""
    choices: list[JsonValue]
    if isinstance(value, str):
        choices = [len(value), [value], {"value": value}, bool(value)]
    elif isinstance(value, bool):
        choices = ["true" if value else "false", int(value), [value]]
    elif isinstance(value, (int, float)):
        choices = [str(value), "N/A", [value], {"value": value}]
    elif value is None:
        choices = ["", 0, False, []]
    elif isinstance(value, list):
        choices = [f"{len(value)} items", len(value), {str(index): item for index, item in enumerate(value)}]
    else:
        choices = ["[object Object]", list(value.values()), len(value)]
    return rng.choice(choices)


# ---------------------------------------------------------------- broken JSON


def _cut(text: str, rng: Random) -> str:
    return text[: rng.randint(len(text) // 3, max(len(text) - 1, 0))]


def _commas_doubled(text: str, _rng: Random) -> str:
    return text.replace(", ", ",, ", 1)


def _comma_at_the_end(text: str, _rng: Random) -> str:
    return f"{text[:-1]},{text[-1:]}"


def _single_quotes(text: str, _rng: Random) -> str:
    return text.replace('"', "'")


def _names_unquoted(text: str, _rng: Random) -> str:
    opening = text.find('"')
    closing = text.find('"', opening + 1)
    return text[:opening] + text[opening + 1 : closing] + text[closing + 1 :]


def _prose_around(text: str, _rng: Random) -> str:
    return f"Here is the result:\n```json\n{text}\n"


def _page_instead(_text: str, _rng: Random) -> str:
    return "<!DOCTYPE html>\n<html><head><title>502 Bad Gateway</title></head><body><h1>502 Bad Gateway</h1></body></html>"


_WAYS: tuple[Callable[[str, Random], str], ...] = (
    _cut, _commas_doubled, _comma_at_the_end, _single_quotes, _names_unquoted, _prose_around, _page_instead,
)  # fmt: skip


def broken_json(value: JsonValue, rng: Random) -> str:
    """Write the value as a text that is nearly JSON and that no JSON reader takes."""
    text = json.dumps(value, ensure_ascii=False)
    for way in rng.sample(_WAYS, len(_WAYS)):
        broken = way(text, rng)
        if broken != value and not _is_json(broken):
            return broken
    return text + "}"  # pragma: no cover - the page is no JSON whatever the value is


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


# ---------------------------------------------------------------- too much


def blown_up(value: JsonValue, wanted: int, rng: Random) -> JsonValue:
    """Give a copy that is blown up to about `wanted` bytes of JSON; one that is larger already stays as it is."""
    missing = wanted - size(value)
    if missing <= 0:
        whole: JsonValue = copied(value)
        return whole
    if isinstance(value, str):
        return _longer(value, missing)
    if isinstance(value, list):
        return _repeated(value, missing) if value else [_longer("", missing)]
    if not isinstance(value, dict):
        return _longer("" if value is None else json.dumps(value), missing + 2)
    large = [key for key, inner in value.items() if inner and isinstance(inner, (str, list))]
    result: dict[str, Any] = copied(value)
    key = rng.choice(large) if large else "padding"
    result[key] = blown_up(result.get(key, ""), missing + size(result.get(key, "")), rng)
    return result


def _longer(text: str, missing: int) -> str:
    unit = text or "x"
    return text + unit * (missing // max(size(unit) - 2, 1) + 1)


def _repeated(items: list[JsonValue], missing: int) -> list[JsonValue]:
    rounds = missing // max(size(items), 1) + 1
    times = min(rounds, max(_MOST_ITEMS // len(items), 1))
    return [copied(item) for _ in range(times + 1) for item in items]
