"""Makes the enumerations of a program anew, as Python's own, where all of their members are known."""

from __future__ import annotations

import ast
import enum
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from weakref import WeakKeyDictionary

from simulator.environment.evidence.program_run import ProgramRun
from simulator.environment.evidence.unknown_values import SCALARS, Class, External, NameScope

_BASES: Mapping[tuple[str, ...], tuple[type[enum.Enum], type | None]] = {
    ("enum.Enum",): (enum.Enum, None),
    ("enum.StrEnum",): (enum.StrEnum, None),
    ("enum.IntEnum",): (enum.IntEnum, None),
    ("builtins.str", "enum.Enum"): (enum.Enum, str),
    ("builtins.int", "enum.Enum"): (enum.Enum, int),
}
_places: WeakKeyDictionary[type[enum.Enum], tuple[str, str]] = WeakKeyDictionary()


def real_enumeration(
    run: ProgramRun,
    node: ast.ClassDef,
    bases: Sequence[Any],
    inner: NameScope,
    evaluated: Callable[[ast.expr], Any],
) -> type[enum.Enum] | None:
    """Return the enumeration that a class statement of a module makes; None where its members are not all known, or are made in a special way."""
    paths = tuple(one.path for one in bases if isinstance(one, External))
    of_module = inner.parent is not None and inner.parent.parent is None
    if (
        paths not in _BASES
        or len(paths) < len(bases)
        or node.keywords
        or node.decorator_list
        or not of_module
    ):
        return None
    members: list[tuple[str, Any]] = []
    for statement in node.body:
        match statement:
            case ast.Expr(value=ast.Constant()):
                pass
            case ast.FunctionDef(name=name) if not name.startswith("_"):
                pass
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if not name.startswith("_"):
                members.append((name, _value(inner.names.get(name), value, evaluated)))
            case _:
                return None
    base, mixed = _BASES[paths]
    if not all(
        isinstance(value, enum.auto) or (type(value) in SCALARS and run.knows(value)) for _, value in members
    ):
        return None
    return _made(base, mixed, node.name, members, inner.module)


def _value(found: Any, written: ast.expr, evaluated: Callable[[ast.expr], Any]) -> Any:
    """Return a member's value; `auto()` as Python has it."""
    if isinstance(written, ast.Call) and not written.args and not written.keywords:
        called = evaluated(written.func)
        if isinstance(called, External) and called.path == "enum.auto":
            return enum.auto()
    return found


def _made(
    base: type[enum.Enum], mixed: type | None, name: str, members: list[tuple[str, Any]], module: str
) -> type[enum.Enum] | None:
    options: dict[str, Any] = {} if mixed is None else {"type": mixed}
    work: Any = base
    try:
        made: type[enum.Enum] = work(name, members, module=module, qualname=name, **options)
    except (TypeError, ValueError, AttributeError):
        return None
    _places[made] = (module, name)
    return made


def class_of(run: ProgramRun, member: enum.Enum) -> Class | None:
    """Return the program's class of a member; None where it is not there any more."""
    module, name = _places.get(type(member), ("", ""))
    scope = run.modules(module) if name else None
    found = None if scope is None else scope.names.get(name)
    return found if isinstance(found, Class) and found.real is type(member) else None
