"""Knows what pydantic makes of a value for the annotation of a field, and which limits it checks."""

from __future__ import annotations

import ast
import datetime as dt
import decimal
import uuid
from collections.abc import Callable, Mapping
from typing import Annotated, Any

from pydantic import Field, TypeAdapter, ValidationError
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
_AS_TEXT = (dt.datetime, dt.date, dt.time, dt.timedelta, decimal.Decimal, uuid.UUID)
"""The types that pydantic makes of texts, and writes as texts."""

_ADAPTERS: Mapping[str, TypeAdapter[Any]] = {
    f"{kind.__module__}.{kind.__name__}": TypeAdapter(kind) for kind in (str, int, float, bool, *_AS_TEXT)
}  # fmt: skip

LIMITS = frozenset({
    "ge", "gt", "le", "lt", "min_length", "max_length", "pattern", "multiple_of", "max_digits", "decimal_places",
})  # fmt: skip
"""The options of a field that limit its value."""


def refused() -> ProgramException:
    """Return what pydantic raises for a value that it does not take."""
    return ProgramException(ValidationError, (Unknown("string", "the error", sure=True),))


def kinds_of(annotation: ast.expr | None) -> list[ast.expr]:
    """Return the kinds of an annotation: the members of a union, or itself; of a text, those of what it says.

    Raises:
        TouchedError: It is no annotation.
    """
    match annotation:
        case ast.Constant(value=str(text)):
            try:
                return kinds_of(parsed(text, "eval").body)
            except (SyntaxError, ValueError) as error:
                raise TouchedError from error
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return [*kinds_of(left), *kinds_of(right)]
        case ast.Subscript(value=ast.Name(id="Optional") | ast.Attribute(attr="Optional"), slice=inner):
            return [*kinds_of(inner), ast.Constant(None)]
        case ast.Subscript(
            value=ast.Name(id="Union") | ast.Attribute(attr="Union"), slice=ast.Tuple(elts=found)
        ):
            return [one for each in found for one in kinds_of(each)]
    return [] if annotation is None else [annotation]


def is_none(annotation: ast.expr) -> bool:
    """Return whether an annotation stands for None."""
    return isinstance(annotation, ast.Constant) and annotation.value is None


def validated(run: ProgramRun, annotation: ast.expr, value: Any, scope: NameScope, make: Maker) -> Any:
    """Return what pydantic makes of a known value; `make` makes an object of a model.

    Raises:
        TouchedError: That is not certain.
        ProgramException: It takes no such value.
    """
    run.budget.spend()
    kinds = kinds_of(annotation)
    others = [one for one in kinds if not is_none(one)]
    if len(others) < len(kinds) and value is None:
        return None
    if len(others) != 1:  # what exactly one of them takes as it is
        names = [f"builtins.{one.id}" for one in others if isinstance(one, ast.Name)]
        return _sure([one for one in names if one in _ADAPTERS].count(_path_of(type(value))) == 1, value)
    match others[0]:
        case ast.Subscript(value=ast.Name(id=name) | ast.Attribute(attr=name), slice=inner):
            return _generic(run, name, inner, value, scope, make)
        case ast.Attribute(value=ast.Name(id=module), attr=name):
            held = look_up(scope, module)
            path = f"{held.path}.{name}" if isinstance(held, External) else ""
            return _named(
                run, name, External(path) if path in _ADAPTERS else look_up(scope, name), value, make
            )
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return _named(run, name, look_up(scope, name), value, make)
    raise TouchedError


def in_json(value: Any) -> Any:
    """Return how pydantic and ADK write a known date, time, decimal or UUID as JSON; itself if it is none of these."""
    return to_jsonable_python(value) if type(value) in _AS_TEXT else value


def _path_of(kind: type) -> str:
    return f"{kind.__module__}.{kind.__name__}"


def _sure(so: bool, value: Any) -> Any:
    if not so:
        raise TouchedError
    return value


def _generic(run: ProgramRun, name: str, inner: ast.expr, value: Any, scope: NameScope, make: Maker) -> Any:
    if name == "Literal":
        every = inner.elts if isinstance(inner, ast.Tuple) else [inner]
        stated = [getattr(one, "value", ...) for one in every]
        if isinstance(value, str) and all(type(one) is str and one != value for one in stated):
            raise refused()
        is_stated = any(type(one) is type(value) and one == value for one in stated)
        return _sure(type(value) in SCALARS and is_stated, value)
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


def _named(run: ProgramRun, name: str, found: Any, value: Any, make: Maker) -> Any:
    if isinstance(found, Class):
        return _of_class(run, found, value, make)
    path = found.path if isinstance(found, External) else f"builtins.{name}" if found is None else ""
    if path in _ADAPTERS:
        _sure(type(value) in SCALARS, value)
        try:
            return _ADAPTERS[path].validate_python(value)
        except ValidationError as error:
            raise refused() from error
    if found is not None and not name.istitle():
        raise TouchedError
    if name == "Any":
        return value
    kind: Any = {"list": list, "dict": dict}.get(name.lower())
    return _sure(kind is type(value) and run.holds(value), value).copy()


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
    if not limits:
        return True
    if not all(type(limit) in SCALARS for limit in limits.values()):
        return None
    try:
        kind: Any = Annotated[type(value), Field(**limits)]
        TypeAdapter(kind).validate_python(value)
    except ValidationError:
        return False
    except Exception:  # noqa: BLE001 - the limits do not belong to such a value
        return None
    return True
