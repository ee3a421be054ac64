"""Values of a JSON text with their places, and changes of single places that touch no other byte."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from simulator.base.adk_names import camel
from simulator.base.json_text import JsonPath, JsonPlaces, Member


class JsonNode(NamedTuple):
    """A value and where it stands."""

    value: Any
    path: JsonPath = ()

    def field(self, name: str) -> JsonNode | None:
        """Return the member of this name, in snake or camel case; None where it is missing, null, or this is no object."""
        held, path = self
        if not isinstance(held, dict):
            return None
        if (found := held.get(name)) is not None:
            return JsonNode(found, (*path, name))
        spelled = camel(name)
        if spelled != name and (found := held.get(spelled)) is not None:
            return JsonNode(found, (*path, spelled))
        return None

    def items(self, name: str = "") -> Iterator[JsonNode]:
        """Yield the items of this list, or of the list under this name; none where there is no list."""
        node = self.field(name) if name else self
        if node is not None and isinstance(node.value, list):
            path = node.path
            for index, each in enumerate(node.value):
                yield JsonNode(each, (*path, index))

    def objects(self, name: str) -> Iterator[JsonNode]:
        """Yield those items of the list under a name that are objects; that others are none is said of the file as a whole."""
        return (each for each in self.items(name) if isinstance(each.value, dict))

    def text(self, name: str) -> str:
        """Return the text under this name; an empty one where there is none."""
        found = self.field(name)
        return found.value if found and isinstance(found.value, str) else ""

    @property
    def members(self) -> dict[str, Any]:
        """The members of this object; none where it is no object."""
        return self.value if isinstance(self.value, dict) else {}


class Doubled(dict[str, Any]):
    """An object in which names stand twice."""

    names: tuple[str, ...] = ()
    same: frozenset[str] = frozenset()


_LONGEST = 60


def short(value: Any) -> str:
    """Write a value as JSON, cut where it is long."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}… ({len(text)} characters)"


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


class _Splice(NamedTuple):
    """Bytes `[start, stop)` give way to others, by some edits."""

    start: int
    stop: int
    by: bytes
    edits: tuple[Edit, ...]


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
    made: list[_Splice] = []
    removed: defaultdict[JsonPath, list[tuple[Member, Edit]]] = defaultdict(list)
    added: defaultdict[JsonPath, list[Insert]] = defaultdict(list)
    told: dict[str, Edit] = {}  # two edits that say the same count once, whatever their values are
    for edit in edits:
        told.setdefault(repr(edit), edit)
    for edit in told.values():
        if isinstance(edit, Insert):
            added[edit.path].append(edit)
        elif isinstance(edit, (Remove, RemoveEarlier)):
            removed[edit.path[:-1]].extend((member, edit) for member in _doomed(places, edit))
        else:
            made.extend(_changed(places, edit))
    for path, doomed in removed.items():
        made.extend(_cuts(places, path, doomed))
    waiting: list[Edit] = [insert for path in added.keys() & removed.keys() for insert in added.pop(path)]
    for path, inserts in added.items():
        made.extend(_added(places, path, inserts))
    pieces: list[bytes] = []
    place, late = 0, list[Edit]()
    for splice in sorted(made, key=lambda each: each[:2]):
        if splice.start < place:
            late.extend(splice.edits)
            continue
        pieces += (places.text[place : splice.start], splice.by)
        place = splice.stop
    return Edited(b"".join((*pieces, places.text[place:])), (*late, *waiting))


def written(value: Any) -> bytes:
    """Write a value on one line."""
    return json.dumps(value, ensure_ascii=False).encode()


def _changed(places: JsonPlaces[bytes], edit: RenameMember | Replace) -> Iterator[_Splice]:
    try:
        member = places.member(edit.path)
    except KeyError:
        return
    if isinstance(edit, Replace):
        yield _Splice(*member.value, written(edit.value), (edit,))
    elif member.key is not None:
        yield _Splice(*member.key, written(edit.name), (edit,))


def _doomed(places: JsonPlaces[bytes], edit: Remove | RemoveEarlier) -> Iterator[Member]:
    try:
        last = places.member(edit.path)
        siblings = places.members(places.value(edit.path[:-1])[0])
    except KeyError:
        return
    for member in siblings:
        if member.name == last.name and (member is not last or isinstance(edit, Remove)):
            yield member


def _cuts(places: JsonPlaces[bytes], path: JsonPath, doomed: list[tuple[Member, Edit]]) -> Iterator[_Splice]:
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
            yield _Splice(siblings[first].start, siblings[index].start, b"", edits)
        elif first:
            yield _Splice(siblings[first - 1].value[1], siblings[-1].value[1], b"", edits)
        else:
            yield _Splice(start + 1, stop - 1, b"", edits)


def _added(places: JsonPlaces[bytes], path: JsonPath, inserts: list[Insert]) -> Iterator[_Splice]:
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
        yield _Splice(start + 1, start + 1, b", ".join(_member(each, b": ") for each in new), tuple(inserts))
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
    yield _Splice(place, place, b"".join(b"," + gap + _member(each, colon) for each in new), tuple(inserts))


def _member(insert: Insert, colon: bytes) -> bytes:
    return written(insert.name) + colon + written(insert.value)
