"""Counts what the house is made of: `python -m tests.census`, or `make census`.

    most files in one folder           modules that lie side by side, the fullest folder
    circles                            groups of modules that import each other in a loop
    imports that run up                from a package to one that the contracts in pyproject.toml put above it
    features that import each other    folders of the screen that do, other than through `session`
    names with two meanings            module names that stand for several things
    functions over 40 lines            those that say why, and those that do not
    statements                         nodes of Python's syntax tree that are statements

Imports inside of functions count, those for a type checker alone do not. A module that only hands names on (`__init__.py` without a
definition) is no part of a circle.
"""

from __future__ import annotations

import ast
import gc
import re
import sys
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from simulator.base import python_source

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("app", "evalset", "simulator")
MOST_LINES = 40
SCREEN, SHARED = "app", frozenset({"screens", "session", "forms", "server", "live"})
"""The screen's package, and the folders of it that features may import; `screens` imports features, and nothing imports it."""
COMMON = frozenset({"__init__", "__main__", "main", "errors", "model", "report", "files", "agent", "tools"})
"""Names that say what a module is of its folder, so that they mean the same in each: `agent` and `tools` are ADK's, of a demo."""
_SHOWN = 10
EXAMPLES = ".agents.demos."
PROMISED = {"WrittenCase": "evalset and evalset.verify have each offered one by this name since 0.1"}
"""The class names that may stand twice, and why."""
BEFORE = {"folder": 129, "circles": 3, "up": 2, "names": 72, "classes": 66, "long": 6, "statements": 64_850}
"""The same figures of the sources before they were laid out by feature and by layer."""


@dataclass(frozen=True)
class Module:
    """One module: its dotted name, its file, and its syntax tree."""

    name: str
    file: Path
    tree: ast.Module = field(repr=False)

    @property
    def folder(self) -> str:
        """The package that it lies in; of a package's own file, that package."""
        return self.name if self.file.name == "__init__.py" else self.name.rpartition(".")[0]

    @property
    def is_face(self) -> bool:
        """Whether it only hands names on."""
        defines = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
        bodies = [node for node in self.tree.body if isinstance(node, defines) and node.name != "__getattr__"]
        return self.file.name == "__init__.py" and not bodies


@contextmanager
def uncollected() -> Iterator[None]:
    """Keep the garbage collector from what is made meanwhile: it would look at a million nodes again and again."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


@cache
@uncollected()
def parsed(path: Path) -> ast.Module:
    """Return the syntax tree of a file, read once in a process."""
    tree: ast.Module = python_source.parsed(path.read_text())
    return tree


@cache
@uncollected()
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """Return all nodes of a file's syntax tree, walked once in a process."""
    return tuple(ast.walk(parsed(path)))


class House:
    """All modules of some packages, and who imports whom."""

    def __init__(self, root: Path = ROOT, packages: Iterable[str] = PACKAGES) -> None:
        self.root = root
        files = [file for package in packages for file in sorted((root / package).rglob("*.py"))]
        self.modules = {
            (name := _name_of(file.relative_to(root))): Module(name, file, parsed(file)) for file in files
        }

    @cached_property
    def imports(self) -> Mapping[str, frozenset[str]]:
        """The modules that each module imports, by its name."""
        return {name: frozenset(self._imported(module)) - {name} for name, module in self.modules.items()}

    def _imported(self, module: Module) -> Iterator[str]:
        for node in _run(module.tree):
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names if alias.name in self.modules)
            elif isinstance(node, ast.ImportFrom):
                base = _base(module, node)
                for alias in node.names:
                    inside = f"{base}.{alias.name}"
                    if inside in self.modules:
                        yield inside
                    elif base in self.modules:
                        yield base

    @cached_property
    def circles(self) -> list[list[str]]:
        """The groups of modules that import each other."""
        doors = {name for name, module in self.modules.items() if module.is_face}
        reached = {name: self._reached(name, doors) for name in self.modules if name not in doors}
        groups = {
            tuple(sorted(one for one in found if name in reached.get(one, ())))
            for name, found in reached.items()
        }
        return [[*group] for group in sorted(groups) if group]

    def _reached(self, name: str, doors: set[str]) -> set[str]:
        """Return the modules that importing one may import; itself where that comes round."""
        found: set[str] = set()
        waiting = [name]
        while waiting:
            more = self.imports[waiting.pop()] - doors - found
            found |= more
            waiting.extend(more)
        return found

    @cached_property
    def folders(self) -> Counter[str]:
        """How many modules lie in each folder."""
        return Counter(module.folder for module in self.modules.values() if module.file.name != "__init__.py")

    def running_up(self) -> list[tuple[str, str]]:
        """The imports of what the contracts put above."""
        settings = tomllib.loads((self.root / "pyproject.toml").read_text())
        contracts: list[dict[str, Any]] = settings["tool"]["importlinter"]["contracts"]
        layers = [contract["layers"] for contract in contracts if contract["type"] == "layers"]
        found = {
            (name, other)
            for order in layers
            for name, imported in self.imports.items()
            for other in imported
            if _is_above(order, other, name)
        }
        return sorted(found)

    def features_importing_each_other(self) -> list[tuple[str, str]]:
        """The folders of the screen that import another feature."""
        found = set()
        for name, imported in self.imports.items():
            own = _feature(name)
            others = {_feature(other) for other in imported} - {own, ""}
            if own and own not in SHARED:
                found |= {(own, other) for other in others - SHARED}
        return sorted(found)

    def names_with_two_meanings(self) -> Mapping[str, list[str]]:
        """The names that several modules have, each with those modules."""
        places: defaultdict[str, list[str]] = defaultdict(list)
        for name, module in self.modules.items():
            if module.file.stem not in COMMON:
                places[module.file.stem].append(name)
        return {stem: names for stem, names in sorted(places.items()) if len(names) > 1}

    def classes_with_two_meanings(self) -> Mapping[str, list[str]]:
        """The public names that several classes have, each with the modules; the example agents stand for themselves."""
        places: defaultdict[str, list[str]] = defaultdict(list)
        for name, module in self.modules.items():
            if EXAMPLES not in name:
                for node in module.tree.body:
                    if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                        places[node.name].append(name)
        return {
            each: names for each, names in sorted(places.items()) if len(names) > 1 and each not in PROMISED
        }

    def long_functions(self) -> Iterator[tuple[str, int, bool]]:
        """The functions over 40 lines: where each is, how long, and whether it says why."""
        for module in self.modules.values():
            text = module.file.read_text().splitlines()
            for node in nodes(module.file):
                if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                    length = (node.end_lineno or node.lineno) - node.lineno + 1
                    if length > MOST_LINES:
                        says_why = "# long: " in text[node.lineno - 1]
                        yield f"{module.name}.{node.name}", length, says_why

    @cached_property
    def statements(self) -> int:
        """How many statements there are."""
        return sum(isinstance(node, ast.stmt) for each in self.modules.values() for node in nodes(each.file))


