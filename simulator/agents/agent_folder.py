"""Agents in a folder, in ADK's own convention, loaded by ADK's own loader, and the modules of several folders kept apart."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import os
import re
import sys
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

from simulator.agent_config import SimulatedAgentConfig, is_agent
from simulator.agents.agent_source import is_everybodys, project_folders
from simulator.agents.load_advice import absent_package, lacking_variables, noting_unset
from simulator.agents.load_failure import (
    AbsentPackageError,
    AgentLoadError,
    are_chosen,
    does_without,
    made_of_what_is_there,
    noting_coroutines,
    placeholders,
    stand_ins,
)
from simulator.base.documents import read_file
from simulator.base.python_source import parsed

IMPORTS = threading.RLock()
"""Held while agents are imported: `sys.path` and `sys.modules` belong to the whole process."""

_folders: set[Path] = set()


def prepare(folder: Path, *, package: str | None = None) -> None:
    """Make sure that imports of what is in `folder` find it there. Call it with `IMPORTS` held.

    Modules that came from another folder of agents and have the same name are forgotten; agents that use them keep
    their own references. `folder` becomes the first place to look, as ADK's loader and `python FILE` have it.

    Args:
        folder: The folder that modules are imported from, resolved.
        package: The top-level name that will be imported.

    Raises:
        AgentLoadError: The name `package` belongs to a module from elsewhere.
    """
    _folders.add(folder)
    importlib.invalidate_caches()
    for name in sorted(_top_level_names(folder)):
        strangers = [file for file in _files_of(name) if not _belongs(file, name, folder)]
        if any(_belongs(file, name, other) for file in strangers for other in _folders - {folder}):
            forget(name)
        elif strangers and name == package:
            raise AgentLoadError(
                f"the name {name!r} is already used by the imported module {strangers[0]}; rename the agent"
            )
    if package in sys.builtin_module_names:
        raise AgentLoadError(
            f"the name {package!r} is already used by a built-in module of Python; rename the agent"
        )
    _look_first_in(folder)
    if package is not None and (hiding := _hiding(folder, package)):
        raise AgentLoadError(
            f"the name {package!r} is already used by the installed package {hiding}; rename the agent"
        )


def _hiding(folder: Path, name: str) -> str:
    """Return the module elsewhere that Python finds for the name of a folder without an `__init__.py`; empty where it finds the folder."""
    if "." in name or _is_regular(folder, name) or not (folder / name / "agent.py").is_file():
        return ""
    try:
        found = importlib.util.find_spec(name)
    except ValueError:  # a module that was put together by hand has none
        return ""
    return (found.origin or "") if found is not None else ""


def forget(name: str) -> None:
    """Take a module and all that is in it out of the table, so that the next import reads it anew."""
    for known in [one for one in list(sys.modules) if one == name or one.startswith(f"{name}.")]:
        sys.modules.pop(known, None)


def _look_first_in(folder: Path) -> None:
    """Put the folder first, and leave out the other folders of agents that would still win.

    Python takes a package with an `__init__.py` from anywhere on the path before one without; so it takes a module, such as `agent.py` of
    a folder `agent` in which the process works.
    """
    bare = [name for name in _top_level_names(folder) if not _is_regular(folder, name)]
    winning = {str(other) for other in _folders - {folder} if any(_is_regular(other, name) for name in bare)}
    winning |= {str(folder / name) for name in bare if _is_regular(folder / name, name)} | {str(folder)}
    sys.path[:] = [str(folder), *(place for place in sys.path if (place or str(Path.cwd())) not in winning)]


def _is_regular(folder: Path, name: str) -> bool:
    return (folder / name / "__init__.py").is_file() or (folder / f"{name}.py").is_file()


def _top_level_names(folder: Path) -> Iterable[str]:
    for path in folder.iterdir():
        if path.suffix == ".py" or path.is_dir():
            yield path.stem if path.suffix == ".py" else path.name


def _files_of(name: str) -> list[Path]:
    known = [one for one in list(sys.modules) if one == name or one.startswith(f"{name}.")]
    files = (getattr(sys.modules.get(one), "__file__", None) for one in known)
    return [Path(file) for file in files if file]


def _belongs(file: Path, name: str, folder: Path) -> bool:
    """Return whether a module's file is what importing the top-level `name` from `folder` gives."""
    return file == folder / f"{name}.py" or file.is_relative_to(folder / name)


