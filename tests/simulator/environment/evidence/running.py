"""Reads functions, runs programs in CPython, and compares what they do with what was read from them."""

from __future__ import annotations

import ast
import asyncio
import contextlib
import inspect
import io
import json
import random
import re
import sys
import textwrap
import types
import warnings
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, NamedTuple

from pydantic import JsonValue

from simulator.base.python_source import parsed
from simulator.environment.evidence.sketch import CodeReading, FunctionSource, Hole, Module, Outcome, Sketch
from simulator.environment.evidence.tool_returns import read_returns
from tests.simulator.environment.evidence.programs import Program, copied_arguments

MOST_LINES = 20_000
MOST_BYTES = 1_000_000
_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,), "integer": (int,), "number": (int, float), "boolean": (bool,), "array": (list,), "object": (dict,),
    "null": (type(None),),
}  # fmt: skip


class TooLongError(BaseException):
    """A program runs for longer than these tests wait."""


class Ended(NamedTuple):
    """How a program ended: the JSON that it returned, or the exception that it raised."""

    value: JsonValue = None
    raises: str = ""
    message: str = ""


def ends_of(program: Program, chances: Iterable[int]) -> list[Ended | None]:
    """Run a program with each of some seeds for its chance, as `ran`; only once where it draws nothing."""
    ends = list[Ended | None]()
    for chance in chances:
        end, has_drawn = _ran(program, chance)
        ends.append(end)
        if not has_drawn:
            break
    return ends


def ran(program: Program, chance: int) -> Ended | None:
    """Run a program with a seed for its chance; None where it takes too long, or where JSON has no form for its value."""
    return _ran(program, chance)[0]


def _ran(program: Program, chance: int) -> tuple[Ended | None, bool]:
    before = random.getstate()
    random.seed(chance)
    seeded = random.getstate()
    name = "generated_program"
    module = sys.modules[name] = types.ModuleType(name)
    try:
        with warnings.catch_warnings(action="ignore"), contextlib.redirect_stdout(io.StringIO()):
            return _called(program, module), random.getstate() != seeded
    except (TooLongError, MemoryError):
        return None, random.getstate() != seeded
    finally:
        del sys.modules[name]
        random.setstate(before)


@lru_cache(maxsize=2)
def _compiled(text: str) -> types.CodeType:
    return compile(text, "program.py", "exec")


def _called(program: Program, module: types.ModuleType) -> Ended | None:
    exec(_compiled(program.text), module.__dict__)  # noqa: S102 - programs of ours
    sys.settrace(_counting())
    try:
        value = getattr(module, program.name)(**copied_arguments(program))
        if inspect.iscoroutine(value):
            value = asyncio.run(value)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is what the program does
        return Ended(raises=type(error).__name__, message=str(error))
    finally:
        sys.settrace(None)
    try:
        return Ended(json.loads(json.dumps(value)))
    except (TypeError, ValueError):
        return None


def _counting() -> Any:
    """Count the lines, and look at each for values that grow without end: lines that double a text are few."""
    left = MOST_LINES

    def trace(frame: types.FrameType, event: str, argument: Any) -> Any:
        nonlocal left
        left -= 1
        if left < 0 or any(sys.getsizeof(value, 0) > MOST_BYTES for value in frame.f_locals.values()):
            raise TooLongError
        return trace

    return trace


def function_of(text: str, name: str = "tool", **more: Any) -> FunctionSource:
    """Return where a function of a module is written."""
    text = textwrap.dedent(text)
    with warnings.catch_warnings(action="ignore"):
        tree = parsed(text)
    found = [
        one
        for one in ast.walk(tree)
        if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef)) and one.name == name
    ]
    line = min([found[-1].lineno, *(one.lineno for one in found[-1].decorator_list)])
    return FunctionSource(Module("shop/tools.py", text, "shop.tools"), name, line, **more)


def reading(source: str, name: str, /, state: Any = None, **arguments: Any) -> CodeReading:
    """Read a call of a function."""
    return read_returns(function_of(source, name), arguments, state=state)


def certain(source: str, name: str, /, **arguments: Any) -> Any:
    """Return what a call gives for certain."""
    (first, *others) = reading(source, name, **arguments).outcomes
    assert first.certain
    assert not any(one.possible for one in others)
    return first.value


def ends_so(outcome: Outcome, ended: Ended) -> bool:
    """Return whether a program ended as an outcome says."""
    if outcome.raises or ended.raises:
        return outcome.raises == ended.raises and stands_for(outcome.message, ended.message)
    return stands_for(outcome.value, ended.value)


def stands_for(sketch: Sketch, value: JsonValue) -> bool:
    """Return whether a value is one that a sketch stands for: types to the letter, keys in their order."""
    if isinstance(sketch, Hole):
        return _in_hole(sketch, value)
    if isinstance(sketch, dict):
        same = isinstance(value, dict) and list(sketch) == list(value)
        return (
            same
            and isinstance(value, dict)
            and all(stands_for(one, value[key]) for key, one in sketch.items())
        )
    if isinstance(sketch, list):
        return isinstance(value, list) and len(sketch) == len(value) and all(map(stands_for, sketch, value))
    return type(sketch) is type(value) and repr(sketch) == repr(value)


def _in_hole(hole: Hole, value: JsonValue) -> bool:
    if hole.kind and not isinstance(value, _TYPES[hole.kind]):
        return False
    if hole.kind in {"integer", "number"} and isinstance(value, bool):
        return False
    if hole.parts and isinstance(value, str):
        pattern = "".join(re.escape(one) if isinstance(one, str) else ".*" for one in hole.parts)
        if not re.fullmatch(pattern, value, re.DOTALL):
            return False
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return (hole.low is None or value >= hole.low) and (hole.high is None or value <= hole.high)
    return True


def is_known(sketch: Sketch) -> bool:
    """Return whether a sketch has no holes."""
    if isinstance(sketch, dict):
        return all(map(is_known, sketch.values()))
    if isinstance(sketch, list):
        return all(map(is_known, sketch))
    return not isinstance(sketch, Hole)
