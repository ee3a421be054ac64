"""Turns values of a program that was read into sketches, and compares sketches with responses."""

from __future__ import annotations

import enum
import math
import re
from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import JsonValue

from simulator.environment.conventions import is_envelope, kind_named
from simulator.environment.evidence.expression_evaluation import JSON_KINDS, truth_of
from simulator.environment.evidence.program_classes import in_json
from simulator.environment.evidence.program_run import ProgramRun
from simulator.environment.evidence.sketch import Hole, Sketch
from simulator.environment.evidence.unknown_values import MAPPINGS, ClassInstance, Lazy, Unknown, number_of

_DEEPEST = 30
_MOST_BITS = 14_000
"""Python writes no number of more than 4,300 digits."""

_HALF_PAIR = re.compile("[\ud800-\udfff]")


def sketch_of(run: ProgramRun, value: Any, depth: int = 0) -> Sketch:
    """Return a value as JSON, with holes for what is not known and for what JSON has no form for."""
    run.budget.spend()
    if isinstance(value, enum.Enum):
        value = value.value
    value = in_json(value)
    kind = type(value)
    if depth > _DEEPEST:
        return Hole()
    if value is None or kind in {bool, int, str}:
        found: Sketch = value
        return found if _is_written(value) else Hole("integer" if kind is int else "string")
    if kind is float:
        return value if math.isfinite(value) else Hole("number")
    if kind in MAPPINGS:
        if not all(map(_is_written, value)):
            return Hole("object")
        made: dict[str, Sketch] = {_key(key): sketch_of(run, one, depth + 1) for key, one in value.items()}
        return made if run.holds(value) else Hole("object", like=made, number=number_of(value), was=made)
    if kind in {list, tuple}:
        listed = [sketch_of(run, one, depth + 1) for one in value]
        like = listed[0] if listed else None
        return (
            listed
            if run.holds(value)
            else Hole("array", like=like, number=number_of(value), was=listed or None)
        )
    if isinstance(value, ClassInstance):
        return _of_record(run, value, depth)
    if isinstance(value, Unknown):
        decided = truth_of(run, value) if value.kind == "boolean" and value.sure else None
        return _of_unknown(run, value, depth) if decided is None else decided
    return Hole("array" if isinstance(value, Lazy) or kind in {set, frozenset} else "")


def _is_written(value: Any) -> bool:
    """Return whether JSON has a form for a text or number: not for half of a surrogate pair, nor for a number that is as long as a page."""
    if isinstance(value, int):
        return value.bit_length() <= _MOST_BITS
    return not isinstance(value, str) or value.isascii() or not _HALF_PAIR.search(value)


def _key(key: Any) -> str:
    """Return a key as JSON writes it."""
    if isinstance(key, enum.Enum):
        key = key.value
    if key is None or isinstance(key, bool):
        return {None: "null", True: "true", False: "false"}[key]
    return str(key)


def _of_record(run: ProgramRun, value: ClassInstance, depth: int) -> Sketch:
    if value.cls.kind in {"model", "dataclass", "frozen"}:
        made = {name: sketch_of(run, one, depth + 1) for name, one in value.declared.items()}
        return made if value.whole else Hole("object", like=made)
    if value.cls.kind == "namedtuple" and value.whole:
        return [sketch_of(run, one, depth + 1) for one in value.fields.values()]
    return Hole("object")


def _of_unknown(run: ProgramRun, value: Unknown, depth: int) -> Hole:
    parts = tuple(
        _of_unknown(run, one, depth + 1)
        if isinstance(one, Unknown)
        else one
        if _is_written(one)
        else Hole("string")
        for one in value.parts
    )
    choices = tuple(
        one
        for one in value.choices
        if one is None or (type(one) in {bool, int, float, str} and _is_written(one))
    )
    like = None if value.like is None else sketch_of(run, value.like, depth + 1)
    whole = len(choices) == len(value.choices)
    stated = choices if whole else ()
    is_json = value.kind == "string" and isinstance(like, (dict, list))
    if value.kind != "array" and not stated and not is_json:
        like = None if like is None else shape_of(like)  # it may be like that one, and is not it
    return Hole(
        value.kind,
        value.name,
        value.low,
        value.high,
        stated,
        parts,
        like,
        value.number,
        size_of=value.size_of,
    )


def shape_of(sketch: Any, name: str = "") -> Sketch:
    """Return the shape of a value: its fields, and holes in place of what it says, but for what only says that all went well."""
    if isinstance(sketch, dict):
        return {key: one if is_envelope(key, one) else shape_of(one, key) for key, one in sketch.items()}
    if isinstance(sketch, list):
        return Hole("array", name, like=shape_of(sketch[0], kind_named(name)) if sketch else None)
    return (
        sketch if isinstance(sketch, Hole) else Hole("" if sketch is None else JSON_KINDS[type(sketch)], name)
    )


_V = TypeVar("_V")


def alike(first: Mapping[str, _V], second: Mapping[str, _V]) -> Mapping[str, _V]:
    """Return what two ways through a function do alike, by its names."""
    return {key: one for key, one in first.items() if key in second and repr(second[key]) == repr(one)}


def fits(sketch: Sketch, value: JsonValue) -> bool:
    """Return whether a JSON value is one that a sketch stands for: what is known in it is there."""
    if isinstance(sketch, Hole):
        return True
    if isinstance(sketch, dict):
        return (
            isinstance(value, dict)
            and sketch.keys() == value.keys()
            and all(fits(one, value[key]) for key, one in sketch.items())
        )
    if isinstance(sketch, list):
        return isinstance(value, list) and len(value) == len(sketch) and all(map(fits, sketch, value))
    if isinstance(sketch, bool) or isinstance(value, bool):
        return sketch is value
    return sketch == value
