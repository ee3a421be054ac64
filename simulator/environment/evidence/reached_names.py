"""Finds the names of modules whose values a piece of code can reach: by name, through the functions that it can call, and under another name."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from simulator.environment.evidence.bound_names import DEFINITIONS, names_of, scan
from simulator.environment.evidence.unknown_values import (
    MUTABLE,
    SCALARS,
    Class,
    ClassInstance,
    External,
    Func,
    NameScope,
    TooMuchError,
    led_to,
)

Reached: TypeAlias = frozenset[tuple[str, str]] | None
"""Names with the dotted names of their modules; None for all."""

MADE_BY = " made by"
"""Under this name a module's scope holds, for each of its names, the statements that make its value; no program can use it."""

MOST_REACHED = 200_000
"""A piece of code that reaches more values may reach all."""

_DYNAMIC = frozenset({"globals", "locals", "vars", "eval", "exec", "compile", "__import__", "__builtins__"})
_DYNAMIC_MODULES = frozenset({"builtins", "ctypes", "gc", "importlib", "inspect", "sys"})


class _AnythingError(Exception):
    """The code may reach whatever there is."""


def reached_names(
    scopes: Mapping[str, NameScope],
    code: Iterable[tuple[NameScope, ast.AST]],
    values: Iterable[Any],
    knows: Callable[[Any], bool],
) -> Reached:
    """Return the names whose values some code can reach.

    Args:
        scopes: The modules, by their dotted names.
        code: The code, each piece with the module that it is in.
        values: What the code is given.
        knows: Says whether all of a value is known. Of another value it also counts what made it.
    """
    walk = _Walk(scopes, knows)
    try:
        walk.follow(code, values)
    except (_AnythingError, TooMuchError):
        return None
    same = {
        (module, name)
        for module, scope in scopes.items()
        for name, value in scope.names.items()
        if not name.startswith(" ") and (module, name) not in walk.names and walk.shares(value)
    }
    return frozenset(walk.names | same)


def made_by(statements: Sequence[ast.stmt]) -> Mapping[str, tuple[ast.stmt, ...]]:
    """Return which of a module's statements bind or change what each of its names stands for."""
    found: dict[str, tuple[ast.stmt, ...]] = {}
    for one in statements:
        scanned = scan([one])
        names = (
            scanned.bound
            if isinstance(one, (*DEFINITIONS, ast.ClassDef))
            else scanned.bound | scanned.reached(lambda _: False)
        )
        for name in names:
            found[name] = (*found.get(name, ()), one)
    return found


def makers(scope: NameScope, name: str) -> tuple[ast.stmt, ...]:
    """Return the statements that make what a name of a module stands for."""
    found: tuple[ast.stmt, ...] = scope.names.get(MADE_BY, {}).get(name, ())
    return found


class _Walk:
    def __init__(self, scopes: Mapping[str, NameScope], knows: Callable[[Any], bool]) -> None:
        self.names = set[tuple[str, str]]()
        self._scopes, self._knows = scopes, knows
        self._seen: dict[int, Any] = {}
        self._waiting: list[Any] = []
        self._code: list[tuple[NameScope, ast.AST]] = []

    def follow(self, code: Iterable[tuple[NameScope, ast.AST]], values: Iterable[Any]) -> None:
        """Go through code and values until nothing more is reached."""
        self._code.extend(code)
        self._waiting.extend(values)
        while self._code or self._waiting:
            if self._code:
                self._read(*self._code.pop())
                continue
            value = self._waiting.pop()
            if type(value) not in SCALARS and id(value) not in self._seen:
                self._seen[id(value)] = value
                if len(self._seen) > MOST_REACHED:
                    raise _AnythingError
                self._waiting.extend(led_to(value))
                self._look_into(value)

    def shares(self, value: Any) -> bool:
        """Return whether something that was reached and can be changed is in a value."""
        seen: dict[int, Any] = {}
        waiting = [value]
        while waiting:
            one = waiting.pop()
            if type(one) in SCALARS or id(one) in seen:
                continue
            seen[id(one)] = one
            if id(one) in self._seen and (type(one) in MUTABLE or isinstance(one, ClassInstance)):
                return True
            waiting.extend(led_to(one))
        return False

    def _look_into(self, value: Any) -> None:
        match value:
            case Func():
                self._code.append((value.scope, value.node))
            case Class():
                self._waiting.extend([*value.scope.names.values(), *value.bases])
                self._waiting.extend(default for _, default in value.fields.values())
            case ClassInstance():
                self._waiting.append(value.cls)
            case External():
                self._module(value.path)

    def _read(self, scope: NameScope, node: ast.AST) -> None:
        found = scan([node])
        own = names_of(node).local if isinstance(node, (*DEFINITIONS, ast.Lambda)) else frozenset[str]()
        for name in (found.read - own) | found.outer:
            self._name(scope, name)
        for one in ast.walk(node):
            if isinstance(one, ast.Import):
                self._imported([each.name for each in one.names])
            elif isinstance(one, ast.ImportFrom):
                if one.level:
                    raise _AnythingError
                self._imported([one.module or "", *(f"{one.module}.{each.name}" for each in one.names)])

    def _imported(self, paths: Iterable[str]) -> None:
        for path in paths:
            self._module(path)

    def _module(self, path: str) -> None:
        if path.partition(".")[0] in _DYNAMIC_MODULES:
            raise _AnythingError
        for name, scope in self._scopes.items():
            inner, outer = f".{name}.", f".{path}."
            if inner.startswith(outer) or outer.startswith(inner) or inner.endswith(outer):
                for each in list(scope.names):
                    self._name(scope, each)

    def _name(self, scope: NameScope, name: str) -> None:
        holder: NameScope | None = scope
        while holder is not None and name not in holder.names:
            holder = holder.parent
        if holder is None:
            if name in _DYNAMIC or "*" in scope.top.names:
                raise _AnythingError
            return
        value = holder.names[name]
        if holder.parent is not None or name.startswith(" ") or (holder.module, name) in self.names:
            self._waiting.extend([] if name.startswith(" ") else [value])
            return
        self.names.add((holder.module, name))
        self._waiting.append(value)
        if not isinstance(value, (Func, Class)) and not self._knows(value):
            self._code.extend((holder, one) for one in makers(holder, name))
