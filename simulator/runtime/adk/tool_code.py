"""Finds the source of the function behind a tool: objects are only inspected, nothing of theirs is called, imported or evaluated."""

from __future__ import annotations

import functools
import inspect
import math
import tokenize
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import islice
from pathlib import Path
from types import (
    BuiltinFunctionType,
    CodeType,
    FunctionType,
    GetSetDescriptorType,
    MappingProxyType,
    MethodDescriptorType,
    MethodType,
    MethodWrapperType,
    NoneType,
    WrapperDescriptorType,
)
from typing import Any, NamedTuple

from google.adk.tools.base_tool import BaseTool
from google.adk.tools.function_tool import FunctionTool
from pydantic import JsonValue

from simulator.environment.evidence.sketch import FunctionSource
from simulator.runtime.adk.adk_private import node_function, runs_nodes
from simulator.runtime.adk.source_text import UnreadableSourceError, place_of, project_of, source_of_file
from simulator.runtime.adk.tool_guards import beneath_guard

_DEEPEST = 20
"""How many partials and decorators are taken off one another."""

_MOST_HELD = 10_000
"""How many values are read out of the variables that a function holds."""

_LONGEST_HELD = 1_000_000
"""How many characters these have together."""

_LAMBDA = "<lambda>"
_IN_C = (
    BuiltinFunctionType,
    MethodDescriptorType,
    MethodWrapperType,
    WrapperDescriptorType,
)
_RUN_BY_ADK = frozenset(
    {
        ("google.adk.tools.authenticated_function_tool", "AuthenticatedFunctionTool"),
        ("google.adk.tools.function_tool", "FunctionTool"),
        ("google.adk.tools.google_tool", "GoogleTool"),
    }
)
"""The classes whose tools answer with what their function returns; by name, as to import all takes half a second."""

_PARTIAL_PARTS = tuple(functools.partial.__dict__[name] for name in ("func", "args", "keywords"))
_METHOD_KINDS = (staticmethod, classmethod)
_FUNCTIONS = (FunctionType, MethodType)
_NOT_THERE: Any = object()
_MRO: Any = type.__dict__["__mro__"]
_OWN: Any = type.__dict__["__dict__"]
_NAME: Any = type.__dict__["__name__"]


class ToolCode(NamedTuple):
    """The code of a tool, or why there is none, in words that end a sentence about the tool."""

    code: FunctionSource | None
    reason: str = ""


class _NoCodeError(Exception):
    """The code of a tool cannot be had; the text says why."""


class _Function(NamedTuple):
    """The Python function in which a tool is written, and what stands around it.

    `given` are arguments that were given in advance by name, `places` those given by place. `wrappers` counts the functions around it.
    """

    function: Any  # a FunctionType: mypy would take it for a method of this class
    receiver: bool = False
    given: Mapping[str, Any] = MappingProxyType({})
    places: tuple[Any, ...] = ()
    wrappers: int = 0


def code_of(tool: object) -> ToolCode:
    """Find the code of an ADK tool or of a function that stands in a list of tools.

    Found are functions, methods, lambdas, objects that can be called, `functools.partial` of them and what a decorator
    wraps, sync or async. Never raises: without code there is a reason.
    """
    try:
        own = _own_run(tool)
        found = _unwrapped(_function_in(tool) if own is None else own)
        return ToolCode(replace(_code(found), takes_mapping=own is not None))
    except (_NoCodeError, UnreadableSourceError) as error:
        return ToolCode(None, str(error))
    except Exception as error:  # noqa: BLE001 - objects of others are looked at: whatever is odd about one, there is a next evidence
        return ToolCode(None, f"its code cannot be inspected ({type(error).__name__})")


# ------------------------------------------------------------ from the tool to the function


def _is_a(kind: type, *wanted: type) -> type | None:
    """Return the first of these classes that a class is or derives from, without a word of its metaclass."""
    return next((one for one in wanted if any(base is one for base in _MRO.__get__(kind))), None)


def _is_exactly(thing: object, *wanted: type) -> bool:
    kind = type(thing)
    return any(kind is one for one in wanted)


