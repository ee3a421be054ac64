"""Loads the modules of a program, as an import would leave them, without running anything of them; and tells from their texts what a call may change, and which values they state."""

from __future__ import annotations

import ast
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from pydantic import JsonValue

from simulator.base.json_values import copied
from simulator.base.python_source import parsed
from simulator.environment.conventions import kind_named
from simulator.environment.evidence.code_names import DEFINITIONS, MADE_BY, made_by, names_of, scan
from simulator.environment.evidence.program_run import CHANGED, REBOUND, ProgramRun, RunPlan, StepBudget
from simulator.environment.evidence.sketch import FunctionSource, Module, SeedTable
from simulator.environment.evidence.statement_execution import execute
from simulator.environment.evidence.unknown_values import (
    MAPPINGS,
    MUTABLE,
    SCALARS,
    Bound,
    Cached,
    Class,
    ClassInstance,
    Decorated,
    DefaultFactory,
    External,
    Func,
    Lazy,
    NameScope,
    Partial,
    Super,
    TooMuchError,
    Unknown,
    led_to,
)

MOST_LETTERS = 1_000_000
"""A longer module is not read."""

LOADING_STEPS = 100_000
"""So many steps loading a module and those that it imports may take."""


class UnreadableModuleError(Exception):
    """A module cannot be read; the message says why."""


@dataclass(eq=False, slots=True)
class Heap:
    """What the modules of a program hold.

    Attributes:
        scopes: The names of the modules, by their dotted names.
        lost: The containers whose contents are not known, by their ids.
        shared: All that can be changed in them, by their ids, while several runs share it.
    """

    scopes: dict[str, NameScope] = field(default_factory=dict)
    lost: dict[int, Any] = field(default_factory=dict)
    shared: Mapping[int, Any] = field(default_factory=dict)

    def run(self, budget: StepBudget, plan: RunPlan) -> ProgramRun:
        """Return a run on these modules."""
        return ProgramRun(budget, plan, self.shared, self.scopes.get, self.lost, execute)

    def copy(self) -> Heap:
        """Return a copy that a run may change."""
        copier = _Copier()
        scopes = {name: copier.value(scope) for name, scope in self.scopes.items()}
        lost = [copier.value(one) for one in self.lost.values()]
        return Heap(scopes, {id(one): one for one in lost})


@dataclass(eq=False, slots=True)
class Program:
    """A program that was loaded.

    Attributes:
        tree: The module of the function that was asked for.
        heap: What its modules hold.
        seeded: What it was last given in place of its own tables, and the program with that.
    """

    tree: ast.Module
    heap: Heap
    seeded: tuple[Sequence[SeedTable], Program] | None = None


def load(code: FunctionSource) -> Program:
    """Return the program of a tool's function. It is loaded once for each text.

    Raises:
        UnreadableError: The module is too long, or no Python.
    """
    return _loaded(code.module, tuple(sorted(code.project.items(), key=lambda one: one[0])))


def seeded(program: Program, tables: Sequence[SeedTable]) -> Program:
    """Return a program whose tables hold the environment's data in place of their own rows, where both are of one kind."""
    known = program.seeded
    if known is None or known[0] is not tables:
        heap = program.heap.copy()
        rows = [(one.kind, {key: copied(dict(row)) for key, row in one.records()}) for one in tables]
        for scope in heap.scopes.values():
            scope.names.update((name, _replaced(name, held, rows)) for name, held in scope.names.items())
        heap.shared = _changeable(heap.scopes.values())
        known = program.seeded = tables, Program(program.tree, heap)
    return known[1]


def takes_rows(program: Program, kind: str, rows: Mapping[str, Any]) -> bool:
    """Return whether some table of a program holds the environment's data of a kind in place of its own rows."""
    found = [(name, held) for scope in program.heap.scopes.values() for name, held in scope.names.items()]
    return any(_replaced(name, held, [(kind, rows)]) is not held for name, held in found)


