"""Finds in a piece of code the names that it binds, and the names whose values it may change."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

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