def _kept(thing: object, name: str) -> Any:
    """Return what an object itself keeps under a name; None where it keeps nothing there, or its class has a way of its own.

    `inspect.getattr_static` would run code of a metaclass.
    """
    classes = [_OWN.__get__(base) for base in _MRO.__get__(type(thing))]
    holder = next((own["__dict__"] for own in classes if "__dict__" in own), None)
    if type(holder) is not GetSetDescriptorType or any(name in own for own in classes):
        return None
    kept = holder.__get__(thing)
    return dict.get(kept, name) if _is_a(type(kept), dict) else None


def _function_in(tool: object) -> object:
    """Return what a tool calls.

    Raises:
        _NoCodeError: It calls no function, or does more with it than call it.
    """
    kind = type(tool)
    if not _is_a(kind, BaseTool):
        return tool
    if runs_nodes(tool):
        function = node_function(tool)
        if function is None:
            raise _NoCodeError("its work is done by agents")
        return function
    if not _is_a(kind, FunctionTool):
        raise _NoCodeError(f"it is a {_NAME.__get__(kind)}, which has no function")
    runs, module = _runner_of(kind)
    if (module, _NAME.__get__(runs)) not in _RUN_BY_ADK:
        raise _NoCodeError(f"its class {_NAME.__get__(runs)} calls the function in its own way")
    return _kept(tool, "func")


def _runner_of(kind: type) -> tuple[type, str]:
    """Return the class whose `run_async` a tool runs, and that class's module; no module where it has none that is plain."""
    runs = next(base for base in _MRO.__get__(kind) if _run_in(base) is not None)
    module = _OWN.__get__(runs).get("__module__")
    return runs, module if type(module) is str else ""


def _run_in(kind: type) -> Any:
    """Return what a class has as `run_async` itself, without the guard that stands around it while anything is simulated."""
    run = _OWN.__get__(kind).get("run_async")
    return beneath_guard(run) if type(run) is FunctionType else run


def _own_run(tool: object) -> MethodType | None:
    """Return the `run_async` that a tool's own class has; None where ADK's does the work."""
    kind = type(tool)
    if not _is_a(kind, BaseTool) or runs_nodes(tool):
        return None
    runs, module = _runner_of(kind)
    if not module or module.partition(".")[0] == "google":
        return None
    written = _run_in(runs)
    return MethodType(written, tool) if type(written) is FunctionType else None


def _unwrapped(thing: Any) -> _Function:
    """Take off partials, methods and decorators down to the function that is written as the tool.

    Raises:
        _NoCodeError: There is none that was written in Python, or it is not plain which.
    """
    receiver, wrappers = False, 0
    given: dict[str, Any] = {}
    places: tuple[Any, ...] = ()
    for _ in range(_DEEPEST):
        kind = type(thing)
        if _is_a(kind, functools.partial):
            thing, before, named = (part.__get__(thing, kind) for part in _PARTIAL_PARTS)
            given, places = {**named, **given}, (*before, *places)
        elif kind is MethodType:
            receiver, thing = True, thing.__func__
        elif base := _is_a(kind, *_METHOD_KINDS):
            receiver = receiver or base is classmethod
            thing = base.__dict__["__func__"].__get__(thing, kind)
        elif (inner := _wrapped_in(thing)) is not None:
            wrappers, thing = wrappers + 1, inner
        elif kind is FunctionType:
            return _Function(thing, receiver, given, places, wrappers)
        else:
            receiver, thing = True, _call_of(thing)
    raise _NoCodeError("it is wrapped too many times")


def _wrapped_in(thing: Any) -> object | None:
    """Return what a decorator has wrapped; None where nothing is, or it is not plain what."""
    if type(thing) is FunctionType:
        inner = thing.__dict__.get("__wrapped__")
        return _only_function_held(thing) if inner is None else inner
    inner = _kept(thing, "__wrapped__")
    return inner if _is_exactly(inner, *_FUNCTIONS) else None


def _only_function_held(wrapper: FunctionType) -> object | None:
    """Return the one function that a function holds which passes on whatever it is called with."""
    flags = wrapper.__code__.co_flags
    if not (flags & inspect.CO_VARARGS and flags & inspect.CO_VARKEYWORDS):
        return None
    held = [value for _, value in _cells(wrapper) if _is_exactly(value, *_FUNCTIONS)]
    return held[0] if len(held) == 1 else None


def _cells(function: FunctionType) -> Iterator[tuple[str, Any]]:
    """Yield the variables of enclosing functions that have a value."""
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            yield name, cell.cell_contents
        except ValueError:
            continue  # not assigned yet


