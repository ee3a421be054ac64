"""A draft: what is asked for one (`DraftCall`, `Sources`), what it is (`Draft`), and its blanks.

A `Blank` marks a place of a draft for which nothing is known; something of the right type stands there, until somebody fills it in. What an
answer says of its rows, such as `count` and `is_empty`, is brought to agree with them. Each way to answer that has led to an answer is a `Try`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from simulator.base import json_paths
from simulator.base.frozen_value import FiniteValue
from simulator.base.json_paths import WHOLE, field_place, item_place
from simulator.base.json_values import JsonObject, copied, same
from simulator.environment.conventions import EarlierAnswer, id_kind, kind_named, spelled
from simulator.environment.evidence.sketch import CodeReading, FunctionSource, Kind
from simulator.environment.evidence.tool_returns import read_returns
from simulator.environment.recordings import NO_EFFECTS, ObservedCall, ToolEffects
from simulator.environment.schema.schema_checks import Problem
from simulator.environment.world.world import World

_COUNTS = frozenset(
    {"count", "total", "length", "total_count", "result_count", "num_results", "total_results"}
)
_FLAGS = {
    **dict.fromkeys(("empty", "is_empty", "no_results"), False),
    **dict.fromkeys(("found", "has_results", "has_items", "has_matches"), True),
}
"""What the names of truth values say by true: that there are rows, or none."""


def agreeing(value: JsonValue, is_open: Callable[[str], bool], path: str = WHOLE) -> JsonValue:
    """Return an answer in which open counts and truth values say the same as the rows in the same object, or as what is not open."""
    if isinstance(value, list):
        return [agreeing(one, is_open, item_place(path, place)) for place, one in enumerate(value)]
    if not isinstance(value, dict):
        return value
    made = {name: agreeing(one, is_open, field_place(path, name)) for name, one in value.items()}
    rows = [name for name, one in made.items() if isinstance(one, list)]
    says = _said(made)
    if len(rows) > 1 or len(says) < len(("one", "another")):
        return made
    sure = [name for name in says if not is_open(field_place(path, name)) or (name in rows and says[name])]
    size = says[min(sure or says, key=lambda name: (name not in rows, isinstance(made[name], bool)))]
    free = says.keys() - {*sure, *rows}
    return made | {
        name: size if type(made[name]) is int else (size > 0) is _FLAGS[spelled(name)] for name in free
    }


def counted(name: str, around: object) -> str | None:
    """Return the field of the rows in an object of which another field says what is so; None where it says nothing of them, or something else."""
    if not isinstance(around, dict):
        return None
    said, rows = _said(around), [field for field, one in around.items() if isinstance(one, list)]
    if len(rows) != 1 or name not in said or name in rows:
        return None
    size = said[rows[0]]
    return rows[0] if said[name] == (min(size, 1) if isinstance(around[name], bool) else size) else None


def _said(made: dict[str, JsonValue]) -> dict[str, int]:
    """Return how many rows there are as each field says that says it."""
    rows = [name for name, one in made.items() if isinstance(one, list)]
    named = {name for one in rows for name in (f"{kind_named(one)}_count", f"num_{one}", f"total_{one}")}
    says: dict[str, int] = {}
    for name, one in made.items():
        if isinstance(one, list):
            says[name] = len(one)
        elif isinstance(one, bool) and spelled(name) in _FLAGS:
            says[name] = int(one is _FLAGS[spelled(name)])
        elif type(one) is int and spelled(name) in _COUNTS | named:
            says[name] = one
    return says


def is_flag(path: str) -> bool:
    """Return whether a field is a truth value that says whether there are rows."""
    return spelled(path.rpartition(".")[2]) in _FLAGS


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


@dataclass(frozen=True, slots=True)
class Try:
    """An answer, its source in words, and the places of it for which nothing is known.

    `varies` says that another draw may give another answer, `when` what has to hold for it, in words, and `effects` what the
    tool's code does besides for certain where it gives this answer. `raises` names the exception that it raises, where the value only tells of one.
    """

    value: JsonValue
    why: str
    blanks: tuple[Blank, ...] = ()
    varies: bool = False
    when: str = ""
    effects: ToolEffects = NO_EFFECTS
    raises: str = ""


class DraftCall(BaseModel):
    """A tool call, all that is known about its tool, and what the session's tools answered before.

    `examples` are whole responses that the tool's declaration shows.
    `seed` makes the drafts of one session differ from those of another; equal calls of one session are drafted
    equally, and another `draw` draws what is drawn anew. `code` is where the tool's function is written, `codes` those
    of the agent's tools by name, and `state` the session's state. `is_held` says that a person has set `response_schema`: nothing is drafted
    that does not fit it, whatever the code does. `now` is the time of the session's clock, in seconds since the epoch; 0 where it is not known.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    tool_name: str = Field(min_length=1)
    description: str = ""
    parameters: JsonObject = Field(default_factory=dict)
    response_schema: JsonObject | None = None
    examples: tuple[JsonValue, ...] = ()
    arguments: JsonObject = Field(default_factory=dict)
    earlier: tuple[EarlierAnswer, ...] = ()
    seed: str = ""
    draw: int = 0
    is_long_running: bool = False
    code: FunctionSource | None = None
    codes: Mapping[str, FunctionSource] = Field(default_factory=dict)
    state: JsonObject | None = None
    is_held: bool = False
    now: float = 0.0


class Draft(FiniteValue):
    """A drafted answer.

    Attributes:
        value: The answer.
        why: Where it comes from, in a sentence; with file and line where that is the tool's code.
        is_guess: Whether there is any place of it for which not even a value can be drawn.
        blanks: Those places, where something of the right type stands meanwhile: a text of Faker's, or what a format or a
            pattern asks for, is drawn and marked, too.
        varies: Whether another draw gives another answer.
        problems: What is wrong with it where the tool's schema has no value.
        effects: What the tool's code does besides, where it gives this answer.
        failure: Why none could be made, where this is there instead.
    """

    value: JsonValue
    why: str
    is_guess: bool = False
    blanks: tuple[Blank, ...] = ()
    varies: bool = False
    problems: tuple[Problem, ...] = ()
    effects: ToolEffects = NO_EFFECTS
    failure: str = ""

    @property
    def sources(self) -> tuple[str, ...]:
        """Where it comes from, and what is wrong with it, in words."""
        return (self.why, *(f"{problem.path}: {problem.message}" for problem in self.problems))


@dataclass(frozen=True)
class Sources:
    """What a draft may draw on besides the call.

    `recorded` are recorded answers, and `shared` is what tools that share a state said last, by the names of fields. `world` has learnt the call's earlier answers; without one, it is made of them. `read` reads a tool's code, as
    `read_returns`.
    """

    world: World | None = None
    recorded: Sequence[ObservedCall] = ()
    shared: Mapping[str, JsonValue] | None = None
    read: Callable[..., CodeReading] = read_returns


NO_SOURCES = Sources()
