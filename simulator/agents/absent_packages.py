"""Lets an agent load that lacks something here which a replay does not need: packages of its tools, variables, accounts.

What stands in for the package can be imported, named and called while the agent is imported, as a client is made beside a tool, and refuses everything
that is done with it later. Nothing of the agent itself may be made of it, and each refusal is noted, also where the agent's code goes on without.

Only an agent that failed to load finds them, in another try: one that loads without has a way of its own then, and with them it might be another agent.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any, NoReturn

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
