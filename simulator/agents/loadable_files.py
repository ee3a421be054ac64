"""Finds the files that an agent can load: its code, and of the texts beside it those that the code names or may find.

A test is no code of the agent, and a note is no prompt, unless something of the agent names it. Where its code lists folders, hands on the
place where it is, or cannot be read, nobody can tell: then every text counts.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from simulator.agents.environment_data import DATA_FILES
from simulator.base.python_source import parsed

_CODE = frozenset({".py", ".toml", ".j2", ".jinja", ".jinja2"})
_TEXTS = frozenset({".md", ".txt", ".yaml", ".yml"})
"""Prompts and agent configs, and what else people write. Eval sets, which lie in the same folder, are JSON."""

_ROOTS = frozenset({"root_agent.yaml", "root_agent.yml"})
_NOT_OURS = frozenset({"__pycache__", "node_modules", "site-packages", "venv"})
_TEST = re.compile(r"test_.*\.py|.*_test\.py|conftest\.py")
_TEST_FOLDERS = frozenset({"test", "tests"})
_LISTING = frozenset({"iterdir", "listdir", "scandir", "walk"})
_OF_PATHS = frozenset({"Path", "PurePath", "abspath", "dirname", "fspath", "realpath", "str"})
_OF_IMPORTS = frozenset({"sys.path.append", "sys.path.insert"})
_SAME_PLACE = frozenset({"absolute", "parent", "parents", "resolve"})
_BEFORE_NAME = re.compile(r"[/\\*}]|%s")
_WORD = re.compile(r"\w+")
_YAML_WORD = re.compile(r"[\w./\\-]+")


class _Named(NamedTuple):
    """What a file names that may be files: texts without a space; and whether it may load what it does not name."""

    texts: frozenset[str] = frozenset()
    may_be_any: bool = False


def loadable_files(place: Path) -> Iterator[Path]:
    """Yield the files that the agent in a folder can load; a place that is a file is the only one."""
    if place.is_file():
        yield place
        return
    waiting = list(_files(place))
    fresh = [file for file in waiting if _is_own(file.relative_to(place))]
    named = _Named()
    while fresh:
        yield from fresh
        taken = set(fresh)
        waiting = [file for file in waiting if file not in taken]
        found = [_named_in(file) for file in fresh]
        named = _Named(
            named.texts.union(*(each.texts for each in found)),
            named.may_be_any or any(each.may_be_any for each in found),
        )
        words = frozenset(word for text in named.texts for word in _WORD.findall(text))
        fresh = [file for file in waiting if _may_load(file.relative_to(place), named, words)]


def _files(place: Path) -> Iterator[Path]:
    for folder, folders, files in os.walk(place):
        folders[:] = [
            name
            for name in folders
            if name not in _NOT_OURS
            and not name.startswith(".")
            and not Path(folder, name, "pyvenv.cfg").exists()
        ]
        yield from (
            Path(folder, name)
            for name in files
            if Path(name).suffix in _CODE | _TEXTS and name not in DATA_FILES
        )


def _is_own(file: Path) -> bool:
    """Return whether a file is the agent's own, whatever names it."""
    if file.name in _ROOTS:
        return True
    is_test = bool(_TEST.fullmatch(file.name)) or not _TEST_FOLDERS.isdisjoint(file.parts[:-1])
    return file.suffix in _CODE and not is_test


def _may_load(file: Path, named: _Named, words: frozenset[str]) -> bool:
    if file.suffix in _TEXTS and named.may_be_any:
        return True
    if file.stem in words or not words.isdisjoint(file.parts[:-1]):
        return True
    tails = ((text, _BEFORE_NAME.split(text)[-1]) for text in named.texts)
    return file.suffix in _TEXTS and any(
        text.endswith("*") if not tail else file.suffix in tail and file.name.endswith(tail)
        for text, tail in tails
    )


def _named_in(file: Path) -> _Named:
    try:
        status = file.stat()
        return _read(file, status.st_mtime_ns, status.st_size, status.st_ino)
    except (OSError, SyntaxError, ValueError, RecursionError):
        return _Named(may_be_any=True)


@lru_cache(maxsize=4096)
def _read(file: Path, *_: int) -> _Named:
    if file.suffix in {".yaml", ".yml"}:
        return _Named(frozenset(_YAML_WORD.findall(file.read_text("utf-8"))))
    return _of_code(parsed(file.read_bytes())) if file.suffix == ".py" else _Named()


def _of_code(tree: ast.AST) -> _Named:
    places = {"__file__", "__path__"}
    texts, may_be_any = set[str](), False
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=str(text)) if text and not re.search(r"\s", text):
                texts.add(text)
            case ast.Import(names=names):
                texts.update(each.name for each in names)
            case ast.ImportFrom(module=module, names=names):
                texts.update((module or "", *(each.name for each in names)))
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=ast.AST() as value)
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.AST() as value)
            ) if _is_place(value, places):
                places.add(name)
            case ast.Name(id=name) | ast.Attribute(attr=name) if name in _LISTING:
                may_be_any = True
            case _:
                pass
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
    return _Named(frozenset(texts), may_be_any or any(_hands_on(call, places) for call in calls))


def _hands_on(call: ast.Call, places: set[str]) -> bool:
    """Return whether a function is given the place where the code is, and may find any file there."""
    given = (*call.args, *(each.value for each in call.keywords))
    if _called(call) in _OF_PATHS | {"join"} or ast.unparse(call.func) in _OF_IMPORTS:
        return False
    return any(_is_place(each, places) for each in given)


def _called(call: ast.Call) -> str:
    match call.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""


def _is_place(node: ast.AST, places: set[str]) -> bool:
    """Return whether a value is the place where the code is, or a folder around it."""
    match node:
        case ast.Name(id=name):
            return name in places
        case ast.Attribute(value=value, attr=name):
            return name in _SAME_PLACE and _is_place(value, places)
        case ast.Subscript(value=value):
            return _is_place(value, places)
        case ast.Call(func=ast.Attribute(value=value, attr=name), args=[]):
            return name in _SAME_PLACE and _is_place(value, places)
        case ast.Call(args=[first, *_]) if _called(node) in _OF_PATHS:
            return _is_place(first, places)
        case _:
            return False