def _call_of(thing: object) -> object:
    """Return the method that runs when an object is called.

    Raises:
        _NoCodeError: It is written in C, is a class, or cannot be called.
    """
    kind = type(thing)
    if _is_a(kind, type):
        raise _NoCodeError("it is a class")
    called = next(
        (_OWN.__get__(base)["__call__"] for base in _MRO.__get__(kind) if "__call__" in _OWN.__get__(base)),
        None,
    )
    if _is_exactly(thing, *_IN_C) or _is_exactly(called, *_IN_C):
        raise _NoCodeError("it is not written in Python")
    if not _is_exactly(called, FunctionType):
        raise _NoCodeError("it has no function that can be found without running its code")
    return called


# ------------------------------------------------------------ from the function to its text


def _code(found: _Function) -> FunctionSource:
    """Find the text of a function.

    Raises:
        _NoCodeError: It has none, or what stands in its place is another function.
        UnreadableError: Its file cannot be read.
    """
    function: FunctionType = found.function
    code = function.__code__
    path = _file_of(function)
    source = source_of_file(path)
    key = (code.co_firstlineno, code.co_name, _parameters(code))
    if key not in source.checked:
        source.checked[key] = _differs(source.lines, code, path.name)
    if source.checked[key]:
        raise _NoCodeError(source.checked[key])
    if found.wrappers and found.wrappers > _decorators(source.lines, code.co_firstlineno):
        raise _NoCodeError("it is wrapped in a function that is not in its source")
    module = function.__module__
    root, name = place_of(path, module if type(module) is str else "")
    return FunctionSource(
        module=source.module(name),
        name=code.co_name,
        line=code.co_firstlineno,
        held=_held(found),
        receiver=found.receiver,
        project=project_of(source, root, name),
    )


def _file_of(function: FunctionType) -> Path:
    written = function.__code__.co_filename
    if written.startswith("<"):
        raise _NoCodeError("it was created at run time, so it has no file")
    path = Path(written)
    if not path.is_absolute():
        module_file = dict.get(function.__globals__, "__file__")
        if type(module_file) is str and Path(module_file).is_absolute():
            path = Path(module_file)
    if path.suffix != ".py":
        raise _NoCodeError(f"its file {path.name} is not a Python file")
    return path.absolute()


def _parameters(code: CodeType) -> tuple[str, ...]:
    """Return the names of a function's parameters in the order in which they are written."""
    names, plain, named = code.co_varnames, code.co_argcount, code.co_kwonlyargcount
    rest = iter(names[plain + named :])
    several = tuple(islice(rest, 1 if code.co_flags & inspect.CO_VARARGS else 0))
    keywords = tuple(islice(rest, 1 if code.co_flags & inspect.CO_VARKEYWORDS else 0))
    return (*names[:plain], *several, *names[plain : plain + named], *keywords)


def _differs(lines: list[str], code: CodeType, file: str) -> str:
    """Return why what stands at a function's line is not that function; empty where it is."""
    wanted = _parameters(code)
    if code.co_name == _LAMBDA:
        there = [names for names in _lambdas(lines, code.co_firstlineno) if _same_names(names, wanted)]
        if len(there) > 1:
            return f"{file} has several such lambdas on line {code.co_firstlineno}"
        found = bool(there)
    else:
        name, names = _definition(lines, code.co_firstlineno)
        found = name == code.co_name and _same_names(names, wanted)
    return "" if found else f"{file} has changed since the agent was loaded"


def _same_names(written: tuple[str, ...], known: tuple[str, ...]) -> bool:
    """Compare parameters; in a class, Python knows `__name` by a longer one."""
    return len(written) == len(known) and all(
        one == other or (one.startswith("__") and other.endswith(one))
        for one, other in zip(written, known, strict=True)
    )


def _tokens(lines: list[str], line: int) -> Iterator[tokenize.TokenInfo]:
    """Yield the tokens from a line on, as far as there are any."""
    following = islice(lines, line - 1, None)
    try:
        yield from tokenize.generate_tokens(lambda: next(following, ""))
    except (tokenize.TokenError, SyntaxError):
        return


