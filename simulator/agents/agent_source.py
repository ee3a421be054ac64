"""Finds the source of an agent on disk, its environment data, the files that it can load, and the folders of its project, and gives a digest of it, so that an edit is noticed.

A test is no code of the agent, and a note is no prompt, unless something of the agent names it. Where its code lists folders, hands on the
place where it is, or cannot be read, nobody can tell: then every text counts.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import json
import os
import re
import stat
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from simulator.agent_config import SimulatedAgentConfig
from simulator.base.documents import DocumentError, read_document, read_file
from simulator.base.python_source import parsed
from simulator.base.validation_words import InputError
from simulator.environment.world.entities import TablesError, read_tables

DATA_FILES = ("environment_data.json", "environment_data.yaml", "environment_data.yml")
"""The names under which the file lies in an agent's folder; the first one that is there counts."""


class EnvironmentDataError(InputError):
    """The environment data of an agent cannot be used; the text names the file, and what is wrong where."""


def environment_data_of(config: SimulatedAgentConfig) -> str:
    """Return the environment data of an agent as it is now: JSON of tables, or words; empty where it brings none.

    Raises:
        EnvironmentDataError: The file cannot be read, or holds no such data.
    """
    return environment_data_in(
        config.environment_data, f"SimulatedAgentConfig {config.name!r}: environment_data"
    )


def environment_data_in(given: str | Path, named: str = "") -> str:
    """Return environment data: as `environment_data_of`, of a text, which errors call as it is named, or of a file or folder.

    Raises:
        EnvironmentDataError: As `environment_data_of`.
    """
    if not isinstance(given, Path):
        return _checked(given, named)
    place = given.expanduser()
    file = _in_folder(place) if place.is_dir() or not place.suffix else place
    return "" if file is None else _checked(_data_in(file), str(file))


def _in_folder(folder: Path) -> Path | None:
    return next((folder / name for name in DATA_FILES if (folder / name).is_file()), None)


def _data_in(file: Path) -> str:
    try:
        text = read_file(file, "data").decode("utf-8-sig")
        if file.suffix not in {".yaml", ".yml"} or not text.strip():
            return text
        document = read_document(text)
    except OSError as error:
        raise EnvironmentDataError(f"{file} cannot be read: {error.strerror}") from error
    except (DocumentError, UnicodeDecodeError) as error:
        raise EnvironmentDataError(f"{file} cannot be read: {error}") from error
    return document if isinstance(document, str) else json.dumps(document, indent=2, ensure_ascii=False)


def _checked(text: str, where: str) -> str:
    try:
        read_tables(text)
    except TablesError as error:
        raise EnvironmentDataError(f"{where} cannot be used: {error}") from error
    return text.strip()


MARKS = ("pyproject.toml", ".git", "uv.lock", "requirements.txt")
"""What lies at the root of a project, or of a part of one."""
_REPOSITORY, _WORKSPACE, _HIGHEST = ".git", "[tool.uv.workspace]", 3


def project_folders(agent: Path) -> tuple[Path, ...]:
    """Return the folders of an agent's project, from its own up to the root.

    The root is the nearest folder with a `.git` or with a workspace of uv, else the nearest one with another mark, else it may be three folders above. Nothing above a folder that
    everybody may write to, or above the home folder, is looked at: what lies there need not be this project's.

    Args:
        agent: The agent's folder or file.
    """
    above = [agent]
    for folder in agent.parents:
        if folder == Path.home() or folder == Path(folder.anchor) or is_everybodys(folder):
            break
        above.append(folder)
        if (folder / _REPOSITORY).exists() or is_workspace(folder):
            return tuple(above)
    marked = (place for place, folder in enumerate(above) if any((folder / mark).exists() for mark in MARKS))
    return tuple(above[: next(marked, _HIGHEST) + 1])


def is_workspace(folder: Path) -> bool:
    """Return whether a folder is the root of several projects that share one environment, as uv has it."""
    settings = folder / "pyproject.toml"
    return settings.is_file() and _WORKSPACE in settings.read_text(encoding="utf-8", errors="replace")


def is_everybodys(folder: Path) -> bool:
    """Return whether everybody may write to a folder: what lies there need not be the project's."""
    try:
        return bool(folder.stat().st_mode & stat.S_IWOTH)
    except OSError:
        return True


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


def are_tests(files: Collection[Path], place: Path) -> bool:
    """Return whether some files are all of tests that the agent at a place does not load; any of them may be gone."""
    return all(_is_test(file.relative_to(place)) for file in files) and not any(
        file in files for file in loadable_files(place)
    )


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
    return file.suffix in _CODE and not _is_test(file)


def _is_test(file: Path) -> bool:
    return bool(_TEST.fullmatch(file.name)) or not _TEST_FOLDERS.isdisjoint(file.parts[:-1])


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
        return _names_of(file, status.st_mtime_ns, status.st_size, status.st_ino)
    except (OSError, SyntaxError, ValueError, RecursionError):
        return _Named(may_be_any=True)


@lru_cache(maxsize=4096)
def _names_of(file: Path, *_: int) -> _Named:
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


_STEADY = frozenset((
    "__future__", "abc", "asyncio", "base64", "collections", "contextlib", "copy", "dataclasses", "decimal", "dotenv", "enum",
    "fractions", "functools", "itertools", "json", "logging", "math", "operator", "os",
    "pydantic", "re", "statistics", "string", "sys", "textwrap", "types", "typing", "typing_extensions",
))  # fmt: skip
"""Modules whose functions give the same result each time, if they get the same values."""

