"""Makes the enumerations of a program anew, as Python's own, where all of their members are known."""

from __future__ import annotations

import ast
import enum
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from weakref import WeakKeyDictionary

from simulator.environment.evidence.program_run import ProgramRun, named
from simulator.environment.evidence.unknown_values import SCALARS, Class, External, NameScope, touch

_BASES: Mapping[tuple[str, ...], tuple[type[enum.Enum], type | None]] = {
    ("enum.Enum",): (enum.Enum, None),
    ("enum.StrEnum",): (enum.StrEnum, None),
    ("enum.IntEnum",): (enum.IntEnum, None),
    ("builtins.str", "enum.Enum"): (enum.Enum, str),
    ("builtins.int", "enum.Enum"): (enum.Enum, int),
}
_WRITING = frozenset({"__str__", "__repr__", "__format__"})
"""Methods that write a member: Python's own must not do it in their place."""

_places: WeakKeyDictionary[type[enum.Enum], tuple[str, str]] = WeakKeyDictionary()


def real_enumeration(
    node: ast.ClassDef,
    bases: Sequence[Any],
    inner: NameScope,
    evaluated: Callable[[ast.expr], Any],
) -> type[enum.Enum] | None:
    """Return the enumeration that a class statement of a module makes; None where its members are not all known, or are made in a special way."""
    base, mixed = _base_of(bases)
    of_module = inner.parent is not None and inner.parent.parent is None
    plain = {named(one).rpartition(".")[2] for one in node.decorator_list} <= {"unique"}
    if base is None or node.keywords or not plain or not of_module:
        return None
    members, written = list[tuple[str, Any]](), set[str]()
    for statement in node.body:
        match statement:
            case ast.Expr(value=ast.Constant()):
                pass
            case ast.FunctionDef(name=name) if not name.startswith("_") or name in _WRITING:
                written |= {name} & _WRITING
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if not name.startswith("_"):
                members.append((name, _value(inner.names.get(name), value, evaluated)))
            case _:
                return None
    if not all(isinstance(value, enum.auto) or _is_fixed(value) for _, value in members):
        return None
    made = _made(base, mixed, node.name, members, inner.module)
    for name in written if made is not None else ():
        setattr(made, name, touch)
    return made


def _is_fixed(value: Any) -> bool:
    return type(value) in SCALARS or (type(value) is tuple and all(type(one) in SCALARS for one in value))


def _base_of(bases: Sequence[Any]) -> tuple[type[enum.Enum] | None, type | None]:
    """Return from what Python's own enumeration is derived, and what its members are, too."""
    match bases:
        case [Class(real=type() as base)] if not base.__members__:
            return base, None
    return _BASES.get(tuple(one.path if isinstance(one, External) else "" for one in bases), (None, None))


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
