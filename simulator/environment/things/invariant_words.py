"""Tells what in an invariant could never be judged, and what to write instead."""

from __future__ import annotations

from simulator.environment.conventions.kinds import is_collection, kind_named
from simulator.environment.language.expressions import CompiledExpression

_METHODS = frozenset({"get", "items", "keys", "values"})
_COUNTING = frozenset({"count", "length", "size", "number"})
_SUMMING = frozenset({"average", "avg", "mean", "total"})
_PARTS = 2


def misused(expression: CompiledExpression) -> str:
    """Say why an invariant could not be judged, and how it is written; empty where nothing is wrong.

    A function that there is not, and all things of a kind taken for one of them (`orders.quantity`), have no value.
    """
    for name, path in expression.called.items():
        return f"there is no function {name!r}; {_instead(name, path)}"
    for path in expression.paths:
        root, *fields = path.split(".")
        if len(fields) == _PARTS - 1 and is_collection(root) and fields[0] not in _METHODS:
            kind, field = kind_named(root), fields[0]
            return (
                f"{root!r} is all of them, and has no {field!r}; write {kind}.{field} for each of them, "
                f"{root}.values() | sum(attribute='{field}') for their sum; where {root!r} is a field of something, "
                f"name what has it before: customer.{path}"
            )
    return ""


def _instead(name: str, path: str) -> str:
    root, _, field = path.partition(".")
    things = root if is_collection(root) else "orders"
    if name.lower() in _COUNTING:
        return f"write {things} | length"
    if name.lower() in _SUMMING:
        return f"write {things}.values() | sum(attribute='{field or 'total'}')"
    return "the functions are len, sum, min, max, abs, round, any, all, sorted, int, float, str, bool, list and range"
