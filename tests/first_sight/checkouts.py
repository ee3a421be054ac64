"""Reads the Python files of a checkout as text: what each file binds at its top level, and where its imports lead."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PurePosixPath

from simulator.base.python_source import parsed

_FOREIGN = frozenset({"site-packages", ".venv", "venv", "node_modules", ".git", "__pycache__"})


@dataclass(frozen=True)
class Target:
    """What an import brings: a name of a file, or the file itself where the name is empty."""

    path: str
    name: str = ""


@dataclass
class File:
    """A parsed file of a checkout."""

    path: str
    text: str
    tree: ast.Module
    binding: dict[str, list[ast.stmt]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for statement in self.tree.body:
            if isinstance(statement, ast.If) and "__name__" in ast.unparse(statement.test):
                continue
            for name in bound(statement):
                self.binding.setdefault(name, []).append(statement)

    def function(self, name: str) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
        """Return the last function of a name at the top level."""
        found = [
            one
            for one in self.binding.get(name, [])
            if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef)) and one.name == name
        ]
        return found[-1] if found else None


def bound(statement: ast.stmt) -> set[str]:
    """Return the names that a statement of the top level binds or changes, not those of the scopes inside it."""
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return {statement.name}
    names: set[str] = set()
    for node in own_nodes(statement):
        match node:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                names.add(name)
            case ast.Attribute(ctx=ast.Store() | ast.Del()) | ast.Subscript(ctx=ast.Store() | ast.Del()):
                names.add(root_name(node))
            case ast.Import() | ast.ImportFrom():
                names.update((alias.asname or alias.name).partition(".")[0] for alias in node.names)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                names.add(name)
            case ast.Call(func=ast.Attribute() as called) if isinstance(statement, ast.Expr):
                names.add(root_name(called))
    return names - {""}


def own_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a statement, without the bodies of functions and classes inside it."""
    yield node
    if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
        for child in ast.iter_child_nodes(node):
            yield from own_nodes(child)


def root_name(node: ast.AST) -> str:
    """Return the name at the root of `name.a[b].c`; empty where there is none."""
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


class Checkout:
    """The Python files of a folder; what does not parse is left out."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._files: dict[str, File | None] = {}

    @cached_property
    def paths(self) -> list[str]:
        """Give the Python files, in their order."""
        found = (path.relative_to(self.root) for path in self.root.rglob("*.py"))
        return sorted(path.as_posix() for path in found if not _FOREIGN & set(path.parts))

    @cached_property
    def _known(self) -> frozenset[str]:
        return frozenset(self.paths)

    def file(self, path: str) -> File | None:
        """Return a parsed file; None where it is no Python of this version."""
        if path not in self._files:
            self._files[path] = self._read(path)
        return self._files[path]

    def _read(self, path: str) -> File | None:
        try:
            text = (self.root / path).read_bytes().decode()
            with warnings.catch_warnings(action="ignore"):
                return File(path, text, parsed(text))
        except (OSError, SyntaxError, ValueError, RecursionError):
            return None

    def module(self, path: str, name: str, level: int) -> str | None:
        """Return the file that `from ..name import` in a file means; None where it is none of the checkout.

        An absolute name is looked for beside the file, and then in each folder above it.
        """
        here = PurePosixPath(path).parent
        homes = [here, *here.parents] if not level else [[here, *here.parents][level - 1 :][0]]
        below = name.replace(".", "/")
        for home in homes:
            for end in (f"{below}.py", f"{below}/__init__.py") if below else ("__init__.py",):
                if (found := (home / end).as_posix()) in self._known:
                    return found
        return None

    def target(self, path: str, statement: ast.stmt, name: str) -> Target | None:
        """Return what a name means that an import statement binds; None where it comes from elsewhere."""
        for alias in getattr(statement, "names", []):
            if (alias.asname or alias.name) != name:
                continue
            if isinstance(statement, ast.Import):
                found = self.module(path, alias.name, 0)
                return Target(found) if found else None
            if isinstance(statement, ast.ImportFrom):
                return self._from(path, statement, alias.name)
        return None

    def _from(self, path: str, statement: ast.ImportFrom, name: str) -> Target | None:
        home = statement.module or ""
        inside = self.module(path, f"{home}.{name}".strip("."), statement.level)
        found = self.module(path, home, statement.level) if home or statement.level else None
        file = self.file(found) if found else None
        if file is not None and found and (name in file.binding or not inside):
            return Target(found, name)
        return Target(inside) if inside else None
