"""Reads the source of modules as text, and the modules of the same project that it imports; nothing is imported or run."""

from __future__ import annotations

import re
import stat
import sysconfig
import threading
import tokenize
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from simulator.environment.evidence.sketch import Module

LARGEST_FILE = 10_000_000
"""A larger file is not read, in bytes."""

MOST_MODULES = 40
"""How many other modules of a project stand beside the one that a tool is written in."""

MOST_PROJECT_TEXT = 1_000_000
"""How much text these have together, in characters."""

_LARGEST_IMPORTER = 1_000_000
_MOST_HELD = 40_000_000
_INSTALLED = frozenset({"site-packages", "dist-packages"})
_PYTHON = tuple(Path(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib"))
_PACKAGE = "__init__"
_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+(?P<base>\.*[\w.]*)[ \t]+import[ \t]*(?P<names>\([^)]*\)|[^\n#;]*)"
    r"|import[ \t]+(?P<modules>[\w., \t]+))",
    re.MULTILINE,
)


class UnreadableSourceError(Exception):
    """A file's text cannot be had; the text says why."""


class _Stamp(NamedTuple):
    """When a file was written, and how large it is: another stamp, another text."""

    written: int
    size: int
    number: int


@dataclass(slots=True)
class Source:
    """A file that was read.

    Attributes:
        path: The file.
        stamp: What it was like when it was read.
        text: Its text.
        lines: The same, line by line, each with its line break.
        checked: What the check of a function's place said, by the function's place, name and parameters.
        modules: The source as a module, by the module's dotted name.
        project: What `project_of` found last, by the dotted name, with the files it read.
    """

    path: Path
    stamp: _Stamp
    text: str
    lines: list[str]
    checked: dict[tuple[int, str, tuple[str, ...]], str] = field(default_factory=dict)
    modules: dict[str, Module] = field(default_factory=dict)
    project: dict[str, tuple[tuple[Source, ...], Mapping[str, Module]]] = field(default_factory=dict)

    def module(self, name: str) -> Module:
        """Return it as the module with this dotted name; the same object each time."""
        if name not in self.modules:
            shown = "/".join(self.path.parts[-2:])
            self.modules[name] = Module(path=shown, text=self.text, name=name)
        return self.modules[name]


_lock = threading.Lock()
_sources: OrderedDict[Path, Source] = OrderedDict()


def source_of_file(path: Path) -> Source:
    """Return the text of a file; it is read again only after it has changed.

    Raises:
        UnreadableError: It is not there, is no plain file, is too large, or does not match the encoding that it declares.
    """
    stamp = _stamp(path)
    with _lock:
        known = _sources.get(path)
        if known is not None and known.stamp == stamp:
            _sources.move_to_end(path)
            return known
    text = _read(path)
    source = Source(path, stamp, text, text.splitlines(keepends=True))
    with _lock:
        _sources[path] = source
        _sources.move_to_end(path)
        while sum(len(one.text) for one in _sources.values()) > _MOST_HELD and len(_sources) > 1:
            _sources.popitem(last=False)
    return source


def _stamp(path: Path) -> _Stamp:
    try:
        status = path.stat()
    except (OSError, ValueError) as error:
        raise UnreadableSourceError(f"its file {path.name} was not found") from error
    if not stat.S_ISREG(status.st_mode):
        raise UnreadableSourceError(f"{path.name} is not a regular file")
    if status.st_size > LARGEST_FILE:
        raise UnreadableSourceError(f"its file {path.name} is larger than {LARGEST_FILE // 1_000_000} MB")
    return _Stamp(status.st_mtime_ns, status.st_size, status.st_ino)


def _read(path: Path) -> str:
    try:
        with tokenize.open(path) as file:
            return file.read(LARGEST_FILE)
    except OSError as error:
        raise UnreadableSourceError(f"its file {path.name} cannot be read") from error
    except (SyntaxError, ValueError) as error:
        raise UnreadableSourceError(
            f"its file {path.name} does not match the encoding that it declares"
        ) from error


def is_installed(path: Path) -> bool:
    """Return whether a file belongs to Python itself or to an installed package, and so to no project."""
    return bool(_INSTALLED & set(path.parts)) or any(path.is_relative_to(folder) for folder in _PYTHON)


def place_of(path: Path, named: str) -> tuple[Path, str]:
    """Return the folder from which a module is imported, and its dotted name below it.

    Args:
        path: The module's file.
        named: What the module is called by what was imported from it, such as `shop.tools`.
    """
    parts = path.parent.parts if path.stem == _PACKAGE else (*path.parent.parts, path.stem)
    dotted = tuple(named.split("."))
    if parts[-len(dotted) :] == dotted:
        return Path(*parts[: -len(dotted)]), named
    folder = path.parent
    below = [] if path.stem == _PACKAGE else [path.stem]
    while (folder / f"{_PACKAGE}.py").is_file() and folder.parent != folder:
        below.insert(0, folder.name)
        folder = folder.parent
    return folder, ".".join(below) or path.stem


def project_of(source: Source, root: Path, name: str) -> Mapping[str, Module]:
    """Return the other modules of the project that a module imports, and that those import, by their dotted names.

    The nearest come first, at most `MOST_MODULES` with `MOST_PROJECT_TEXT` characters. To a module that is installed, only
    those of its own package belong. They are looked for again only after one of the files has changed.

    Args:
        source: The module.
        root: The folder from which the project's modules are imported.
        name: The module's dotted name.
    """
    known = source.project.get(name)
    if known is not None and all(_is_current(one) for one in known[0]):
        return known[1]
    found: dict[str, Source] = {}
    own = f"{_package(source, name)}." if is_installed(source.path) else ""
    queue, room = [(source, name)], MOST_PROJECT_TEXT
    while queue:
        importer, dotted = queue.pop(0)
        for other in _imported(importer, dotted):
            is_known = other == name or other in found
            if is_known or len(found) >= MOST_MODULES or not f"{other}.".startswith(own):
                continue
            read = _module_at(root, other)
            if read is None or len(read.text) > room:
                continue
            room -= len(read.text)
            found[other] = read
            queue.append((read, other))
    project = {dotted: read.module(dotted) for dotted, read in found.items()}
    source.project[name] = (tuple(found.values()), project)
    return project


def _is_current(source: Source) -> bool:
    try:
        return _stamp(source.path) == source.stamp
    except UnreadableSourceError:
        return False


def _module_at(root: Path, name: str) -> Source | None:
    """Return the module of that name below a folder; None where there is none, or none that can be read."""
    place = root.joinpath(*name.split("."))
    for path in (place.with_name(f"{place.name}.py"), place / f"{_PACKAGE}.py"):
        try:
            return source_of_file(path)
        except UnreadableSourceError:
            continue
    return None


def _imported(source: Source, name: str) -> Iterator[str]:
    """Yield the dotted names of what a module's import statements may name as modules."""
    if len(source.text) > _LARGEST_IMPORTER:
        return
    package = _package(source, name)
    for statement in _IMPORT.finditer(source.text):
        if modules := statement["modules"]:
            yield from filter(None, (_first_word(one) for one in modules.split(",")))
            continue
        base = _base(statement["base"], package)
        if base is None:
            continue
        if base:
            yield base
        names = statement["names"].strip("() \t\r\n").split(",")
        yield from (f"{base}.{one}" if base else one for one in map(_first_word, names) if one)


def _package(source: Source, name: str) -> str:
    return name if source.path.stem == _PACKAGE else name.rpartition(".")[0]


def _base(written: str, package: str) -> str | None:
    """Return the dotted name that a `from` statement imports from; None where it leads out of the project."""
    name = written.lstrip(".")
    dots = len(written) - len(name)
    if not dots:
        return name
    parts = package.split(".") if package else []
    if dots - 1 > len(parts):
        return None
    return ".".join([*parts[: len(parts) - (dots - 1)], *filter(None, [name])])


def _first_word(written: str) -> str:
    """Return the name of `name as other`; empty where there is none."""
    word = written.partition("#")[0].split()
    return word[0] if word and all(part.isidentifier() for part in word[0].split(".")) else ""
