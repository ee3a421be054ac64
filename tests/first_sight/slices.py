"""Cuts out of a checkout what one function needs to run, and says whether that only computes."""

from __future__ import annotations

import ast
import builtins
import copy
from dataclasses import dataclass, field
from typing import Any

from tests.first_sight.arguments import is_context
from tests.first_sight.checkouts import Checkout, File, Target, own_nodes, root_name
from tests.first_sight.finding import Found

COMPUTING = frozenset(
    {
        "__future__", "abc", "ast", "base64", "binascii", "bisect", "calendar", "cmath", "collections", "copy",
        "dataclasses", "datetime", "decimal", "difflib", "enum", "fractions", "functools", "hashlib", "heapq", "html",
        "itertools", "json", "keyword", "logging", "math", "numbers", "operator", "pydantic", "re", "statistics",
        "string", "struct", "textwrap", "types", "typing", "typing_extensions", "unicodedata", "urllib.parse",
        "warnings", "zlib",
    }
)  # fmt: skip
"""The modules that need no network, file, clock, chance or database."""

_REACHING = frozenset({"open", "input", "__import__", "globals", "breakpoint", "id", "hash"})
_CLOCKS = frozenset({"now", "today", "utcnow"})
_CHANGING = frozenset(
    {
        "add", "append", "appendleft", "clear", "discard", "extend", "insert", "pop", "popitem", "popleft", "remove",
        "reverse", "setdefault", "sort", "update",
    }
)  # fmt: skip


@dataclass
class Slice:
    """The statements that a function needs, in each file, and why they do more than compute."""

    parts: dict[str, list[str]] = field(default_factory=dict)
    reasons: list[str] = field(default_factory=list)

    def modules(self) -> list[tuple[str, str]]:
        """Return the path and the source of each part; what one needs stands before it."""
        return [
            (path, "\n".join(["from __future__ import annotations", *lines]))
            for path, lines in self.parts.items()
        ]


def sliced(checkout: Checkout, tool: Found) -> Slice:
    """Cut out what a tool needs to run; nothing is run."""
    cut = _Cut(checkout)
    file = checkout.file(tool.path)
    if file is None:
        return Slice(reasons=["the file is no Python"])
    cut.need(file, tool.function.name)
    for one in (*tool.function.args.args, *tool.function.args.kwonlyargs):
        if is_context(one):
            cut.made.reasons.append("it takes ADK's context")
        elif one.annotation is not None:
            for node in ast.walk(one.annotation):
                if isinstance(node, ast.Name) and _is_class(file, node.id):
                    cut.need(file, node.id)
    if any(isinstance(node, (ast.Yield, ast.YieldFrom)) for node in ast.walk(tool.function)):
        cut.made.reasons.append("it streams")
    cut.finish()
    return cut.made


def _is_class(file: File, name: str) -> bool:
    return any(isinstance(one, (ast.ClassDef, ast.ImportFrom)) for one in file.binding.get(name, []))


class _Cut:
    """Follows names from a function through the files of a checkout."""

    def __init__(self, checkout: Checkout) -> None:
        self._checkout = checkout
        self.made = Slice()
        self._kept: dict[str, dict[int, ast.stmt]] = {}
        self._brought: dict[str, dict[str, str]] = {}
        self._asked: set[tuple[str, str]] = set()
        self._before: dict[str, list[str]] = {}

    def need(self, file: File, name: str) -> None:
        """Keep what binds a name at the top level of a file, and what that needs in turn."""
        if (file.path, name) in self._asked:
            return
        self._asked.add((file.path, name))
        statements = file.binding.get(name, [])
        if not statements:
            self._from_stars(file, name)
        for statement in statements:
            if isinstance(statement, (ast.Import, ast.ImportFrom)):
                self._imported(file, statement, name)
            else:
                self._keep(file, statement)

    def _keep(self, file: File, statement: ast.stmt) -> None:
        kept = self._kept.setdefault(file.path, {})
        position = file.tree.body.index(statement)
        if position in kept:
            return
        plain = _Plain().visit(copy.deepcopy(statement))
        kept[position] = plain
        self._check(file, plain)
        for name in sorted(_names(plain) - _local(plain)):
            if name in file.binding or _stars(file):
                self.need(file, name)
        for node in ast.walk(plain):
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                self._inner_import(file, node)

    def _inner_import(self, file: File, node: ast.Import | ast.ImportFrom) -> None:
        for alias in node.names:
            name = alias.asname or alias.name
            if self._checkout.target(file.path, node, name) is not None:
                self.made.reasons.append(f"it imports {name} while it runs")
            else:
                self._foreign(node, alias.name)

    def _imported(self, file: File, statement: ast.Import | ast.ImportFrom, name: str) -> None:
        target = self._checkout.target(file.path, statement, name)
        if target is not None:
            self._bring(file, name, target)
            return
        for alias in statement.names:
            if (alias.asname or alias.name).partition(".")[0] == name:
                self._foreign(statement, alias.name)
                only = copy.copy(statement)
                only.names = [alias]
                self._kept.setdefault(file.path, {})[-1 - len(self._kept[file.path])] = only

    def _foreign(self, statement: ast.Import | ast.ImportFrom, name: str) -> None:
        home = name if isinstance(statement, ast.Import) else (statement.module or "")
        if home == "urllib" and name == "parse":
            home = "urllib.parse"
        if home not in COMPUTING and home.partition(".")[0] not in COMPUTING:
            self.made.reasons.append(f"it uses {home or 'a missing module'}")

    def _bring(self, file: File, name: str, target: Target) -> None:
        module = self._checkout.file(target.path)
        self._before.setdefault(file.path, []).append(target.path)
        if module is None:
            self.made.reasons.append(f"{target.path} is no Python")
            return
        if target.name:
            self.need(module, target.name)
            value = f"_modules[{target.path!r}].{target.name}"
        else:
            for node in ast.walk(file.tree):
                if (
                    isinstance(node, ast.Attribute)
                    and isinstance(node.value, ast.Name)
                    and node.value.id == name
                ):
                    self.need(module, node.attr)
            value = f"_modules[{target.path!r}]"
        self._brought.setdefault(file.path, {})[name] = value

    def _from_stars(self, file: File, name: str) -> None:
        for statement in _stars(file):
            path = self._checkout.module(file.path, statement.module or "", statement.level)
            module = self._checkout.file(path) if path else None
            if module is not None and name in module.binding:
                self._bring(file, name, Target(module.path, name))
                return
            if module is None and not hasattr(builtins, name):
                self._foreign(statement, "*")

    def _check(self, file: File, statement: ast.stmt) -> None:
        for node in ast.walk(statement):
            match node:
                case ast.Call(func=ast.Name(id=name)) if name in _REACHING:
                    self.made.reasons.append(f"it calls {name}")
                case ast.Attribute(attr=name) if name in _CLOCKS:
                    self.made.reasons.append(f"it asks for .{name}")
                case ast.Global():
                    self.made.reasons.append("it sets globals")
                case ast.ClassDef() if changed := _changed_selves(node):
                    self.made.reasons.append(f"its objects change: {changed}")

    def finish(self) -> None:
        """Write the parts, and look whether a function changes what stands at the top level."""
        for path in self._order():
            file = self._checkout.file(path)
            if file is None:
                continue
            kept = self._kept.get(path, {})
            data = {name for at, one in kept.items() if not _is_definition(one) for name in _bound(one)} - {
                ""
            }
            data |= set(self._brought.get(path, {}))
            for function in (
                node
                for node in ast.walk(file.tree)
                if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
            ):
                if changed := _changed(function) & data:
                    self.made.reasons.append(f"{function.name} changes {', '.join(sorted(changed))}")
            brought = [f"{name} = {value}" for name, value in self._brought.get(path, {}).items()]
            written = [ast.unparse(ast.fix_missing_locations(kept[at])) for at in sorted(kept)]
            futures = [line for line in written if not line.startswith("from __future__")]
            self.made.parts[path] = [*brought, *futures]

    def _order(self) -> list[str]:
        """Return the files, those first from which others bring something."""
        ordered: list[str] = []
        seen: set[str] = set()

        def walk(path: str) -> None:
            if path not in seen:
                seen.add(path)
                for one in self._before.get(path, []):
                    walk(one)
                ordered.append(path)

        for path in [*self._kept, *self._brought]:
            walk(path)
        return ordered


