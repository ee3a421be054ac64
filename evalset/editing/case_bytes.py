"""Writes an edited case into its own bytes: the values that differ, and no other byte. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from evalset.editing.case_parts import Case, is_same
from evalset.files.json_splice import Style
from simulator.base.json_places import JsonPath, JsonPlaces


class _Change(NamedTuple):
    """A value that differs; `key` names one that comes behind the last member at the path, None for an item of a list."""

    path: JsonPath
    value: Any
    is_new: bool = False
    key: str | None = None


def spliced(raw: bytes, before: Case, after: Case, style: Style) -> bytes:
    """Return the bytes of a case after its edits.

    Args:
        raw: Its bytes before, in UTF-8; no key stands twice in an object.
        before: What they say.
        after: What they are to say.
        style: How cases are written in this file.
    """
    places = JsonPlaces(raw)
    made = raw
    changes = [(_span(places, change), change) for change in _changes(before, after, ())]
    for (start, stop), change in sorted(changes, key=lambda each: each[0], reverse=True):
        made = made[:start] + _text(raw, places, change, style) + made[stop:]
    return made


def _changes(before: Any, after: Any, path: JsonPath) -> Iterator[_Change]:
    """Yield what differs, each as far inside as both have the same members; of one place the last comes first."""
    if isinstance(before, dict) and isinstance(after, dict) and before:
        names = list(after)
        if names[: len(before)] == list(before):
            for name in reversed(names[len(before) :]):
                yield _Change(path, after[name], is_new=True, key=name)
            for name in before:
                yield from _changes(before[name], after[name], (*path, name))
            return
    if isinstance(before, list) and isinstance(after, list) and before and len(after) >= len(before):
        for item in reversed(after[len(before) :]):
            yield _Change(path, item, is_new=True)
        for place, item in enumerate(before):
            yield from _changes(item, after[place], (*path, place))
        return
    if not is_same(before, after):
        yield _Change(path, after)


def _span(places: JsonPlaces[bytes], change: _Change) -> tuple[int, int]:
    start, stop = places.value(change.path)
    if not change.is_new:
        return start, stop
    last = places.members(start)[-1].value[1]
    return last, last


def _text(raw: bytes, places: JsonPlaces[bytes], change: _Change, style: Style) -> bytes:
    """Write a value as its neighbours are: what comes new stands behind a comma and the gap before the last member."""
    depth = len(change.path) + change.is_new
    inner = style.model_copy(update={"indent": style.indent + (style.unit or "") * depth})
    value = inner.write(change.value)
    if not change.is_new:
        return value
    members = places.members(places.value(change.path)[0])
    start = members[-1].start
    gap_start = members[-2].value[1] if len(members) > 1 else places.value(change.path)[0]
    gap = raw[gap_start + 1 : start].rpartition(b",")[2]
    key = b"" if change.key is None else json.dumps(change.key, ensure_ascii=False).encode() + b":"
    space = b" " if change.key is not None and style.spaced else b""
    return b"," + gap + key + space + value