_MAKES_AN_AGENT = re.compile(
    r"^(?:root_agent\b\s*(?::[^=\n]+)?=|app\b\s*(?::[^=\n]+)?=\s*(?:\w+\.)*App\([\s\S]*?\broot_agent\b)",
    re.MULTILINE,
)
"""A `root_agent` of a file, assigned and not imported, or an `app` that is made by `App(...)` with one: scripts and tests that import an agent are none."""

_GIVES_AN_AGENT = frozenset({"root_agent", "app", "agent", "*"})
"""What a package's `__init__.py` defines or imports, where ADK's loader may find an agent in it."""


_IN_MODULE = frozenset({"root_agent", "app", "*"})
"""As above, of its module `agent.py`: one that defines neither is a part of another agent."""


def agent_above(place: Path, root: Path) -> Path | None:
    """Return the nearest folder that a file lies in, up to `root`, from which ADK loads an agent; None where there is none."""
    top = root.expanduser().resolve()
    inside = (folder for folder in place.resolve().parents if folder.is_relative_to(top))
    return next((folder for folder in inside if _loads_as_agent(folder)), None)


def _loads_as_agent(folder: Path) -> bool:
    module = folder / "agent.py"
    if (folder / "root_agent.yaml").is_file() or not module.is_file():
        return _lists_as_agent(folder)
    return _gives_an_agent(module, _IN_MODULE)


_MOST_FOLDERS = 2_000
"""So many folders are looked into for agents further down."""


class AgentFolder:
    """A folder of agents: `<name>/agent.py`, `<name>/root_agent.yaml`, `<name>/__init__.py`, `<name>.py`.

    A package counts where its `__init__.py` may give an agent: folders of tests and evals are packages too. A folder that is itself one agent (`agent.py` or `root_agent.yaml` in it) is taken as that agent.
    Those further down, where no agent is above, are listed, too, by the folder: `python/agents/shop`.
    """

    def __init__(self, path: Path) -> None:
        self.path = path.expanduser().absolute()
        self.is_cut = False
        """Whether some folders were not looked into when the agents were listed last, as there are too many."""

    @property
    def is_single_agent(self) -> bool:
        """Whether the folder is one agent, and not a folder of agents."""
        return _is_agent_folder(self.path) or _is_a_package_of_one(self.path)

    @property
    def home(self) -> Path:
        """The folder that the agents' modules are imported from."""
        resolved = self.path.resolve()
        return resolved.parent if self.is_single_agent else resolved

    def names(self) -> tuple[str, ...]:
        """List the agents by name, sorted, without importing any.

        These are the names that ADK's `AgentLoader.list_agents` gives, without packages that give no agent, and those of single
        files, which that loader can load but does not list; of agents further down, the paths.

        Raises:
            AgentLoadError: The folder does not exist, cannot be read, or holds no agent.
        """
        try:
            if self.is_single_agent:
                return (self.path.resolve().name,)
            if not self.path.is_dir():
                what = "is a file, not a folder" if self.path.exists() else "does not exist"
                raise AgentLoadError(f"the agents folder {self.path} {what}")
            paths = sorted(self.path.iterdir())
        except OSError as error:
            raise AgentLoadError(f"the agents folder {self.path} cannot be read: {error.strerror}") from error
        folders = {path.name for path in paths if _lists_as_agent(path)}
        files = {path.stem for path in paths if path.suffix == ".py" and _makes_an_agent(path)}
        left = [_MOST_FOLDERS]
        below = [path.relative_to(self.path) for path in _below(self.path, left)]
        self.is_cut = left[0] < 0
        found = folders | files | {path.as_posix() for path in below if path.parts[0] not in folders}
        if not found:
            raise AgentLoadError(
                f"no agents in the folder {self.path}: expected <name>/agent.py, <name>/root_agent.yaml, <name>/__init__.py or <name>.py with a root_agent"
            )
        return tuple(sorted(found))

    def where(self, name: str) -> Path:
        """Return the folder or file of an agent."""
        folder, file = self.home / name, self.home / f"{name}.py"
        # Beside a single file lies the folder of its eval sets, once there are any.
        return folder if _lists_as_agent(folder) or not file.is_file() else file

    def load(self, name: str, *, anew: bool = False) -> SimulatedAgentConfig:
        """Load an agent as `adk web` does.

        Args:
            name: One of `names()`; it is what `adk eval` and `adk web` call the app.
            anew: Whether to read its files again, where it was loaded before.

        Raises:
            Exception: Whatever ADK's loader or the agent's own code raises.
        """
        folder = self.home / name
        home, app_name = folder.parent, folder.name
        with IMPORTS:
            prepare(home, package=app_name)
            loader = _loader(self.path.resolve() if _is_agent_folder(self.path) else home)
            if anew or absent_for(folder):
                loader.remove_agent_from_cache(app_name)
            try:
                is_adks = is_importable(app_name)
                load = (
                    partial(loader.load_agent, app_name) if is_adks else partial(load_by_path, home, app_name)
                )
                agent = on_its_ground(folder, load, app_name, may_do_without=True)
            except BaseException:
                # What the agent imported before it failed would else be kept, and not read again once it is fixed.
                forget(app_name)
                raise
        return SimulatedAgentConfig(
            name=name,
            agent=agent,
            # LocalEvalSetsManager, which `adk web` uses, reads <agents folder>/<app name>/<set>.evalset.json.
            eval_set_path=folder / f"{app_name}_evals.evalset.json",
            app_name=app_name,
            origin=str(self.where(name)),
            environment_data=folder,
            placeholders=placeholders_of(folder),
            absent=absent_for(folder),
        )