def _bound(statement: ast.stmt) -> set[str]:
    nodes = own_nodes(statement)
    return {root_name(one) for one in nodes if isinstance(getattr(one, "ctx", None), ast.Store)}


def _is_definition(statement: ast.stmt) -> bool:
    return isinstance(
        statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)
    )


def _stars(file: File) -> list[ast.ImportFrom]:
    return [
        one
        for one in file.tree.body
        if isinstance(one, ast.ImportFrom) and any(alias.name == "*" for alias in one.names)
    ]


def _names(statement: ast.stmt) -> set[str]:
    return {one.id for one in ast.walk(statement) if isinstance(one, ast.Name)}


def _local(statement: ast.stmt) -> set[str]:
    """Return the names that a function sets by itself; none of another statement."""
    if not isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return set()
    found = {one.arg for one in ast.walk(statement) if isinstance(one, ast.arg)}
    shared = {name for one in ast.walk(statement) if isinstance(one, ast.Global) for name in one.names}
    stored = {
        one.id
        for one in ast.walk(statement)
        if isinstance(one, ast.Name) and not isinstance(one.ctx, ast.Load)
    }
    return (found | stored) - shared


def _changed(function: ast.AST) -> set[str]:
    """Return the names that are not the function's own, and whose values it changes in place, or which it sets."""
    own = _local(function) if isinstance(function, ast.stmt) else set()
    found: set[str] = set()
    for node in ast.walk(function):
        match node:
            case ast.Subscript(ctx=ast.Store() | ast.Del()) | ast.Attribute(ctx=ast.Store() | ast.Del()):
                found.add(root_name(node))
            case ast.Call(func=ast.Attribute(attr=name) as called) if name in _CHANGING:
                found.add(root_name(called))
            case ast.Global(names=names):
                found.update(names)
    return found - own


def _changed_selves(made: ast.ClassDef) -> str:
    """Return the first method, besides those that make the object, that changes its own object."""
    for one in made.body:
        making = {"__init__", "__post_init__", "__new__"}
        if (
            isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef))
            and one.name not in making
            and one.args.args
        ):
            own = one.args.args[0].arg
            plain: Any = copy.deepcopy(one)
            plain.args.args = plain.args.args[1:]
            if own in _changed(plain):
                return f"{made.name}.{one.name}"
    return ""


class _Plain(ast.NodeTransformer):
    """Takes away the annotations of functions, and of variables outside classes: they decide nothing of a result."""

    def __init__(self) -> None:
        self._in_class = False

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        before, self._in_class = self._in_class, True
        self.generic_visit(node)
        self._in_class = before
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return self._function(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return self._function(node)

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.AST:
        before, self._in_class = self._in_class, False
        node.returns = None
        for one in ast.walk(node.args):
            if isinstance(one, ast.arg):
                one.annotation = None
        self.generic_visit(node)
        self._in_class = before
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        if self._in_class:
            return node
        if node.value is None:
            return ast.copy_location(ast.Pass(), node)
        return ast.copy_location(ast.Assign(targets=[node.target], value=node.value), node)
