"""Lets what an answer says of its rows agree with them: `count`, `total`, `is_empty`, `has_results`."""

from __future__ import annotations

from collections.abc import Callable

from pydantic import JsonValue

from simulator.base.json_paths import WHOLE, field_place, item_place
from simulator.environment.conventions.entity_kinds import kind_named, spelled

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
