"""What a form says: a value, with a problem for each field that says nothing usable, and the ways to fields in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from pydantic import JsonValue

from simulator.base import json_paths
from simulator.base.frozen_value import Value

Path: TypeAlias = tuple[str | int, ...]


class FieldProblem(Value):
    """What is wrong with one field; `path` leads to it from the form's value. Where it `is_missing`, nothing was typed yet; where it `is_new`, in its whole row, which was added."""

    path: Path
    message: str
    is_missing: bool = False
    is_new: bool = False


_MOST_NAMED = 4


def incomplete(what: str, problems: Sequence[FieldProblem]) -> str:
    """Say that a form cannot be sent, and which of its fields have problems, the first ones; their names may come from outside."""
    ways = list(dict.fromkeys(words for problem in problems if (words := way_in_words(problem.path))))
    more = f" and {len(ways) - _MOST_NAMED} more" if len(ways) > _MOST_NAMED else ""
    fields = ", ".join(ways[:_MOST_NAMED]) + more
    return f"{what} is incomplete. Fix {fields}." if ways else f"{what} is incomplete. See the marked fields."


def way_in_words(path: Path) -> str:
    """Name what a path leads to; rows are counted from 1."""
    names = (str(name + 1) if isinstance(name, int) else name for name in path)
    return " \u203a ".join(filter(None, names))


def place_in_words(place: str, whole: str = "the whole response") -> str:
    """Name a place such as `$.items[0].kind` as a form labels it, and `$` as the `whole`; what is no path stays as it is."""
    try:
        steps = json_paths.parse(place).steps
    except json_paths.PathError:
        return place
    return way_in_words(tuple(step for step in steps if isinstance(step, (int, str)))) or whole


class FormReading(Value):
    """The reading of a form: the value that its inputs make up. With problems, `value` leaves out what could not be read."""

    value: JsonValue
    problems: tuple[FieldProblem, ...] = ()