_OF_A_RUN = frozenset((
    "__import__", "eval", "exec", "function_call_id", "getmtime", "getpid", "getppid", "hash", "id", "import_module", "invocation_id",
    "last_update_time", "listdir", "open", "scandir", "session_id", "stat", "timestamp", "times", "urandom", "user_id", "walk",
))  # fmt: skip
"""Names of what each run or process has its own of."""


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
    """Return the environment variables that the modules which an agent has imported ask for by name, and that are not set, sorted."""
    place = source_of(config)
    files = (getattr(module, "__file__", None) for module in [*sys.modules.values()])
    loaded = {os.path.realpath(file) for file in files if file}
    trees = () if place is None else _trees_at(place, lambda file: os.path.realpath(file) in loaded)
    named = {name for tree in trees for node in ast.walk(tree) for name in _variables_in(node)}
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

    It imports only its own files and modules that read neither clock, chance nor file, and names nothing that each run has its own of. Environment
    variables are the same in each run. Where it cannot be read, it is not known to be.
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
    is_adk = f"{module}.".startswith(("google.adk.", "google.auth.", "google.genai.")) or module == "google"
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


def said_before(file: Path, line: int) -> str:
    """Return the texts that the code prints or logs right before a line, in the same block; empty where it says nothing that is known before it runs."""
    try:
        tree = parsed(file.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError):
        return ""
    parts = (getattr(node, name, ()) for node in ast.walk(tree) for name in ("body", "orelse", "finalbody"))
    blocks = [part for part in parts if isinstance(part, list) and any(_is_at(each, line) for each in part)]
    block = min(blocks, key=lambda part: part[-1].end_lineno - part[0].lineno, default=[])
    said = (each.value for each in block if (each.end_lineno or 0) < line and isinstance(each, ast.Expr))
    return " ".join(text for call in said for text in _said_by(call))


def _said_by(node: ast.expr) -> Iterator[str]:
    match node:
        case ast.Call(
            func=ast.Name(id="print")
            | ast.Attribute(attr="critical" | "error" | "info" | "warning" | "write"),
            args=[ast.Constant(value=str(text)), *_],
        ):
            yield text.strip()


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
    inside = (each for root in (node, *assigned) for each in ast.walk(root) if not _has_default(each))
    return tuple(dict.fromkeys(name for each in inside for name in _names_read(each, tree)))


def read_without_default(place: Path) -> tuple[str, ...]:
    """Return the variables that the files of an agent ask for by name, with nothing in their place where they are not set, sorted."""
    found = set[str]()
    for tree in _trees_at(place):
        nodes = list(ast.walk(tree))
        either = (each for each in nodes if isinstance(each, ast.BoolOp) and isinstance(each.op, ast.Or))
        replaced = {id(inner) for each in either for value in each.values[:-1] for inner in ast.walk(value)}
        asking = (each for each in nodes if not _has_default(each) and id(each) not in replaced)
        found |= {name for each in asking for name in _names_read(each, tree)}
    return tuple(sorted(found))


def _has_default(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and len(node.args) + len(node.keywords) > 1


def _names_read(node: ast.AST, tree: ast.AST) -> Iterator[str]:
    """Yield the variables that a node asks for: by name, or by each name that a loop around it goes through."""
    yield from _variables_in(node)
    key = _key_in(node)
    for around in ast.walk(tree) if isinstance(key, ast.Name) else ():
        for loop in getattr(around, "generators", [around] if isinstance(around, ast.For) else []):
            is_its = isinstance(loop.target, ast.Name) and loop.target.id == getattr(key, "id", "")
            if is_its and any(part is key for part in ast.walk(around)):
                yield from _texts_in(loop.iter, tree)


def _texts_in(listed: ast.AST, tree: ast.AST) -> Iterator[str]:
    """Yield the texts of a list, also of one that a name was assigned."""
    for node in ast.walk(tree) if isinstance(listed, ast.Name) else ():
        if isinstance(node, ast.Assign) and any(
            isinstance(target, ast.Name) and target.id == getattr(listed, "id", "") for target in node.targets
        ):
            listed = node.value
    for each in getattr(listed, "elts", ()):
        if isinstance(each, ast.Constant) and isinstance(each.value, str):
            yield each.value


def _nodes_of(config: SimulatedAgentConfig) -> Iterator[ast.AST]:
    """Yield all nodes of the Python files of an agent that can be read."""
    place = source_of(config)
    for tree in () if place is None else _trees_at(place):
        yield from ast.walk(tree)


def _trees_at(place: Path, is_wanted: Callable[[Path], bool] = lambda _: True) -> Iterator[ast.AST]:
    for file in loadable_files(place):
        if file.suffix == ".py" and is_wanted(file):
            with suppress(OSError, SyntaxError, ValueError, RecursionError):
                yield parsed(file.read_bytes())


def _variables_in(node: ast.AST) -> Iterator[str]:
    """Yield the variable that is asked for by name."""
    key = _key_in(node)
    if isinstance(key, ast.Constant) and isinstance(key.value, str):
        yield key.value


def _key_in(node: ast.AST) -> ast.expr | None:
    """Return what says which variable a node asks for; None where it asks for none."""
    match node:
        case (
            ast.Call(
                func=ast.Attribute(attr="getenv")
                | ast.Name(id="getenv")
                | ast.Attribute(attr="get", value=ast.Attribute(attr="environ") | ast.Name(id="environ")),
                args=[key, *_],
            )
            | ast.Subscript(
                value=ast.Attribute(attr="environ") | ast.Name(id="environ"), slice=key, ctx=ast.Load()
            )
            | ast.Compare(left=key, comparators=[ast.Attribute(attr="environ") | ast.Name(id="environ")])
        ):
            return key
    return None


def _file_of(tool: Any) -> Path | None:
    try:
        found = inspect.getsourcefile(inspect.unwrap(tool))
    except (TypeError, ValueError):
        return None
    return Path(found).absolute() if found else None
