"""Sets a kernel's process up: it comes behind the studio and the browser, and its project may have modules named as the studio's packages.

There is one table of modules. Once code that is not the studio's imports `simulator` or `evalset`, and its path has code of that
name, the studio's package gives the name up: its modules stay, under a name that nobody else has. Imports in the studio's
own files are led there. Nothing changes for a project that has no such module, or another copy of the studio.
"""

from __future__ import annotations

import builtins
import contextlib
import importlib
import importlib.util
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import wraps
from importlib.machinery import PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

NICE = 10
"""An agent that computes gets a tenth of what the studio gets where both want a processor, and all of it where nobody else does."""

LAST = 19
"""The least of all niceness values: what is endless gets a seventieth of what the studio gets."""
_TRIES = 5
_BETWEEN_SECONDS = 0.11


def come_behind_the_page() -> None:
    """Let the studio and the browser come first where the processors are all at work: an agent that spins shall slow down no page.

    Not before the agent is loaded: a person waits for that, and a deadline.
    """
    threads = Path("/proc/self/task")
    if (
        threads.is_dir()
    ):  # Linux: there each thread has its own niceness, and a new one that of the thread that starts it
        for thread in threads.iterdir():
            with contextlib.suppress(OSError):  # it has ended
                os.setpriority(os.PRIO_PROCESS, int(thread.name), NICE)
        set_group_niceness("self", NICE)
    elif hasattr(os, "setpriority"):
        os.setpriority(os.PRIO_PROCESS, 0, NICE)


def set_group_niceness(process: int | str, niceness: int) -> None:
    """Set the niceness of a session of processes as a whole, where Linux groups processes by session: a process's own counts within its group only.

    Unlike a process's own, it can be lowered again. Forks that start a session of their own begin with 0.

    Args:
        process: A process of the session, by its id or as `self`.
        niceness: From 0 to 19.
    """
    for _ in range(_TRIES):
        try:
            Path(f"/proc/{process}/autogroup").write_text(str(niceness))
        except BlockingIOError:  # only a superuser may change two of them within a tenth of a second
            time.sleep(_BETWEEN_SECONDS)
        except OSError:  # no such process, or no such groups
            return
        else:
            return


_HOME = Path(__file__).resolve().parents[2]
_MARKS = {"simulator": "kernel/kernel_program.py", "evalset": "golden_trace/builder.py"}
"""The studio's packages, each with a file that tells a copy of it."""
_FOLDERS = tuple(str(_HOME / name) + os.sep for name in _MARKS)
_ASIDE = "golden_trace_studio_"
_BETWEEN = frozenset({"functools", "importlib", "pkgutil", "runpy"})
"""Modules that ask for a name that somebody else gave them."""
_import, _import_module, _find_spec = builtins.__import__, importlib.import_module, importlib.util.find_spec
_Found = TypeVar("_Found")


def share_names(folder: Path, module: str) -> None:
    """From now on let each side have its own modules.

    Args:
        folder: Where the agent's module is looked for.
        module: Its name. It is imported by that, which says nothing of who asks.
    """
    builtins.__import__ = _imported
    importlib.import_module, importlib.util.find_spec = (
        _asked_by_name(_import_module),
        _asked_by_name(_find_spec),
    )
    top = module.partition(".")[0]
    if top in _MARKS and _is_theirs(top, [str(folder)]):
        _step_aside(top)


def import_own(name: str) -> ModuleType:
    """Import a module of the studio by its name."""
    return importlib.import_module(_now(name))


def _imported(
    name: str,
    globals: Mapping[str, object] | None = None,  # noqa: A002 - as `__import__` has it
    locals: Mapping[str, object] | None = None,  # noqa: A002 - as above
    fromlist: Sequence[str] | None = (),
    level: int = 0,
) -> Any:
    top = name.partition(".")[0]
    if not level and top in _MARKS:
        if _is_ours(globals or {}):
            name = _now(name)
        else:
            _give_up(top)
    return _import(name, globals, locals, fromlist or (), level)


def _asked_by_name(function: Callable[..., _Found]) -> Callable[..., _Found]:
    """Wrap a function of `importlib` that takes a name, and the package in which a relative one begins."""

    @wraps(function)
    def asked(name: str, package: str | None = None) -> _Found:
        top = str(package if str(name).startswith(".") else name).partition(".")[0]
        if top in _MARKS and not _is_ours(_asking()):
            _give_up(top)
        return function(name, package)

    return asked


def _asking() -> Mapping[str, object]:
    """Return the names of the module that asks, behind those that only ask for it."""
    frame = sys._getframe(2)  # noqa: SLF001 - as `logging` finds its caller
    while frame.f_back and str(frame.f_globals.get("__name__")).partition(".")[0] in _BETWEEN:
        frame = frame.f_back
    return frame.f_globals


def _is_ours(names: Mapping[str, object]) -> bool:
    return str(names.get("__file__") or "").startswith(_FOLDERS)


def _give_up(top: str) -> None:
    if not _is_aside(top) and _is_theirs(top, sys.path):
        _step_aside(top)


def _is_aside(top: str) -> bool:
    return top not in _of_studio()


def _of_studio() -> dict[str, str]:
    """Return where the packages lie that `kernel_program` offers, each under its name of now; where it offers none, their own names."""
    offered = (finder.of_studio for finder in sys.meta_path if hasattr(finder, "of_studio"))
    return next(offered, dict.fromkeys(_MARKS, ""))


def _now(name: str) -> str:
    """Return the name under which a module of the studio is known."""
    return f"{_ASIDE}{name}" if _is_aside(name.partition(".")[0]) else name


def _is_theirs(top: str, path: Sequence[str]) -> bool:
    """Return whether the path has code of this name that is no copy of the studio; a folder of eval sets is none."""
    spec = PathFinder.find_spec(top, path)
    if spec is None:
        return False
    folders = [Path(each) for each in spec.submodule_search_locations or ()]
    if any((folder / _MARKS[top]).is_file() for folder in folders):
        return False
    return spec.origin is not None or any(True for folder in folders for _ in folder.glob("*.py"))


def _step_aside(top: str) -> None:
    """Give a name up: what was imported stays the same, and is found under its other name."""
    ours, offered = dict(_known(top)), _of_studio()
    offered[f"{_ASIDE}{top}"] = offered.pop(top)
    for name, module in ours.items():
        sys.modules[f"{_ASIDE}{name}"] = module
    for name, module in ours.items():
        spec = module.__spec__
        module.__name__ = f"{_ASIDE}{name}"
        if spec is not None:
            spec.name = module.__name__
            module.__package__ = spec.parent
            loader: Any = spec.loader
            loader.name = module.__name__
        del sys.modules[name]
    importlib.invalidate_caches()


def _known(top: str) -> Iterator[tuple[str, ModuleType]]:
    for name, module in sys.modules.copy().items():  # in one step: other threads may import
        if name == top or name.startswith(f"{top}."):
            yield name, module