def _name_of(file: Path) -> str:
    parts = file.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _base(module: Module, node: ast.ImportFrom) -> str:
    if not node.level:
        return node.module or ""
    parts = module.folder.split(".")
    parts = parts[: len(parts) - node.level + 1]
    return ".".join([*parts, *([node.module] if node.module else [])])


def _run(tree: ast.AST) -> Iterator[ast.AST]:
    """Walk the statements that are run: without what only a type checker reads."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            waiting.extend(node.orelse)
        else:
            waiting.extend(part for part in ast.iter_child_nodes(node) if not isinstance(part, ast.expr))


def _is_above(order: list[str], other: str, name: str) -> bool:
    """Return whether `other` stands above `name` in a list of layers, the highest first; those of one line stand side by side."""
    floors = [[each.strip() for each in re.split("[|:]", layer)] for layer in order]

    def floor(module: str) -> int | None:
        fitting = [
            (len(package), -place)
            for place, packages in enumerate(floors)
            for package in packages
            if module == package or module.startswith(f"{package}.")
        ]
        return max(fitting)[1] if fitting else None

    here, there = floor(name), floor(other)
    return here is not None and there is not None and there > here


def _feature(name: str) -> str:
    parts = name.split(".")
    return parts[1] if parts[0] == SCREEN and len(parts) > 2 else ""


def report(house: House) -> str:
    """Write all figures down, and what they consist of."""
    folder, most = house.folders.most_common(1)[0]
    long = list(house.long_functions())
    lines = [
        f"most files in one folder: {most} ({folder}); before: {BEFORE['folder']}",
        f"circles: {len(house.circles)}; before: {BEFORE['circles']}",
        *_listed(" -> ".join(circle) for circle in house.circles),
        f"imports that run up: {len(house.running_up())}; before: {BEFORE['up']}",
        *_listed(f"{name} -> {other}" for name, other in house.running_up()),
        f"features that import each other: {len(house.features_importing_each_other())}",
        *_listed(f"{own} -> {other}" for own, other in house.features_importing_each_other()),
        f"names with two meanings: {len(house.names_with_two_meanings())}; before: {BEFORE['names']}",
        *_listed(f"{stem}: {', '.join(names)}" for stem, names in house.names_with_two_meanings().items()),
        f"class names with two meanings: {len(house.classes_with_two_meanings())}; before: {BEFORE['classes']}",
        *_listed(f"{each}: {', '.join(names)}" for each, names in house.classes_with_two_meanings().items()),
        f"functions over {MOST_LINES} lines: {len(long)}, of which {sum(not why for _, _, why in long)} say not why; before: {BEFORE['long']}",
        *_listed(f"{name}: {length} lines" for name, length, why in long if not why),
        f"statements: {house.statements}; before: {BEFORE['statements']}",
        "the ten fullest folders:",
        *_listed(f"{count:4} {name}" for name, count in house.folders.most_common(_SHOWN)),
        "the ten most imported modules:",
        *_listed(f"{count:4} {name}" for name, count in _imported_most(house)),
    ]
    return "\n".join(lines)


def _imported_most(house: House) -> list[tuple[str, int]]:
    return Counter(other for found in house.imports.values() for other in found).most_common(_SHOWN)


def _listed(items: Iterable[str]) -> list[str]:
    return [f"    {item}" for item in items]


if __name__ == "__main__":
    sys.stdout.write(report(House()) + "\n")
