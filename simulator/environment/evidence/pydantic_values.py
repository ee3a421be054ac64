"""Knows what pydantic makes of a value for the annotation of a field, and which limits it checks."""

from __future__ import annotations

import ast
import datetime as dt
import decimal
import re
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pydantic import TypeAdapter, ValidationError
from pydantic_core import to_jsonable_python

from simulator.base.python_source import parsed
from simulator.environment.evidence.program_run import ProgramRun, look_up
from simulator.environment.evidence.unknown_values import (
    SCALARS,
    Class,
    ClassInstance,
    External,
    NameScope,
    ProgramException,
    TouchedError,
    Unknown,
)

Maker = Callable[[Class, Mapping[str, Any]], Any]
_PLAIN: Mapping[str, type] = {"str": str, "int": int, "float": float, "bool": bool}
_AS_TEXT: Mapping[type, TypeAdapter[Any]] = {
    kind: TypeAdapter(kind) for kind in (dt.datetime, dt.date, dt.time, dt.timedelta, decimal.Decimal, uuid.UUID)
}  # fmt: skip
"""The types that pydantic makes of texts, and writes as texts."""
_PATHS = {f"{kind.__module__}.{kind.__name__}": kind for kind in _AS_TEXT}
_WHOLE = re.compile(r"-?[1-9]\d{0,15}|0")

LIMITS = frozenset({"ge", "gt", "le", "lt", "min_length", "max_length"})
"""The options of a field that are checked here; others may fail in ways that are not known."""


def validated(run: ProgramRun, annotation: ast.expr, value: Any, scope: NameScope, make: Maker) -> Any:
    """Return what pydantic makes of a known value; `make` makes an object of a model.

    Raises:
        TouchedError: That is not certain.
    """
    run.budget.spend()
    match annotation:
        case ast.Constant(value=None):
            return _sure(value is None, value)
        case ast.Constant(value=str(text)):
            return validated(run, _parsed(text), value, scope, make)
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return _one_of(run, [left, right], value, scope, make)
        case ast.Subscript(value=ast.Name(id=name) | ast.Attribute(attr=name), slice=inner):
            return _generic(run, name, inner, value, scope, make)
        case ast.Attribute(value=ast.Name(id=module), attr=name):
            held = look_up(scope, module)
            path = f"{held.path}.{name}" if isinstance(held, External) else ""
            return _of_path(path, value) if path in _PATHS else _named(run, name, value, scope, make)
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return _named(run, name, value, scope, make)
    raise TouchedError


def in_json(value: Any) -> Any:
    """Return how pydantic and ADK write a known date, time, decimal or UUID as JSON; itself if it is none of these."""
    return to_jsonable_python(value) if type(value) in _AS_TEXT else value


def _of_path(path: str, value: Any) -> Any:
    """Return what pydantic makes of a value for one of the types that it writes as texts."""
    _sure(type(value) in SCALARS, value)
    try:
        return _AS_TEXT[_PATHS[path]].validate_python(value)
    except ValidationError as error:
        raise ProgramException(ValidationError, (Unknown("string", "the error", sure=True),)) from error


def _sure(so: bool, value: Any) -> Any:
    if not so:
        raise TouchedError
    return value


def _parsed(text: str) -> ast.expr:
    try:
        tree: ast.Expression = parsed(text, "eval")
    except (SyntaxError, ValueError) as error:
        raise TouchedError from error
    return tree.body


def _one_of(run: ProgramRun, kinds: Sequence[ast.expr], value: Any, scope: NameScope, make: Maker) -> Any:
    """Return what a union makes of a value: what exactly one of its kinds takes as it is, or its only kind beside None."""
    others = [one for one in kinds if not (isinstance(one, ast.Constant) and one.value is None)]
    if len(others) < len(kinds) and value is None:
        return None
    if len(others) == 1:
        return validated(run, others[0], value, scope, make)
    exact = [one.id for one in others if isinstance(one, ast.Name) and _PLAIN.get(one.id) is type(value)]
    return _sure(len(exact) == 1, value)


def _generic(run: ProgramRun, name: str, inner: ast.expr, value: Any, scope: NameScope, make: Maker) -> Any:
    if name == "Optional":
        return None if value is None else validated(run, inner, value, scope, make)
    if name == "Union" and isinstance(inner, ast.Tuple):
        return _one_of(run, inner.elts, value, scope, make)
    if name == "Literal":
        stated = inner.elts if isinstance(inner, ast.Tuple) else [inner]
        same = [one for one in stated if isinstance(one, ast.Constant) and type(one.value) is type(value)]
        return _sure(type(value) in SCALARS and any(one.value == value for one in same), value)
    if name in {"list", "List"}:
        _sure(type(value) is list and run.holds(value), value)
        return [validated(run, inner, one, scope, make) for one in value]
    if name in {"dict", "Dict"} and isinstance(inner, ast.Tuple) and len(inner.elts) == len(("key", "value")):
        _sure(type(value) is dict and run.holds(value), value)
        keys, values = inner.elts
        return {
            validated(run, keys, key, scope, make): validated(run, values, one, scope, make) for key, one in value.items()
        }  # fmt: skip
    raise TouchedError


def _named(run: ProgramRun, name: str, value: Any, scope: NameScope, make: Maker) -> Any:
    kind = type(value)
    found = look_up(scope, name)
    if isinstance(found, Class):
        return _of_class(run, found, value, make)
    if isinstance(found, External) and found.path in _PATHS:
        return _of_path(found.path, value)
    if found is not None and not name.istitle():
        raise TouchedError
    if name == "Any":
        return value
    if name in {"list", "List", "dict", "Dict"}:
        _sure(kind is {"l": list, "d": dict}[name[0].lower()] and run.holds(value), value)
        return value.copy()
    if kind is int and name == "float":
        return float(value)
    if name == "int" and kind is float and value.is_integer():
        return int(value)
    if name == "int" and kind is str and _WHOLE.fullmatch(value):
        return int(value)
    return _sure(_PLAIN.get(name) is kind, value)


def _of_class(run: ProgramRun, cls: Class, value: Any, make: Maker) -> Any:
    if cls.real is not None:
        if type(value) is cls.real:
            return value
        equal = [one for one in cls.real if type(one.value) is type(value) and one.value == value]
        return _sure(len(equal) == 1, equal[0] if equal else None)
    if (
        cls.kind == "model"
        and type(value) is dict
        and run.holds(value)
        and all(type(key) is str for key in value)
    ):
        return make(cls, value)
    return _sure(cls.kind == "model" and isinstance(value, ClassInstance) and value.cls is cls, value)


def keeps_limits(value: Any, limits: Mapping[str, Any]) -> bool | None:
    """Return whether a value keeps the limits of its field; None where that is not known."""
    if value is None or not limits:
        return True if not limits else None
    numbers = {"ge", "gt", "le", "lt"} & limits.keys()
    if numbers and type(value) not in {int, float}:
        return None
    if limits.keys() - numbers and type(value) not in {str, list, dict}:
        return None
    checks: Mapping[str, Callable[[Any], bool]] = {
        "ge": lambda limit: value >= limit, "gt": lambda limit: value > limit, "le": lambda limit: value <= limit,
        "lt": lambda limit: value < limit, "min_length": lambda limit: len(value) >= limit,
        "max_length": lambda limit: len(value) <= limit,
    }  # fmt: skip
    if any(isinstance(limit, Unknown) or type(limit) not in {int, float} for limit in limits.values()):
        return None
    return all(checks[name](limit) for name, limit in limits.items())
