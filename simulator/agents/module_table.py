"""Keeps the modules of several agent folders apart, though Python has only one table of modules."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import threading
from collections.abc import Iterable
from pathlib import Path

from simulator.agents.load_failure import AgentLoadError

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
