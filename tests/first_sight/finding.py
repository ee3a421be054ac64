"""Finds the function tools of the agents in a checkout."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import NamedTuple

from tests.first_sight.arguments import Function
from tests.first_sight.checkouts import Checkout, File

_WRAPPERS = frozenset({"FunctionTool", "LongRunningFunctionTool"})
_LONGEST_WAY = 5


class Found(NamedTuple):
    """A tool: the file in which its function stands, and the function."""

    path: str
    function: Function

    @property
    def body(self) -> str:
        """Give what is the same in every copy: the parameters' names and the body, without docstring."""
        kept = self.function.body[1:] if ast.get_docstring(self.function) else self.function.body
        named = [one.arg for one in ast.walk(self.function.args) if isinstance(one, ast.arg)]
        return repr((named, [ast.dump(one) for one in kept]))


def tools_of(checkout: Checkout) -> list[Found]:
    """Return each function tool once, in the order of the SHA-256 of `path:name`.

    A tool is a function at the top level of a file that stands, by its name or as `module.name`, in the list given
    for `tools=` of any call, or that is given to `FunctionTool` or `LongRunningFunctionTool`, in a file that names
    `google.adk`. Files of tests and of ADK itself are left out.
    """
    found: dict[tuple[str, str], Found] = {}
    for path in checkout.paths:
        file = None if is_test(path) else checkout.file(path)
        if file is None or not ("google.adk" in file.text or "from google import adk" in file.text):
            continue
        for named in _listed(file.tree):
            tool = _resolved(checkout, file, named)
            if tool is not None and not is_test(tool.path):
                found[tool.path, tool.function.name] = tool
    return sorted(found.values(), key=lambda one: digest(f"{one.path}:{one.function.name}"))


def digest(text: str) -> str:
    """Return the SHA-256 of a text, by which things are ordered."""
    return hashlib.sha256(text.encode()).hexdigest()


def is_test(path: str) -> bool:
    """Return whether a file belongs to tests, or to a copy of ADK."""
    parts = PurePosixPath(path).parts
    return any(part.lower().startswith("test") for part in parts) or "google/adk/" in path


def _listed(tree: ast.Module) -> Iterator[ast.expr]:
    lists = {
        target.id: node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if called in _WRAPPERS:
            yield from node.args[:1] or [one.value for one in node.keywords if one.arg == "func"]
        for keyword in node.keywords:
            if keyword.arg == "tools":
                yield from _elements(keyword.value, lists)


def _elements(value: ast.expr, lists: dict[str, ast.expr]) -> Iterator[ast.expr]:
    match value:
        case ast.List(elts=elements) | ast.Tuple(elts=elements):
            yield from elements
        case ast.BinOp(left=left, right=right):
            yield from _elements(left, lists)
            yield from _elements(right, lists)
        case ast.Name(id=name) if name in lists:
            yield from _elements(lists[name], {})


def _resolved(checkout: Checkout, file: File, named: ast.expr) -> Found | None:
    match named:
        case ast.Name(id=name):
            return _function(checkout, file, name)
        case ast.Attribute(value=ast.Name(id=home), attr=name):
            for statement in _imports(file, home):
                target = checkout.target(file.path, statement, home)
                module = checkout.file(target.path) if target and not target.name else None
                if module is not None:
                    return _function(checkout, module, name)
    return None


def _imports(file: File, name: str) -> list[ast.stmt]:
    return [
        node
        for node in ast.walk(file.tree)
        if isinstance(node, (ast.Import, ast.ImportFrom))
        and any((alias.asname or alias.name) == name for alias in node.names)
    ]


def _function(checkout: Checkout, file: File, name: str) -> Found | None:
    for _ in range(_LONGEST_WAY):
        if (function := file.function(name)) is not None:
            return Found(file.path, function)
        targets = (checkout.target(file.path, statement, name) for statement in _imports(file, name))
        target = next(filter(None, targets), None)
        following = checkout.file(target.path) if target and target.name else None
        if target is None or following is None:
            return None
        file, name = following, target.name
    return None
