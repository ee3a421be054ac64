"""Finds the source of an agent on disk, and gives a digest of it, so that an edit of it is noticed."""

from __future__ import annotations

import ast
import hashlib
import inspect
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simulator.agents.loadable_files import loadable_files
from simulator.base.python_source import parsed

if TYPE_CHECKING:
    from simulator.agent_config import SimulatedAgentConfig

_STEADY = frozenset((
    "__future__", "abc", "asyncio", "collections", "contextlib", "copy", "dataclasses", "decimal", "enum",
    "fractions", "functools", "itertools", "json", "logging", "math", "operator",
    "pydantic", "re", "statistics", "string", "textwrap", "types", "typing", "typing_extensions",
))  # fmt: skip
"""Modules whose functions give the same result each time, if they get the same values."""

_OF_A_RUN = frozenset((
    "__import__", "environ", "eval", "exec", "function_call_id", "getenv", "hash", "id", "import_module",
    "invocation_id", "last_update_time", "open", "session_id", "timestamp", "user_id",
))  # fmt: skip
"""Names of what each run, process or machine has its own of."""


def source_of(config: SimulatedAgentConfig) -> Path | None:
    """Return the folder or the file of an agent; None where nobody can tell."""
    origin = Path(config.origin) if config.origin else None
    if origin is not None and origin.is_absolute() and origin.exists():
        return origin
    if told := getattr(config, "source", ""):  # its code is not in this process
        return Path(told)
    for tool in getattr(config.root_agent, "tools", None) or ():
        file = _file_of(getattr(tool, "func", tool))
        if file is not None:
            return file
    return None


def source_digest(place: Path) -> str:
    """Return a digest of the files that an agent can load, the same on every machine; empty where there are none."""
    whole = hashlib.sha256()
    found = sorted(loadable_files(place))
    for file in found:
        name = file.name if file == place else file.relative_to(place).as_posix()
        whole.update(f"{name}\0{file_digest(file)}\n".encode("utf-8", "surrogatepass"))
    return whole.hexdigest() if found else ""


def file_digest(file: Path) -> str:
    """Return the SHA-256 of a file; empty where it cannot be read. It is read again only when it has changed."""
    try:
        status = file.stat()
        if not stat.S_ISREG(status.st_mode):  # a pipe would wait, and a device may never end
            return ""
        return _read(file, status.st_mtime_ns, status.st_size, status.st_ino)
    except OSError:
        return ""


@lru_cache(maxsize=4096)
def _read(file: Path, *_: int) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def unset_variables(config: SimulatedAgentConfig, environ: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """Return the environment variables that the code of an agent asks for by name, and that are not set, sorted."""
    named = {name for node in _nodes_of(config) for name in _variables_in(node)}
    return tuple(sorted(name for name in named if name not in environ))


def makes_sets(config: SimulatedAgentConfig) -> bool:
    """Return whether the code of an agent makes a set: each process has an order of its own for the texts in one."""
    return any(
        isinstance(node, (ast.Set, ast.SetComp))
        or (isinstance(node, ast.Name) and node.id in {"set", "frozenset"} and isinstance(node.ctx, ast.Load))
        for node in _nodes_of(config)
    )


def is_determined(config: SimulatedAgentConfig) -> bool:
    """Return whether the code of an agent gives the same result each time, if it gets the same answers.

    It imports only its own files and modules that read neither clock, chance, file nor environment, and names nothing that each run has its own of.
    Where it cannot be read, it is not known to be.
    """
    place = source_of(config)
    files = [] if place is None else [file for file in loadable_files(place) if file.suffix == ".py"]
    try:
        return bool(files) and all(_is_determined(parsed(file.read_bytes()), file, place) for file in files)
    except (OSError, SyntaxError, ValueError, RecursionError):
        return False


def _is_determined(tree: ast.AST, file: Path, place: Path | None) -> bool:
    root = file.parent if place in {None, file} else place
    depth = len(file.relative_to(root).parts) if root is not None else 1
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                imported = [each.name for each in names]
            case ast.ImportFrom(level=level, module=module):
                imported = [] if 0 < level <= depth else [module or "."]
            case ast.Name(id=name) | ast.Attribute(attr=name):
                if name in _OF_A_RUN:
                    return False
                continue
            case _:
                continue
        if any(not _is_steady(each, file.parent) for each in imported):
            return False
    return True


def _is_steady(module: str, folder: Path) -> bool:
    top = module.partition(".")[0]
    is_adk = module in {"google", "google.adk", "google.genai"} or module.startswith(
        ("google.adk.", "google.genai.")
    )
    return is_adk or top in _STEADY or (folder / f"{top}.py").is_file() or top == folder.name


def read_at(file: Path, line: int) -> tuple[str, ...]:
    """Return the variables that the code at a line reads, or a name in it was assigned from: in its statement, or else in the condition around it.

    What has a default is no variable that the code lacks.
    """
    try:
        tree = parsed(file.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError):
        return ()
    around = [node for node in ast.walk(tree) if isinstance(node, ast.stmt) and _is_at(node, line)]
    for node in sorted(around, key=lambda node: (node.end_lineno or 0) - node.lineno):
        if isinstance(node, (ast.If, ast.While)):
            looked_at: ast.AST = node.test
        elif hasattr(node, "body"):
            continue
        else:
            looked_at = node
        if found := _read_in(looked_at, tree):
            return found
    return ()


def _is_at(node: ast.stmt, line: int) -> bool:
    return node.lineno <= line <= (node.end_lineno or 0)


def _read_in(node: ast.AST, tree: ast.AST) -> tuple[str, ...]:
    used = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
    assigned = (
        each.value
        for each in ast.walk(tree)
        if isinstance(each, ast.Assign)
        and any(isinstance(target, ast.Name) and target.id in used for target in each.targets)
    )
    inside = (each for root in (node, *assigned) for each in ast.walk(root))
    bare = (
        each
        for each in inside
        if not (isinstance(each, ast.Call) and len(each.args) + len(each.keywords) > 1)
    )
    return tuple(dict.fromkeys(name for each in bare for name in _variables_in(each)))


def _nodes_of(config: SimulatedAgentConfig) -> Iterator[ast.AST]:
    """Yield all nodes of the Python files of an agent that can be read."""
    place = source_of(config)
    for file in () if place is None else loadable_files(place):
        if file.suffix == ".py":
            with suppress(OSError, SyntaxError, ValueError, RecursionError):
                yield from ast.walk(parsed(file.read_bytes()))


def _variables_in(node: ast.AST) -> Iterator[str]:
    """Yield the variable that is asked for by name."""
    match node:
        case (
            ast.Call(
                func=ast.Attribute(attr="getenv")
                | ast.Name(id="getenv")
                | ast.Attribute(attr="get", value=ast.Attribute(attr="environ") | ast.Name(id="environ")),
                args=[ast.Constant(value=str(name)), *_],
            )
            | ast.Subscript(
                value=ast.Attribute(attr="environ") | ast.Name(id="environ"),
                slice=ast.Constant(value=str(name)),
                ctx=ast.Load(),
            )
            | ast.Compare(
                left=ast.Constant(value=str(name)),
                comparators=[ast.Attribute(attr="environ") | ast.Name(id="environ")],
            )
        ):
            yield name


def _file_of(tool: Any) -> Path | None:
    try:
        found = inspect.getsourcefile(inspect.unwrap(tool))
    except (TypeError, ValueError):
        return None
    return Path(found).absolute() if found else None
