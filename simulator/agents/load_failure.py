"""Why an agent cannot be loaded, and what lets it load all the same.

An error is put into words: what failed, and where in the agent's own code. What a replay does not need may be missing here: a package of a tool, a
variable, an account. Only an agent that failed to load is loaded once more with stand-ins for these, since one that loads without has a way of its
own then, and with them it might be another agent. What stands in for a package can be imported, named and called while the agent is imported, as
a client is made beside a tool, and refuses everything that is done with it later. Nothing of the agent itself may be made of it, and each refusal is
noted, also where the agent's code goes on without.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import os
import re
import sys
import traceback
import warnings
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any, NoReturn

from simulator.agents.agent_source import said_before
from simulator.base.python_source import parsed
from simulator.base.secret_masking import without_secrets

_CHOSEN: ContextVar[bool] = ContextVar("absent_packages_chosen", default=False)
_LOADING: ContextVar[bool] = ContextVar("absent_packages_loading", default=False)
USES: ContextVar[list[str] | None] = ContextVar("absent_package_uses", default=None)
"""Where the uses of packages that are not installed are noted, in sentences."""
_REFUSED = (
    "bool str repr format len iter next contains eq ne lt le gt ge add radd sub mul truediv mod int float index enter exit aenter aexit aiter "
    "anext await setitem delitem instancecheck subclasscheck"
)


class AbsentPackageError(RuntimeError):
    """Code of an agent used a package that is not installed, and that only its tools may need in a replay."""


@contextmanager
def without_absent_packages() -> Iterator[None]:
    """Let agents that are loaded in the block do without packages that are not installed: what only a replay with recorded answers may do."""
    token = _CHOSEN.set(True)
    try:
        yield
    finally:
        _CHOSEN.reset(token)


def does_without() -> bool:
    """Return whether an agent is loaded for a replay, and does without packages that are not installed."""
    return _CHOSEN.get()


@contextmanager
def stand_ins(names: Sequence[str]) -> Iterator[None]:
    """Let modules of these names be imported in the block, and all that is in them; later imports do not find them."""
    if not names:
        yield
        return
    finder = _Finder(tuple(names))
    sys.meta_path.append(finder)
    token = _LOADING.set(True)
    try:
        yield
    finally:
        _LOADING.reset(token)
        sys.meta_path.remove(finder)
        for name in [name for name, module in sys.modules.items() if isinstance(module, _AbsentModule)]:
            del sys.modules[name]


def absent_words(names: Sequence[str]) -> str:
    """Say in a sentence without which packages an agent was loaded; empty where without none."""
    if not names:
        return ""
    verb = "is" if len(names) == 1 else "are"
    return f"{', '.join(names)} {verb} not installed, so the agent was loaded without, and its tools' own code cannot run"


def made_of_what_is_there(agent: Any) -> Any:
    """Return an agent of which neither a part, a tool nor a callback comes from a package that is not there.

    Raises:
        AbsentPackageError: One of them does.
    """
    if _holds_one(agent, set()):
        raise AbsentPackageError("a part of the agent comes from a package that is not installed")
    return agent


def _holds_one(value: Any, seen: set[int]) -> bool:
    if isinstance(value, _Absent):
        return True
    if id(value) in seen:
        return False
    seen.add(id(value))
    inner: Sequence[Any] = ()
    if isinstance(value, dict):
        inner = [*value.values()]
    elif isinstance(value, (list, tuple, set, frozenset)):
        inner = [*value]
    elif hasattr(type(value), "model_fields"):
        inner = [*vars(value).values(), *(getattr(value, "__pydantic_private__", None) or {}).values()]
    elif "func" in getattr(value, "__dict__", {}):
        inner = [value.func]
    return any(_holds_one(each, seen) for each in inner)


class _Absent:
    """A thing of a package that is not there."""

    __slots__ = ("_place",)
    __hash__ = object.__hash__

    def __init__(self, place: str) -> None:
        self._place = place

    def __getattr__(self, name: str) -> _Absent:
        return _of(self._place, name)

    def __call__(self, *_: Any, **__: Any) -> _Absent:
        return self._while_loading("")

    def __getitem__(self, _: Any) -> _Absent:
        return self._while_loading("")

    def __or__(self, _: Any) -> _Absent:
        return self._while_loading("")

    __ror__ = __or__

    def _while_loading(self, more: str) -> _Absent:
        return _Absent(f"{self._place}{more}") if _LOADING.get() else _refuse(self._place)


def _refusing(self: _Absent, *_: Any) -> NoReturn:
    _refuse(self._place)


for _name in _REFUSED.split():
    setattr(_Absent, f"__{_name}__", _refusing)


class _AbsentModule(ModuleType):
    """A module that is not there."""

    def __getattr__(self, name: str) -> _Absent:
        return _of(self.__name__, name)


class _Finder(MetaPathFinder, Loader):
    """Finds what nobody else has found, of the packages with these names."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self._names = names

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> ModuleSpec | None:
        del path, target
        inside = any(fullname == name or fullname.startswith(f"{name}.") for name in self._names)
        return ModuleSpec(fullname, self, is_package=True) if inside and _LOADING.get() else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _AbsentModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        del module