def _decorators(lines: list[str], line: int) -> int:
    """Count the decorators of the function that begins at a line."""
    count, is_new = 0, True
    for token in _tokens(lines, line):
        if token.type in _BLANK:
            continue
        if is_new and token.string != "@":
            return count
        count += is_new
        is_new = token.type == tokenize.NEWLINE
    return count


_BLANK = frozenset({tokenize.INDENT, tokenize.DEDENT, tokenize.COMMENT, tokenize.NL, tokenize.ENCODING})


def _definition(lines: list[str], line: int) -> tuple[str, tuple[str, ...]]:
    """Return the name and the parameters of the `def` that begins at a line, behind its decorators; empty for none."""
    tokens = (token for token in _tokens(lines, line) if token.type not in _BLANK)
    is_new, token = True, next(tokens, None)
    if token is None or token.start[0] != 1:
        return "", ()
    while token is not None and (not is_new or token.string == "@"):
        is_new, token = token.type == tokenize.NEWLINE, next(tokens, None)
    if token is not None and token.string == "async":
        token = next(tokens, None)
    name = next(tokens, None) if token is not None and token.string == "def" else None
    if name is None:
        return "", ()
    return name.string, _written_parameters(tokens, "(", ")")


def _lambdas(lines: list[str], line: int) -> list[tuple[str, ...]]:
    """Return the parameters of each lambda that stands in a line."""
    tokens = list(_tokens(lines[line - 1 : line], 1))
    return [
        _written_parameters(iter(tokens[place + 1 :]), "", ":")
        for place, token in enumerate(tokens)
        if token.type == tokenize.NAME and token.string == "lambda"
    ]


def _written_parameters(tokens: Iterator[tokenize.TokenInfo], begin: str, end: str) -> tuple[str, ...]:
    """Return the names of parameters, from what begins their list to what ends it; defaults and annotations are passed over."""
    names: list[str] = []
    depth, takes_name = 0, not begin
    for token in tokens:
        text = token.string
        if begin and depth == 0:
            # Type parameters stand in brackets before.
            depth = 1 if text == begin else 0
            takes_name = bool(depth)
            continue
        level = 1 if begin else 0
        if text == end and depth == level:
            break
        depth += (text in {"(", "[", "{"}) - (text in {")", "]", "}"})
        if depth == level and text == ",":
            takes_name = True
        elif takes_name and token.type == tokenize.NAME:
            names.append(text)
            takes_name = False
        elif text not in {"*", "**"} and token.type not in _BLANK:
            takes_name = False
    return tuple(names)


# ------------------------------------------------------------ what the function holds


def _held(found: _Function) -> dict[str, JsonValue]:
    """Copy the values of builtin types that a function holds; others stay out."""
    code = found.function.__code__
    by_place = code.co_varnames[int(found.receiver) : code.co_argcount]
    everything = {
        **dict(_cells(found.function)),
        **dict(zip(by_place, found.places, strict=False)),
        **found.given,
    }
    room = _Room()
    return {
        name: copy for name, value in everything.items() if (copy := room.copied(value)) is not _NOT_THERE
    }


class _Room:
    """Copies values of exactly the builtin types that JSON has, up to a measure."""

    def __init__(self) -> None:
        self._values, self._characters = _MOST_HELD, _LONGEST_HELD

    def copied(self, value: Any, depth: int = 0) -> Any:
        """Return a copy; `_NOT_THERE` for what is of another type, is too large, or is no number that JSON has."""
        kind = type(value)
        self._values -= 1
        if self._values < 0 or depth > _DEEPEST:
            return _NOT_THERE
        if kind is str:
            self._characters -= len(value)
            return value if self._characters >= 0 else _NOT_THERE
        if kind is list:
            return self._all([*value], depth)
        if kind is dict:
            if not all(type(key) is str for key in value):
                return _NOT_THERE
            inner = self._all([*value.values()], depth)
            return _NOT_THERE if inner is _NOT_THERE else dict(zip(value, inner, strict=True))
        is_number = kind is int or (kind is float and math.isfinite(value))
        return value if is_number or kind is bool or kind is NoneType else _NOT_THERE

    def _all(self, values: list[Any], depth: int) -> Any:
        copies: list[Any] = []
        for value in values[: _MOST_HELD + 1]:
            copy = self.copied(value, depth + 1)
            if copy is _NOT_THERE:
                return _NOT_THERE
            copies.append(copy)
        return copies