def _replaced(name: str, held: Any, tables: Sequence[tuple[str, Mapping[str, Any]]]) -> Any:
    """Return a table with the rows of the data in the form that it has: those of its name, else those with an id of its own."""
    if type(held) not in {dict, list} or name.startswith(" "):
        return held
    inside = list(held.values() if type(held) is dict else held)
    whole = kind_named(name)
    last, are_records = whole.rpartition("_")[2], all(type(one) is dict for one in inside)
    named = [rows for kind, rows in tables if kind == whole or (inside and kind.rpartition("_")[2] == last)]
    by_id = [rows for _, rows in tables if type(held) is dict and held.keys() & rows.keys()]
    rows = next(iter(named or by_id), None) if are_records or type(held) is dict else None
    if rows is not None and type(held) is dict and not held.keys() & rows.keys():
        rows = _keyed(held, rows)
    if rows is not None and are_records:
        made = {key: _record(key, row, inside[0] if inside else row) for key, row in rows.items()}
        return made if type(held) is dict else [*made.values()]
    if rows is not None and held.keys() & rows.keys() and all(type(one) in SCALARS for one in inside):
        column = _column(held, rows)
        return {key: row[column] if column in row else Unknown(name=name) for key, row in rows.items()}
    if rows is not None:
        return Unknown(name=name, like=held)
    if type(held) is list or not all(type(key) is str for key in held):
        return held
    within = {key: _replaced(key, one, tables) for key, one in held.items()}
    return within if any(within[key] is not held[key] for key in held) else held


def _keyed(held: Mapping[str, Any], rows: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return rows by the field whose values are keys of a table; as they are where no field's are."""
    fields = (name for row in rows.values() for name, one in row.items() if type(one) is str and one in held)
    name = next(fields, None)
    return rows if name is None else {str(row[name]): row for row in rows.values() if name in row}


def _column(held: Mapping[str, Any], rows: Mapping[str, Any]) -> str:
    """Return which field of the data's rows a table of plain values holds: the one that agrees with it, else the only one of its type; empty where that is not told."""
    fields = {(name, key): one for key, row in rows.items() for name, one in row.items() if one != key}
    numbers = any(isinstance(one, (int, float)) for one in held.values())
    agreeing = {name for (name, key), one in fields.items() if key in held and held[key] == one}
    typed = {name for (name, _), one in fields.items() if isinstance(one, (int, float)) is numbers}
    found = agreeing or typed
    return next(iter(found)) if len(found) == 1 else ""


def _record(key: str, row: Mapping[str, Any], like: Mapping[str, Any]) -> dict[str, Any]:
    more = {name: one for name, one in row.items() if name not in like and one != key}
    return {name: row[name] if name in row else Unknown(name=name) for name in like} | more


@lru_cache(maxsize=64)
def _loaded(module: Module, project: Sequence[tuple[str, Module]]) -> Program:
    tree = parsed_module(module)
    heap, budget = Heap(), StepBudget(LOADING_STEPS)
    others = dict(project)

    def loaded(name: str) -> NameScope | None:
        if name in heap.scopes:
            return heap.scopes[name]
        other = others.pop(name, None)
        if other is None or budget.left <= 0:
            return None
        try:
            _fill(heap, name, parsed_module(other), budget, loaded)
        except UnreadableModuleError:
            return None
        return heap.scopes[name]

    others.pop(module.name, None)
    _fill(heap, module.name, tree, budget, loaded)
    heap.shared = _changeable(heap.scopes.values())
    return Program(tree, heap)


def _fill(heap: Heap, name: str, tree: ast.Module, budget: StepBudget, loaded: Any) -> None:
    scope = heap.scopes[name] = NameScope({}, name)
    functions = [node for node in ast.walk(tree) if isinstance(node, DEFINITIONS)]
    scope.names[CHANGED] = {
        name for node in functions for name in scan(node.body).reached(lambda _: False) - names_of(node).local
    }
    scope.names[REBOUND] = {name for node in functions for name in names_of(node).of_module}
    scope.names[MADE_BY] = MappingProxyType(made_by(tree.body))
    run = ProgramRun(budget, RunPlan(), {}, loaded, heap.lost, execute)
    run.loading = True
    try:
        execute(run, tree.body, scope)
    except TooMuchError:
        for known in list(scope.names):
            if not known.startswith(" ") and not isinstance(scope.names[known], (Func, Class)):
                scope.names[known] = Unknown(name=known)
    heap.lost.update(run.unknown_now)
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id=known), attr=attr, ctx=ast.Store()):
                held = scope.names.get(known)
                module = loaded(held.path) if isinstance(held, External) else None
                if module is not None:
                    module.names[REBOUND].add(attr)


