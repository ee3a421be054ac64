"""Finds in a piece of code the names that it binds, those whose values it may change, and those of modules whose values it can reach.

`scan` looks at the code alone. `reached_names` goes on from it through the functions that it can call, and through values that stand under several names.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

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

DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
Definition: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef

_SCOPES = (*DEFINITIONS, ast.Lambda, ast.ClassDef)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_CALLS = (ast.Call, ast.Await, ast.With, ast.AsyncWith, ast.Import, ast.ImportFrom)
_LEAVES = (ast.Return, ast.Break, ast.Continue, ast.Raise)
_EFFECTS = (ast.Call, ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom)


@dataclass(frozen=True, slots=True)
class Scan:
    """What a piece of code does to names.

    Attributes:
        bound: The names that it binds in its own scope.
        outer: The names that it says are of a scope around it, in the functions that it defines too.
        read: The names that it reads.
        touched: The names from which it can reach what it changes: it stores into values, calls their methods, gives them to functions.
        touches_anything: Whether it changes what may be reached from any name that it reads.
        added: The names that it binds by `+=` and its like alone, which changes numbers and texts not in place.
        calls: Whether it calls, awaits, imports or enters anything.
        leaves: Whether it may leave what is around it: the function, or a loop.
        has_effects: Whether, as an expression, it may do more than give a value.
    """

    bound: frozenset[str]
    outer: frozenset[str]
    read: frozenset[str]
    touched: frozenset[str]
    touches_anything: bool
    added: frozenset[str]
    calls: bool
    leaves: bool
    has_effects: bool

    def reached(self, is_scalar: Callable[[str], bool]) -> frozenset[str]:
        """Return the names from which it can reach what it changes; `is_scalar` knows those that stand for a number or text before."""
        changed = {name for name in self.added if not is_scalar(name)}
        return self.read | self.bound if self.touches_anything or changed else self.touched


def scan(nodes: Sequence[ast.AST]) -> Scan:
    """Return what a piece of code does to names."""
    return _scanned(tuple(nodes))


@lru_cache(maxsize=4096)
def _scanned(nodes: tuple[ast.AST, ...]) -> Scan:
    every = [node for top in nodes for node in ast.walk(top)]
    own = list(own_nodes(nodes))
    names = [node for node in every if isinstance(node, ast.Name)]
    stored = {node.id for node in names if not isinstance(node.ctx, ast.Load)}
    targets = {id(node.target) for node in every if isinstance(node, ast.AugAssign)}
    plain = {node.id for node in names if not isinstance(node.ctx, ast.Load) and id(node) not in targets}
    added = {
        node.target.id
        for node in every
        if isinstance(node, ast.AugAssign)
        and isinstance(node.target, ast.Name)
        and node.target.id not in plain
    }
    roots = {
        _root(place)
        for node in every
        for place in _changed_by(node)
        if not (isinstance(node, ast.AugAssign) and isinstance(place, ast.Name) and place.id in added)
    }
    return Scan(
        bound=frozenset(name for node in own for name in _binds(node)),
        outer=frozenset(
            name for node in every if isinstance(node, (ast.Global, ast.Nonlocal)) for name in node.names
        ),
        read=frozenset(node.id for node in names if isinstance(node.ctx, ast.Load)),
        touched=frozenset(root for root in roots if root is not None),
        touches_anything=bool({None, *stored} & roots),
        added=frozenset(added),
        calls=any(isinstance(node, _CALLS) for node in every),
        leaves=any(isinstance(node, _LEAVES) for node in own),
        has_effects=any(isinstance(node, _EFFECTS) for node in every),
    )


def own_nodes(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """Return the nodes that belong to the scope of a piece of code: not those of functions and classes in it.

    Of a comprehension only the names that `:=` binds are outside of it.
    """
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, _COMPREHENSIONS):
            waiting.extend(one for one in ast.walk(node) if isinstance(one, ast.NamedExpr))
        elif not isinstance(node, _SCOPES):
            waiting.extend(ast.iter_child_nodes(node))


def _binds(node: ast.AST) -> Iterable[str]:
    match node:
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
            return (name,)
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return (name,)
        case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
            return (name,)
        case ast.MatchMapping(rest=str(name)):
            return (name,)
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            return [(one.asname or one.name).partition(".")[0] for one in names]
    return ()


@dataclass(frozen=True, slots=True)
class Names:
    """The names of a function.

    Attributes:
        local: Those that are its own, parameters included.
        outer: Those that it says are of a scope around it.
        of_module: Those of them that it says are the module's.
        gives_way: Whether it is a generator.
    """

    local: frozenset[str]
    outer: frozenset[str]
    of_module: frozenset[str]
    gives_way: bool


@lru_cache(maxsize=4096)
def names_of(node: Definition | ast.Lambda) -> Names:
    """Return what a function does with its names."""
    parameters = {one.arg for one in all_parameters(node.args)}
    if isinstance(node, ast.Lambda):
        return Names(
            frozenset(parameters | scan([node.body]).bound), frozenset(), frozenset(), gives_way=False
        )
    own = list(own_nodes(node.body))
    of_module = {name for one in own if isinstance(one, ast.Global) for name in one.names}
    outer = of_module | {name for one in own if isinstance(one, ast.Nonlocal) for name in one.names}
    return Names(
        frozenset((parameters | scan(node.body).bound) - outer),
        frozenset(outer),
        frozenset(of_module),
        any(isinstance(one, (ast.Yield, ast.YieldFrom)) for one in own),
    )


def body_of(node: Definition | ast.Lambda) -> Sequence[ast.AST]:
    """Return the code of a function."""
    return [node.body] if isinstance(node, ast.Lambda) else node.body


def all_parameters(arguments: ast.arguments) -> list[ast.arg]:
    """Return the parameters of a function in their order, those that gather the rest included."""
    gathering = [one for one in (arguments.vararg, arguments.kwarg) if one is not None]
    return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *gathering]


def _changed_by(node: ast.AST) -> Iterator[ast.expr]:
    match node:
        case (
            ast.Subscript(value=value, ctx=ast.Store() | ast.Del())
            | ast.Attribute(value=value, ctx=ast.Store() | ast.Del())
        ):
            yield value
        case ast.AugAssign(target=target):
            yield target if isinstance(target, ast.Name) else target.value
        case ast.Call(func=func, args=args, keywords=keywords):
            if isinstance(func, ast.Attribute):
                yield func.value
            for one in [*args, *(keyword.value for keyword in keywords)]:
                yield one.value if isinstance(one, ast.Starred) else one


def _root(node: ast.expr) -> str | None:
    """Return the name below which a value is found; empty text where a literal stands there, None where that cannot be said."""
    while isinstance(node, (ast.Subscript, ast.Attribute)):
        node = node.value
    if isinstance(node, ast.Name):
        return node.id
    return "" if isinstance(node, (ast.Constant, ast.JoinedStr)) else None


# ---------------------------------------------------------------- which names of modules code reaches


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
                self._waiting.extend(default for _, default, _ in value.fields.values())
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
