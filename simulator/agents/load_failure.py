"""Puts into words why an agent could not be loaded: what failed, and where in the agent's own code."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import sys
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from simulator.agents.agent_source import said_before
from simulator.base.python_source import parsed
from simulator.base.secret_masking import without_secrets

MAX_LENGTH = 500
_OURS = frozenset({"evalset", "simulator"})
_HERE = Path(__file__).resolve()

# AgentLoader puts this in front of an error's own words, once for each way that it tried.
_LOADERS_WORDS = re.compile(r"^(?:Fail to load '[^']*' (?:module|config)\. )+")

_NO_NAME = re.compile(r"cannot import name '(\w+)' from '([\w.]+)'")
CAUSED_BY = "Caused by"

# pydantic ends each of its errors with a link.
_LINK = re.compile(r"\s*For further information visit \S+")


class AgentLoadError(ValueError):
    """An agent could not be loaded. The text says what failed and where."""


def failure_words(error: BaseException, home: Path) -> str:
    """Return what failed and where, on one line: exception type, message, file and line.

    Args:
        error: What loading the agent raised.
        home: The folder that the agent's own code lives in; the place named is the innermost one inside it.
    """
    noted = _noted(error)
    error = own_error(error)
    if isinstance(error, AgentLoadError):
        return str(error)
    message = _LINK.sub("", _LOADERS_WORDS.sub("", _message(error))).strip().split("\n\n")[0]
    # Everybody on a server sees them.
    words = _shortened(without_secrets(" ".join(message.split())))
    place = _place(error, home.resolve()) + _said(error, home)
    cause = _cause(error, words) or _left_out(error)
    return f"{type(error).__name__}: {words or 'no message'}{place}{cause}{noted}{_hidden(error, home.resolve())}"


def _noted(error: BaseException) -> str:
    """Say what was noted of an error where the agent was loaded, and may be its cause: a coroutine that nobody awaited, a variable that is not set."""
    told = dict.fromkeys((*getattr(error, "__notes__", ()), *getattr(own_error(error), "__notes__", ())))
    return "".join(f". {note}" for note in told if note.endswith((NOT_AWAITED, NOT_SET)))


NOT_AWAITED, NOT_SET = "was never awaited", "not set"
"""How the notes end: as Python's warning of such a coroutine, and as `load_advice` says it of a variable."""


@contextmanager
def noting_coroutines() -> Iterator[None]:
    """Add to an error that the block raises which coroutines were not awaited meanwhile, as notes."""
    missed: list[str] = []
    shown = warnings.showwarning

    def show(message: Warning | str, *more: Any, **named: Any) -> None:
        if str(message).endswith(NOT_AWAITED):
            missed.append(f"{str(message)[:1].upper()}{str(message)[1:]}")
        shown(message, *more, **named)

    warnings.showwarning = show
    try:
        yield
    except BaseException as error:
        for each in missed:
            error.add_note(each)
        raise
    finally:
        warnings.showwarning = shown


def _cause(error: BaseException, words: str) -> str:
    """Say what an error was made of that names its cause, where its own words don't; empty where it names none."""
    first, seen = error.__cause__, {id(error)}
    while first is not None and id(first) not in seen:
        seen.add(id(first))
        inner = first.__cause__ or (None if first.__suppress_context__ else first.__context__)
        if inner is None or id(inner) in seen:
            break
        first = inner
    told = "" if first is None else _shortened(without_secrets(" ".join(_message(first).split())))
    return f". {CAUSED_BY} {type(first).__name__}: {told}" if told and told not in words else ""


def _left_out(error: BaseException) -> str:
    """Say why a part of google-adk lacks a name that its own code imports: it goes on without a word where a package is missing. Empty where that is not why."""
    lacks = _NO_NAME.search(str(error)) if isinstance(error, ImportError) else None
    module = sys.modules.get(lacks[2]) if lacks else None
    if lacks is None or module is None or not lacks[2].startswith("google.adk."):
        return ""
    for node in ast.walk(parsed(inspect.getsource(module))):
        if isinstance(node, ast.ImportFrom) and lacks[1] in {each.name for each in node.names}:
            try:
                importlib.import_module(f"{'.' * node.level}{node.module or ''}", module.__package__)
            except ImportError as cause:
                return f". {CAUSED_BY} {type(cause).__name__}: {cause}"
    return ""


def _hidden(error: BaseException, home: Path) -> str:
    """Say which module of the agent's project cannot be imported, as a package of ours has its name; empty where that is not why."""
    name = (error.name or "").partition(".")[0] if isinstance(error, ImportError) else ""
    if name not in _OURS:
        return ""
    places = (folder / each for folder in (home, home.parent) for each in (name, f"{name}.py"))
    theirs = next((each for each in places if each.exists() and each not in _HERE.parents), None)
    return (
        f". {theirs} is hidden by the studio's package {name!r}; rename it, or run the command with --python, which plays the agent in a separate process"
        if theirs
        else ""
    )


def own_error(error: BaseException) -> BaseException:
    """Undo AgentLoader's wrapping of a ValueError in an error of its own."""
    is_loaders = type(error).__module__.startswith("google.adk.cli.")
    return error.__cause__ if is_loaders and error.__cause__ is not None else error


def _message(error: BaseException) -> str:
    if isinstance(error, SyntaxError):
        return error.msg
    # `str` of a KeyError quotes its text, and would hide the loader's words from the pattern.
    return error.args[0] if isinstance(error, KeyError) and _is_text(error.args) else str(error)


def _is_text(arguments: tuple[object, ...]) -> bool:
    return len(arguments) == 1 and isinstance(arguments[0], str)


def place_in(error: BaseException, home: Path) -> tuple[Path, int] | None:
    """Return the innermost place of a project where an error was raised, its file and its line; None where it was raised elsewhere.

    Packages that are installed in it are elsewhere, and so is Python's own code, whose files are no paths (`<frozen os>`).
    """
    root = home.resolve()
    for frame in reversed(traceback.extract_tb(own_error(error).__traceback__)):
        file = Path(frame.filename).resolve()
        inside = file.relative_to(root).parts if file.is_relative_to(root) else ()
        if inside and not frame.filename.startswith("<") and "site-packages" not in inside:
            return file, frame.lineno or 0
    return None


def _place(error: BaseException, home: Path) -> str:
    if isinstance(error, SyntaxError) and error.filename:
        return f" ({_relative(Path(error.filename), home)}, line {error.lineno})"
    place = place_in(error, home)
    return f" ({_relative(place[0], home)}, line {place[1]})" if place else ""


def _said(error: BaseException, home: Path) -> str:
    """Say what the code printed before it gave up without a word; empty where its code does not tell."""
    place = (
        place_in(error, home) if isinstance(error, SystemExit) and not isinstance(error.code, str) else None
    )
    said = said_before(*place) if place else ""
    return f". It says before: {_shortened(without_secrets(' '.join(said.split())))}" if said else ""


def _relative(path: Path, home: Path) -> str:
    resolved = path.resolve()
    return str(resolved.relative_to(home)) if resolved.is_relative_to(home) else str(path)


def _shortened(words: str) -> str:
    return words if len(words) <= MAX_LENGTH else f"{words[:MAX_LENGTH]}..."