def listed_as(app_name: str, names: Collection[str]) -> str:
    """Return the name under which the agent of an app is listed: its own, or the one path that ends with it; the app's name where there is none."""
    deeper = [name for name in names if name.endswith(f"/{app_name}")]
    return deeper[0] if app_name not in names and len(deeper) == 1 else app_name


def is_importable(name: str) -> bool:
    """Return whether ADK's loader takes a folder of this name."""
    return re.fullmatch(r"[a-zA-Z0-9_]+", name) is not None


def load_by_path(home: Path, name: str) -> Any:
    """Load an agent of a folder whose name ADK's loader refuses, such as one with a hyphen, from where that would look.

    Raises:
        AgentLoadError: There is no agent in it.
        Exception: Whatever the agent's own code raises.
    """
    from google.adk.agents import config_agent_utils  # noqa: PLC0415 - as below
    from google.adk.cli.utils.envs import load_dotenv_for_agent  # noqa: PLC0415 - as below

    if "." in name:
        raise AgentLoadError(
            f"Python cannot import the folder {name!r}: its name has a dot. Rename the folder."
        )
    load_dotenv_for_agent(name, str(home))
    for module in (name, f"{name}.agent"):
        try:
            held = importlib.import_module(module)
        except ModuleNotFoundError as error:
            if error.name not in {name, module}:
                raise
            continue
        for given in (getattr(held, "app", None), getattr(held, "root_agent", None)):
            if is_agent(getattr(given, "root_agent", given)):
                return given
    if (config := home / name / "root_agent.yaml").is_file():
        return config_agent_utils.from_config(str(config))
    raise AgentLoadError(f"no root_agent in {home / name}: expected it in agent.py or __init__.py")


def _lists_as_agent(path: Path) -> bool:
    return _is_looked_into(path) and (_is_agent_folder(path) or _gives_an_agent(path / "__init__.py"))


