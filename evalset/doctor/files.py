"""Finds the files that a person means by paths, and reads them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from evalset.existing import ChangedMeanwhileError
from evalset.known import Identity, identity_of
from evalset.recorded.files import sidecar_of
from evalset.recorded.model import FORMAT

EVAL_SET, OLD_TEST, ENVIRONMENT = ".evalset.json", ".test.json", ".environment.json"
_ENDINGS = (EVAL_SET, OLD_TEST, ENVIRONMENT)
_TELLTALE = (b'"eval_cases"', b'"evalCases"', b'"expected_tool_use"', FORMAT.encode())
_PASSED_OVER = frozenset({"node_modules", "__pycache__"})
_HEAD = 1 << 20
"""So much of a file with another name is looked at."""
_PATIENCE = 5


class Content(NamedTuple):
    """What a file held, and which state of it that was."""

    text: bytes
    identity: Identity


def read_content(path: Path) -> Content:
    """Read a whole file, in one state of it.

    Raises:
        OSError: It cannot be read.
        ChangedMeanwhileError: It was written each time that it was read.
    """
    for _ in range(_PATIENCE):
        with path.open("rb", buffering=0) as file:
            identity = identity_of(os.fstat(file.fileno()))
            text = file.readall()
            if identity_of(os.fstat(file.fileno())) == identity:
                return Content(text, identity)
    raise ChangedMeanwhileError


def is_environment(path: Path) -> bool:
    """Tell a recorded environment by its name."""
    return path.name.endswith(ENVIRONMENT)


def files_in(paths: Iterable[Path | str], problems: list[str]) -> list[Path]:
    """Give the files that are meant, once each, in order: those that are named, and in folders those that hold eval data.

    The recorded environment of a named eval set comes along. What is not there is added to `problems`.
    """
    found: dict[Path, None] = {}
    for path in map(Path, paths):
        if path.is_dir():
            inside = list(_in_folder(path, problems))
            if not inside:
                problems.append(f"{path}: the folder holds no eval sets, tests or recorded environments")
            found |= dict.fromkeys(inside)
        elif not path.exists():
            problems.append(f"{path}: there is no such file")
        elif not path.is_file():
            problems.append(f"{path}: is not a file")
        else:
            found[path] = None
            beside = sidecar_of(path)
            if not is_environment(path) and beside.is_file():
                found[beside] = None
    return list(found)


def _in_folder(folder: Path, problems: list[str]) -> Iterator[Path]:
    def refused(error: OSError) -> None:
        problems.append(f"{error.filename}: cannot be read: {error.strerror}")

    for root, folders, names in os.walk(folder, onerror=refused):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in _PASSED_OVER)
        for name in sorted(names):
            path = Path(root, name)
            if name.startswith(".") or not name.endswith(".json") or not path.is_file():
                continue
            if name.endswith(_ENDINGS) or _tells_of_cases(path):
                yield path


def _tells_of_cases(path: Path) -> bool:
    """Tell whether a file with any other name holds eval data."""
    try:
        with path.open("rb") as file:
            text = file.read(_HEAD)
    except OSError:
        return False
    return any(word in text for word in _TELLTALE)


def eval_set_of(environment: Path) -> Path | None:
    """Find the eval set that a recorded environment belongs to."""
    stem = environment.name.removesuffix(".environment.json")
    for ending in (".evalset.json", ".test.json", ".json"):
        path = environment.with_name(f"{stem}{ending}")
        if path.is_file() and sidecar_of(path).name == environment.name:
            return path
    return None


def groups(files: Iterable[Path]) -> list[tuple[Path, ...]]:
    """Set each recorded environment beside its eval set: what belongs together is changed together."""
    named = list(dict.fromkeys(files))
    paired: dict[Path, list[Path]] = {file: [file] for file in named if not is_environment(file)}
    for file in named:
        if is_environment(file):
            beside = eval_set_of(file)
            paired.setdefault(beside if beside in paired else file, []).append(file)
    return [tuple(group) for group in paired.values()]