@lru_cache(maxsize=256)
def parsed_module(module: Module) -> ast.Module:
    """Return the tree of a module.

    Raises:
        UnreadableModuleError: It is too long, or no Python.
    """
    if len(module.text) > MOST_LETTERS:
        raise UnreadableModuleError(f"{module.path} is too long to read")
    try:
        tree: ast.Module = parsed(module.text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise UnreadableModuleError(f"{module.path} cannot be read as Python") from error
    return tree


def _changeable(scopes: Iterable[NameScope]) -> dict[int, Any]:
    """Return all that a run could change in some modules, by its id."""
    found: dict[int, Any] = {}
    seen: set[int] = set()
    waiting: list[Any] = list(scopes)
    while waiting:
        value = waiting.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if type(value) in MUTABLE or isinstance(value, (ClassInstance, Class)):
            found[id(value)] = value
        if isinstance(value, NameScope):
            value.shared = True
        waiting.extend((*led_to(value), *_AROUND.get(type(value), lambda _: ())(value)))
    return found


_AROUND: Mapping[type, Callable[[Any], Iterable[Any]]] = {
    NameScope: lambda one: (*one.names.values(), *one.outer.values(), *filter(None, [one.parent])), Func: lambda one: (one.scope,),
    Class: lambda one: (one.scope, *one.bases, *(default for _, default, _ in one.fields.values())),
    **dict.fromkeys((ClassInstance, Super), lambda one: (one.cls,)),
}  # fmt: skip
"""The scopes and classes that belong to a value."""

_COPIED = frozenset({
    *MUTABLE, NameScope, Func, Class, ClassInstance, Cached, Decorated, Super, DefaultFactory, Bound, Partial, Unknown,
})  # fmt: skip
"""The types of values that change, or lead to such: a value of any other type stays the same."""


class _Copier:
    """Copies values with all that hangs together in them."""

    def __init__(self) -> None:
        self._copies: dict[int, tuple[Any, Any]] = {}

    def value(self, value: Any) -> Any:
        """Return the copy of a value."""
        kind = type(value)
        if kind is tuple:
            return tuple(map(self.value, value))
        if kind is Lazy:
            return Unknown("array")
        if kind not in _COPIED:
            return value
        if id(value) not in self._copies:
            slots = getattr(kind, "__slots__", ())
            made = object.__new__(kind) if slots else copy(value)
            self._copies[id(value)] = value, made
            if kind in MAPPINGS:
                for key, one in value.items():
                    dict.__setitem__(made, key, self.value(one))
            elif kind in {list, deque}:
                made.clear()
                made.extend(map(self.value, value))
            for name in slots:
                setattr(made, name, self.value(getattr(value, name)))
            if kind is NameScope:
                made.shared = False
        return self._copies[id(value)][1]


@lru_cache(maxsize=512)
def find(tree: ast.Module, name: str, line: int) -> list[ast.AST]:
    """Return the nodes from a module down to the function that begins at a line; empty where there is none of that name."""
    waiting: list[tuple[ast.AST, tuple[ast.AST, ...]]] = [(tree, ())]
    while waiting:
        node, around = waiting.pop()
        way = (*around, node)
        if isinstance(node, DEFINITIONS) and node.name == name:
            first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
            if first <= line <= node.lineno:
                return list(way)
        if isinstance(node, ast.Lambda) and name == "<lambda>" and node.lineno == line:
            return list(way)
        waiting.extend((one, way) for one in ast.iter_child_nodes(node))
    return []


# ---------------------------------------------------------------- what a call may change, and what the source states


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