def _of(place: str, name: str) -> _Absent:
    if name.startswith("__") and name.endswith("__"):
        raise AttributeError(name)
    return _Absent(f"{place}.{name}") if _LOADING.get() else _refuse(f"{place}.{name}")


def _refuse(place: str) -> NoReturn:
    words = f"the agent's code uses {place}, and the package is not installed"
    if (uses := USES.get()) is not None and words not in uses:
        uses.append(words)
    raise AbsentPackageError(words)


VARIABLE = "GOLDEN_TRACE_PLACEHOLDER_CREDENTIALS"
ACCOUNT, _PROJECT = "GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_CLOUD_PROJECT"
_OFF = frozenset({"", "0", "false", "no", "off"})
PLACEHOLDER = "placeholder"
"""What stands for a value that lets an agent load and that nobody accepts: no key, whatever it is the value of."""


def load_with_placeholders(environ: MutableMapping[str, str] = os.environ) -> None:
    """Choose that agents find placeholders from now on, in this process and those that it starts."""
    environ[VARIABLE] = "1"


def are_chosen(environ: Mapping[str, str] = os.environ) -> bool:
    """Return whether somebody chose that an agent finds placeholders where it does not load without."""
    return environ.get(VARIABLE, "").lower() not in _OFF


@contextmanager
def placeholders(names: Sequence[str], environ: MutableMapping[str, str] = os.environ) -> Iterator[None]:
    """Let variables be set while the block runs that are not; later they are as before, so that no model seems to be in reach.

    `GOOGLE_APPLICATION_CREDENTIALS` names a file with which `google.auth.default()` finds credentials, and comes with a project.
    """
    before = dict(environ)
    with TemporaryDirectory() as folder:
        for name in names:
            environ[name] = _account(Path(folder)) if name == ACCOUNT else PLACEHOLDER
        if ACCOUNT in names and not environ.get(_PROJECT):
            environ[_PROJECT] = PLACEHOLDER
        given = {name: environ[name] for name in (*names, _PROJECT) if environ.get(name) != before.get(name)}
        try:
            yield
        finally:
            for name, value in given.items():
                if environ.get(name) == value:
                    environ.pop(name)
                    environ.update({name: before[name]} if name in before else {})


def _account(folder: Path) -> str:
    file = folder / "credentials.json"
    secrets = ("client_id", "client_secret", "refresh_token")
    file.write_text(json.dumps({"type": "authorized_user", **dict.fromkeys(secrets, PLACEHOLDER)}))
    return str(file)


def placeholder_words(names: Sequence[str]) -> str:
    """Say in a sentence with which placeholders an agent was loaded; empty where with none."""
    if not names:
        return ""
    return f"The agent asks for {', '.join(names)} when it loads. This is not set, so it was loaded with a placeholder."


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
