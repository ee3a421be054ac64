"""Tells from a tool's source whether a call may change what outlasts it, and which values the source states for fields."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from pydantic import JsonValue

from simulator.environment.evidence.code_names import DEFINITIONS
from simulator.environment.evidence.programs import UnreadableModuleError, find, parsed_module
from simulator.environment.evidence.sketch import FunctionSource, Module

_CHANGING = frozenset(
    {"append", "appendleft", "extend", "extendleft", "insert", "add", "update", "pop", "popleft", "popitem"}
    | {"remove", "discard", "clear", "setdefault", "sort", "reverse", "rotate", "next", "setattr", "delattr"}
    | {
        "heappush",
        "heappop",
        "heapify",
        "heapreplace",
        "insort",
        "shuffle",
        "exec",
        "eval",
        "globals",
        "vars",
    }
    | {"difference_update", "intersection_update", "symmetric_difference_update", "subtract"}
)
"""Names of methods and functions that change what they are given, or what they are called on."""
_FRESH = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp, ast.Constant, ast.JoinedStr)
Stated = frozenset[tuple[str, bool, JsonValue]]


def may_write(code: FunctionSource) -> bool:
    """Return whether a tool's function may change what its modules or the session's state hold, as far as its names lead."""
    return _writes(code.module, _project(code), code.name, code.line)


def states(code: FunctionSource, name: str, value: JsonValue) -> bool:
    """Return whether the source states a value for fields of a name: what it only computes stands nowhere in it."""
    if isinstance(value, dict):
        return all(states(code, key, one) for key, one in value.items())
    if isinstance(value, list):
        return all(states(code, name, one) for one in value)
    key = "" if isinstance(value, str) else name
    return (key, isinstance(value, bool), value) in _stated((code.module, *_project(code)))


def _project(code: FunctionSource) -> Sequence[Module]:
    return tuple(code.project[name] for name in sorted(code.project))


@lru_cache(maxsize=64)
def _stated(modules: Sequence[Module]) -> Stated:
    nodes = [node for tree in _trees(modules) for node in ast.walk(tree)]
    texts = {
        ("", False, one.value)
        for one in nodes
        if isinstance(one, ast.Constant) and isinstance(one.value, str)
    }
    return frozenset(
        texts | {(name, isinstance(one, bool), one) for node in nodes for name, one in _fields(node)}
    )


def _fields(node: ast.AST) -> Iterator[tuple[str, JsonValue]]:
    """Yield the names that an object or a call gives to constants, with these."""
    pairs: list[tuple[object, ast.expr]] = []
    match node:
        case ast.Dict(keys=keys, values=values):
            pairs = [(getattr(key, "value", None), one) for key, one in zip(keys, values, strict=True)]
        case (
            ast.keyword(arg=name, value=one)
            | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as one)
        ):
            pairs = [(name, one)]
    for key, one in pairs:
        inside = one.elts if isinstance(one, (ast.List, ast.Tuple)) else [one]
        for each in inside if isinstance(key, str) else ():
            match each:
                case ast.Constant(value=bool() | int() | float() | None as value):
                    yield str(key), value
                case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
                    yield str(key), -value


def _trees(modules: Sequence[Module]) -> Iterator[ast.Module]:
    for one in modules:
        try:
            yield parsed_module(one)
        except UnreadableModuleError:
            continue


@lru_cache(maxsize=256)
def _writes(module: Module, project: Sequence[Module], name: str, line: int) -> bool:
    trees = list(_trees((module, *project)))
    way = find(trees[0], name, line) if trees else []
    bound = _bound((module, *project))
    waiting, seen = list[ast.AST](way[-1:]), set[str]()
    while waiting:
        nodes = list(ast.walk(waiting.pop()))
        own = _own_of(nodes)
        if any(_changes(one, own) for one in nodes):
            return True
        named = {
            one.id if isinstance(one, ast.Name) else one.attr
            for one in nodes
            if isinstance(one, (ast.Name, ast.Attribute))
        }
        waiting.extend(one for each in named - seen for one in bound.get(each, ()))
        seen |= named
    return not way


@lru_cache(maxsize=64)
def _bound(modules: Sequence[Module]) -> Mapping[str, Sequence[ast.AST]]:
    """Return what the names of functions, classes and variables of some modules stand for."""
    found: dict[str, list[ast.AST]] = {}
    for tree in _trees(modules):
        for node in ast.walk(tree):
            if isinstance(node, (*DEFINITIONS, ast.ClassDef)):
                found.setdefault(node.name, []).append(node)
        for one in tree.body:
            if isinstance(one, (ast.Assign, ast.AnnAssign)) and one.value is not None:
                for target in one.targets if isinstance(one, ast.Assign) else [one.target]:
                    found.setdefault(getattr(target, "id", ""), []).append(one.value)
    return found


def _own_of(nodes: Sequence[ast.AST]) -> frozenset[str]:
    """Return the names of a piece of code that stand for nothing but what it has made itself."""
    stored = Counter(one.id for one in nodes if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store))
    given = {one.arg for one in nodes if isinstance(one, ast.arg)}
    made = Counter[str]()
    for one in nodes:
        if isinstance(one, (ast.Assign, ast.AnnAssign)) and isinstance(one.value, _FRESH):
            targets = one.targets if isinstance(one, ast.Assign) else [one.target]
            made.update(each.id for each in targets if isinstance(each, ast.Name))
        elif isinstance(one, ast.AugAssign) and isinstance(one.target, ast.Name):
            made[one.target.id] += 1
    return frozenset(name for name, count in made.items() if count == stored[name] and name not in given)


def _changes(node: ast.AST, own: frozenset[str]) -> bool:
    match node:
        case ast.Global() | ast.Nonlocal():
            return True
        case ast.Call(func=ast.Name(id=name), args=args):
            return name in _CHANGING and not isinstance(next(iter(args), None), ast.GeneratorExp)
        case ast.Call(func=ast.Attribute(value=value, attr=name)):
            return name in _CHANGING and getattr(value, "id", "") not in own
        case ast.AugAssign(target=ast.Name(id=name)):
            return name not in own
        case ast.Subscript(value=value, ctx=ctx) | ast.Attribute(value=value, ctx=ctx):
            return not isinstance(ctx, ast.Load) and getattr(value, "id", "") not in own
    return False