def _is_a_package_of_one(path: Path) -> bool:
    """Recognise a package whose `__init__.py` gives its agent by name, and that has no agents of their own in it but what it gives."""
    init = path / "__init__.py"
    if not _gives_an_agent(init, _IN_MODULE - {"*"}):
        return False
    given = _modules_given(init)
    return not any(_lists_as_agent(each) for each in path.iterdir() if each.name not in given)


def _modules_given(init: Path) -> set[str]:
    """Return the parts of a package from which it imports an agent by name."""
    try:
        tree = parsed(read_file(init, "script"))
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return set()
    found = (
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.level == 1 and node.module
    )
    return {
        str(node.module).partition(".")[0]
        for node in found
        if _IN_MODULE & {alias.name for alias in node.names}
    }


def _is_looked_into(path: Path) -> bool:
    return path.is_dir() and not path.name.startswith(".") and path.name != "__pycache__"


def _gives_an_agent(init: Path, wanted: frozenset[str] = _GIVES_AN_AGENT) -> bool:
    """Return whether a module may give an agent: what cannot be read or parsed may, so that its error is shown.

    A package that imports the agent of a folder next to it gives none.
    """
    beside = init.parent.parent if init.name == "__init__.py" else None
    try:
        names = _named_in(parsed(read_file(init, "script")), beside)
    except FileNotFoundError:
        return False
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return init.is_file()
    return not wanted.isdisjoint(names)


def _named_in(module: ast.Module, beside: Path | None) -> set[str]:
    """Return the names that a module assigns or imports, wherever in it, but for what it imports from an agent in the folder `beside`."""
    names: set[str] = set()
    for node in ast.walk(module):
        match node:
            case ast.Name(id=name, ctx=ast.Store()):
                names.add(name)
            case ast.ImportFrom(module=str(where), level=0) if beside is not None and _is_agent_folder(
                beside / where.partition(".")[0]
            ):
                pass
            case ast.ImportFrom(names=imported) | ast.Import(names=imported):
                names |= {(each.asname or each.name).rpartition(".")[2] for each in imported}
            case ast.FunctionDef(name="__getattr__"):
                names.add("root_agent")
            case _:
                pass
    return names


def _below(folder: Path, left: list[int]) -> Iterator[Path]:
    """Yield what is an agent below a folder, each without what lies in it, after a look at so many folders in all; a file without its ending."""
    left[0] -= 1
    try:
        paths = sorted(folder.iterdir()) if left[0] >= 0 else []
    except OSError:
        return
    for path in paths:
        if path.suffix == ".py" and path.name != "agent.py" and _makes_an_agent(path):
            yield path.with_suffix("")
        elif _is_looked_into(path) and not path.is_symlink() and not _is_made(path):
            if _loads_as_agent(path):
                yield path
            else:
                yield from _below(path, left)


def _is_made(folder: Path) -> bool:
    """Recognise a folder that a program made: an environment, or packages that were installed."""
    return folder.name in {"node_modules", "site-packages"} or (folder / "pyvenv.cfg").is_file()


def on_its_ground(
    folder: Path, load: Callable[[], Any], package: str = "", *, may_do_without: bool = False
) -> Any:
    """Load an agent; where it lacks a module that lies in its project, look for modules there as well and try again.

    One that cannot be loaded finds placeholders for what it asks for in another try, where somebody chose so; `placeholders_of` names them.
    In a replay, it does without packages that are not installed and that only its tools need; `absent_for` names them.

    Args:
        folder: The agent's folder; of a file its path without the ending.
        load: Loads it.
        package: The module whose parts are imported anew in another try.
        may_do_without: Whether `load` gives the agent itself, of which it can be seen what it is made of.

    Raises:
        Exception: Whatever `load` raises, with the module's place where that is no package; what it raised first, where another try did not help.
    """
    given, absent = tuple[str, ...](), tuple[str, ...]()
    first: BaseException | None = None
    while True:
        before = set(sys.modules)
        try:
            return _tried(folder, load, given, absent)
        except ImportError as error:
            if _looks_there_too(error, folder):
                forget(package)
                continue
            new = _missing(error, folder) if may_do_without else ""
            if not new or new in absent:
                raise (first or error) if absent else error  # noqa: B904 - what was raised first is told
            first, absent = first if isinstance(first, ImportError) else error, (*absent, new)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - an agent's own code may raise anything
            first = first or error
            variables = () if isinstance(error, AbsentPackageError) else lacking_variables(error, folder)
            if not are_chosen() or set(variables) <= set(given):
                raise noting_unset(first, variables, folder) from first.__cause__
            given = tuple(dict.fromkeys((*given, *variables)))
        forget(package)
        _forget_project(folder, set(sys.modules) - before)


