"""Changes single places of a JSON text and touches no other byte."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from simulator.base.json_places import JsonPath, JsonPlaces, Member


@dataclass(frozen=True)
class RenameMember:
    """Gives a member another name."""

    path: JsonPath
    name: str


@dataclass(frozen=True)
class Replace:
    """Puts another value at a place."""

    path: JsonPath
    value: Any


@dataclass(frozen=True)
class Remove:
    """Takes an item out, or all members of this name."""

    path: JsonPath


@dataclass(frozen=True)
class RemoveEarlier:
    """Takes all members out that have this name, save the last."""

    path: JsonPath


@dataclass(frozen=True)
class Insert:
    """Adds a member at the end of the object at `path`."""

    path: JsonPath
    name: str
    value: Any


Edit: TypeAlias = RenameMember | Replace | Remove | RemoveEarlier | Insert


class Splice(NamedTuple):
    """Bytes `[start, stop)` give way to others."""

    start: int
    stop: int
    by: bytes


class Edited(NamedTuple):
    """The new text, and the edits that have to wait for the next round, as they touch what others changed in this one."""

    text: bytes
    waiting: tuple[Edit, ...]


def apply(places: JsonPlaces[bytes], edits: Iterable[Edit]) -> Edited:
    """Make changes in a text. What is already as it shall be, or no longer there, is passed over.

    Args:
        places: The text.
        edits: The changes; they may name the same objects.
    """
    made: list[tuple[Splice, tuple[Edit, ...]]] = []
    removed: defaultdict[JsonPath, list[tuple[Member, Edit]]] = defaultdict(list)
    added: defaultdict[JsonPath, list[Insert]] = defaultdict(list)
    for edit in dict.fromkeys(_hashable(edits)):
        plain = edit.edit
        if isinstance(plain, Insert):
            added[plain.path].append(plain)
        elif isinstance(plain, (Remove, RemoveEarlier)):
            removed[plain.path[:-1]].extend((member, plain) for member in _doomed(places, plain))
        else:
            made.extend((splice, (plain,)) for splice in _changed(places, plain))
    for path, doomed in removed.items():
        made.extend(_cuts(places, path, doomed))
    waiting = [insert for path in added.keys() & removed.keys() for insert in added.pop(path)]
    for path, inserts in added.items():
        made.extend((splice, tuple(inserts)) for splice in _added(places, path, inserts))
    edited = _spliced(places.text, made)
    return edited._replace(waiting=(*edited.waiting, *waiting))


@dataclass(frozen=True)
class _Told:
    """An edit among those that were seen: two that say the same count once, whatever their values are."""

    words: str
    edit: Any

    def __hash__(self) -> int:
        return hash(self.words)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Told) and self.words == other.words


def _hashable(edits: Iterable[Edit]) -> Iterator[_Told]:
    return (_Told(repr(edit), edit) for edit in edits)


def _spliced(text: bytes, made: list[tuple[Splice, tuple[Edit, ...]]]) -> Edited:
    pieces: list[bytes] = []
    waiting: list[Edit] = []
    place = 0
    for splice, edits in sorted(made, key=lambda each: each[0][:2]):
        if splice.start < place:
            waiting.extend(edits)
            continue
        pieces += (text[place : splice.start], splice.by)
        place = splice.stop
    return Edited(b"".join((*pieces, text[place:])), tuple(waiting))


def written(value: Any) -> bytes:
    """Write a value on one line."""
    return json.dumps(value, ensure_ascii=False).encode()


def _changed(places: JsonPlaces[bytes], edit: RenameMember | Replace) -> Iterator[Splice]:
    try:
        member = places.member(edit.path)
    except KeyError:
        return
    if isinstance(edit, Replace):
        yield Splice(*member.value, written(edit.value))
    elif member.key is not None:
        yield Splice(*member.key, written(edit.name))


def _doomed(places: JsonPlaces[bytes], edit: Remove | RemoveEarlier) -> Iterator[Member]:
    try:
        last = places.member(edit.path)
        siblings = places.members(places.value(edit.path[:-1])[0])
    except KeyError:
        return
    for member in siblings:
        if member.name == last.name and (member is not last or isinstance(edit, Remove)):
            yield member


def _cuts(
    places: JsonPlaces[bytes], path: JsonPath, doomed: list[tuple[Member, Edit]]
) -> Iterator[tuple[Splice, tuple[Edit, ...]]]:
    """Cut members out with their commas: each run of them up to its next neighbour, or else from the one before on."""
    edits = tuple(edit for _, edit in doomed)
    going = {member.start for member, _ in doomed}
    start, stop = places.value(path)
    siblings = places.members(start)
    index = 0
    while index < len(siblings):
        if siblings[index].start not in going:
            index += 1
            continue
        first = index
        while index < len(siblings) and siblings[index].start in going:
            index += 1
        if index < len(siblings):
            yield Splice(siblings[first].start, siblings[index].start, b""), edits
        elif first:
            yield Splice(siblings[first - 1].value[1], siblings[-1].value[1], b""), edits
        else:
            yield Splice(start + 1, stop - 1, b""), edits


def _added(places: JsonPlaces[bytes], path: JsonPath, inserts: list[Insert]) -> Iterator[Splice]:
    """Add members behind the last one, in the manner of the last one."""
    try:
        start, _ = places.value(path)
    except KeyError:
        return
    if places.text[start : start + 1] != b"{":
        return
    siblings = places.members(start)
    taken = {member.name for member in siblings}
    new = [insert for insert in inserts if insert.name not in taken]
    if not new:
        return
    if not siblings:
        yield Splice(start + 1, start + 1, b", ".join(_member(each, b": ") for each in new))
        return
    last = siblings[-1]
    before = siblings[-2].value[1] if len(siblings) > 1 else start
    gap = places.text[before : last.start]
    gap = gap[gap.index(b",") + 1 :] if len(siblings) > 1 else gap[1:]
    key = last.key or (0, 0)
    colon = places.text[key[1] : last.value[0]]
    if not gap and colon.endswith(b" "):
        gap = b" "
    place = last.value[1]
    yield Splice(place, place, b"".join(b"," + gap + _member(each, colon) for each in new))


def _member(insert: Insert, colon: bytes) -> bytes:
    return written(insert.name) + colon + written(insert.value)
