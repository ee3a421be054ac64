"""Marks the places of a draft for which nothing is known, and says what stands there meanwhile."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

from pydantic import JsonValue

from simulator.base import json_paths
from simulator.base.frozen_value import FiniteValue
from simulator.base.json_paths import WHOLE, field_place, item_place
from simulator.base.json_values import copied, same
from simulator.environment.conventions.entity_kinds import id_kind
from simulator.environment.drafts.counted_rows import counted
from simulator.environment.evidence.sketch import Kind

_EMPTY: dict[Kind, JsonValue] = {
    "integer": 0,
    "number": 0,
    "boolean": False,
    "": None,
    "null": None,
    "array": [],
    "object": {},
}


class Blank(FiniteValue):
    """A place of a draft for which no source gives a value.

    Attributes:
        path: Where it is, from the value's root: `$.rows[0].total`.
        kind: The JSON type of what belongs there; empty where nothing says so.
        name: What the field is called.
        drawn: Whether there is a value for it that may be the right one: the tool's schema allows it, it goes with the field's name, or the tool's code
            may return it and may return another.
    """

    path: str
    kind: str = ""
    name: str = ""
    drawn: bool = False


_ABSENT = object()


@dataclass(frozen=True, slots=True)
class Doubts:
    """Finds what is not decided in one of several answers that are as possible as each other.

    Args:
        unknown: The places of the others of which nothing is known.
        told: What the call and the session say, by the names of fields: it stays where an answer says nothing else.
        marked: The places that are marked already.
    """

    unknown: Collection[str]
    told: Mapping[str, JsonValue]
    marked: Collection[str]

    def of(
        self, value: JsonValue, others: Sequence[object], path: str = WHOLE, name: str = ""
    ) -> Iterator[Blank]:
        """Yield the places of a value at which not all others say the same."""
        known = [*others, _ABSENT] if path in self.unknown else others
        if isinstance(value, dict) and value:
            for key, inner in value.items():
                theirs = [one.get(key, _ABSENT) if isinstance(one, dict) else _ABSENT for one in known]
                yield from self.of(inner, theirs, field_place(path, key), key)
        elif isinstance(value, list) and value:
            size = len(value)
            for place, inner in enumerate(value):
                theirs = [
                    one[place] if isinstance(one, list) and len(one) == size else _ABSENT for one in known
                ]
                yield from self.of(inner, theirs, item_place(path, place), name)
        elif path not in self.marked and not all(self._says(one, value, name) for one in known):
            yield Blank(path=path, kind=kind_of(value), name=name, drawn=True)

    def _says(self, other: object, value: JsonValue, name: str) -> bool:
        return same(other, value) or (other is _ABSENT and name in self.told and same(self.told[name], value))


def is_guess(blanks: Iterable[Blank]) -> bool:
    """Return whether a draft with these blanks is a guess: for some place there is not even a value to draw."""
    return any(not blank.drawn for blank in blanks)


class Unsure(NamedTuple):
    """The places of an answer of which nobody said what belongs there.

    Of `blanks` nobody knows it. Of `uncertain` there is a value that may be another: it was drawn, or the tool's code may
    return it or another. An id is neither: what gives it may choose it.
    """

    blanks: tuple[str, ...] = ()
    uncertain: tuple[str, ...] = ()

    @property
    def written(self) -> dict[str, tuple[str, ...]]:
        """The places by their kind, without a kind of which there are none."""
        return {kind: places for kind, places in self._asdict().items() if places}


SURE = Unsure()
"""An answer of which all is known."""


def blanks_of(blanks: Iterable[str], uncertain: Iterable[str]) -> tuple[Blank, ...]:
    """Return the places of an answer that was given before as those of a draft."""
    return (*(Blank(path=path) for path in blanks), *(Blank(path=path, drawn=True) for path in uncertain))


def unsure_of(blanks: Iterable[Blank], draft: JsonValue, given: JsonValue) -> Unsure:
    """Return the places of an answer in which still stands what stood in its draft, and for which the draft had no source."""
    empty, uncertain = [], []
    for blank in blanks:
        if not blank.drawn:
            empty.append(blank.path)
        elif id_kind(blank.name) is None:
            uncertain.append(blank.path)
    return Unsure(still_blank(empty, draft, given), still_blank(uncertain, draft, given))


def still_blank(paths: Iterable[str], before: JsonValue, after: JsonValue) -> tuple[str, ...]:
    """Return those of some places at which a value is the same after an edit, but for the right count of rows that the edit changed."""
    return tuple(
        path
        for path in paths
        if same(_at(path, before), _at(path, after)) and not _counts_changed(path, before, after)
    )


def _counts_changed(path: str, before: JsonValue, after: JsonValue) -> bool:
    around, _, name = path.rpartition(".")
    rows = {field_place(around, of) for one in _at(around, after) if (of := counted(name, one)) is not None}
    return any(not same(_at(one, before), _at(one, after)) for one in rows)


def doubted_fields(paths: Iterable[str], value: JsonValue) -> tuple[tuple[str, JsonValue], ...]:
    """Return the fields at some places of an answer, by name and value."""
    steps = [
        (read.steps[-1], found) for read in map(_read, paths) if read.steps for _, found in read.found(value)
    ]
    return tuple((name, found) for name, found in steps if isinstance(name, str))


def without_blanks(value: JsonValue, paths: Sequence[str]) -> JsonValue:
    """Return an answer without the places of which nobody knew what belongs there; none of them is the whole answer."""
    known: JsonValue = copied(value) if paths else value
    for steps in (_read(path).steps for path in reversed(paths)):
        inside: Any = known
        with suppress(KeyError, IndexError, TypeError):  # a rule has made something else of the answer
            for step in steps[:-1]:
                inside = inside[step]
            del inside[steps[-1]]
    return known


def filled_from(
    before: JsonValue, value: JsonValue, blanks: Sequence[Blank]
) -> tuple[JsonValue, tuple[Blank, ...]]:
    """Fill the blanks of an answer with what an earlier one has there; return it with the blanks that are left."""
    filled = _over(value, before, {one.path for one in blanks if not one.drawn}, WHOLE)
    left = (one for one in blanks if one.drawn or not _at(one.path, before))
    return filled, tuple(one for one in left if _at(one.path, filled))


def _over(value: JsonValue, before: JsonValue, paths: Collection[str], path: str) -> JsonValue:
    if isinstance(value, dict) and isinstance(before, dict) and path not in paths:
        both = {**value, **before}
        return {
            key: _over(value[key], one, paths, field_place(path, key)) if key in value else one
            for key, one in both.items()
        }
    is_open = any(one == path or one.startswith(f"{path}[") for one in paths)
    return before if is_open else value


def _at(path: str, value: JsonValue) -> list[JsonValue]:
    return [there for _, there in _read(path).found(value)]


def _read(path: str) -> json_paths.Path:
    """Read a path from the root: `$.rows[0].total`."""
    return json_paths.parse(path.removeprefix("$").removeprefix("."))


def placeholder(kind: Kind, name: str) -> JsonValue:
    """Return what stands in a blank of a type: `<city>`, 0, false, an empty list or object, and null where no type is known."""
    if kind == "string":
        return f"<{name or 'text'}>"
    empty = _EMPTY[kind]
    return empty.copy() if isinstance(empty, (list, dict)) else empty


def kind_of(value: JsonValue) -> Kind:
    """Return the JSON type of a value; none of null, which tells nothing."""
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer"
    if isinstance(value, float):
        return "number"
    return "string" if isinstance(value, str) else ""