def _tried(folder: Path, load: Callable[[], Any], given: Sequence[str], absent: Sequence[str]) -> Any:
    with placeholders(given), stand_ins(absent), noting_coroutines():
        agent = made_of_what_is_there(load()) if absent else load()
    _PLACEHOLDERS[folder], _ABSENT[folder] = tuple(given), tuple(absent)
    return agent


def _missing(error: ImportError, folder: Path) -> str:
    return absent_package(error, folder) if does_without() else ""


def _looks_there_too(error: ImportError, folder: Path) -> bool:
    """Look for modules from now on where a missing one is in an agent's project; return whether they were not looked for there before.

    A project says in its own settings from where its code runs: `src`, its root, the root of several projects. None of them is
    read, as it is seen where the module is.
    """
    missing = (error.name or "").partition(".")[0] if isinstance(error, ModuleNotFoundError) else ""
    ground = ground_of(missing, folder)
    if ground is None or str(ground) in sys.path:
        return False
    sys.path.append(str(ground))
    importlib.invalidate_caches()
    return True


_PLACEHOLDERS: dict[Path, tuple[str, ...]] = {}
_ABSENT: dict[Path, tuple[str, ...]] = {}


def placeholders_of(folder: Path) -> tuple[str, ...]:
    """Return the variables that an agent found placeholders for when it was last loaded in this process."""
    return _PLACEHOLDERS.get(folder, ())


def absent_for(folder: Path) -> tuple[str, ...]:
    """Return the packages without which an agent was last loaded in this process, as they are not installed."""
    return _ABSENT.get(folder, ())


def _forget_project(folder: Path, names: Iterable[str]) -> None:
    """Forget modules of an agent's project: one that has read a variable would keep that it was not set."""
    root = project_folders(folder)[-1].resolve()
    for name in names:
        file = getattr(sys.modules.get(name), "__file__", None)
        if file and Path(file).resolve().is_relative_to(root) and "site-packages" not in Path(file).parts:
            sys.modules.pop(name, None)


def ground_of(module: str, folder: Path) -> Path | None:
    """Return the nearest folder of an agent's project that holds a module of this name, at first its own; None where there is none.

    The folder of a package that the agent lies in is its project's, too, though the root may look as if it lay within.

    Args:
        module: Its top-level name.
        folder: The agent's folder.
    """
    above = [
        place.parent for place in folder.parents if place.name == module and not is_everybodys(place.parent)
    ]
    for around in (*project_folders(folder), *above) if module else ():
        for ground in (around, around / "src"):
            if (ground / f"{module}.py").is_file() or any((ground / module).glob("**/*.py")):
                return ground
    return None


def _is_agent_folder(path: Path) -> bool:
    return (path / "agent.py").is_file() or (path / "root_agent.yaml").is_file()


def _makes_an_agent(path: Path) -> bool:
    if not path.is_file() or path.name.startswith("_") or not os.access(path, os.R_OK):
        return False
    return bool(_MAKES_AN_AGENT.search(read_file(path, "script").decode(errors="replace")))


@cache
def _loader(path: Path) -> Any:
    # Importing ADK takes a second: not before an agent is wanted.
    from google.adk.cli.utils.agent_loader import AgentLoader  # noqa: PLC0415 - as above

    return AgentLoader(str(path))
