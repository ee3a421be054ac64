"""Runs one function that was cut out of a checkout: a child process with nothing to reach, started by `running.py`.

Reads `{"modules": [[path, source], ...], "path", "function", "arguments"}` from standard input, and writes
`{"value": ...}` or `{"raises": ...}`.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import io
import json
import os
import resource
import sys
import types
from typing import Any

import pydantic
from pydantic_core import to_jsonable_python

MEMORY, SECONDS = 2 << 30, 5
_REACHING = (
    "socket.",
    "subprocess.",
    "os.",
    "shutil.",
    "ctypes.",
    "urllib.",
    "webbrowser.",
    "ftplib.",
    "smtplib.",
)


def _guard(event: str, arguments: tuple[Any, ...]) -> None:
    if event.startswith(_REACHING) and event not in {"os.listdir", "os.scandir"}:
        raise PermissionError(event)
    if event == "open":
        path, _, flags = arguments
        if not str(path).startswith((sys.prefix, sys.base_prefix)) or flags & (os.O_WRONLY | os.O_RDWR):
            raise PermissionError(f"open {path}")


def _object(kind: Any, value: Any) -> Any:
    """Return an argument as ADK does: a pydantic object where the parameter is of such a class."""
    is_model = inspect.isclass(kind) and issubclass(kind, pydantic.BaseModel)
    return kind.model_validate(value) if is_model and isinstance(value, dict) else value


def _ran(asked: dict[str, Any]) -> Any:
    modules: dict[str, types.ModuleType] = {}
    for number, (path, source) in enumerate(asked["modules"]):
        module = modules[path] = types.ModuleType(f"part_{number}")
        sys.modules[module.__name__] = module
        module.__dict__["_modules"] = modules
        exec(compile(source, path, "exec"), module.__dict__)  # noqa: S102 - this process is there for it
    home = modules[asked["path"]]
    kinds = {name: getattr(home, kind, None) for name, kind in asked["kinds"].items()}
    function = getattr(home, asked["function"])
    arguments = {name: _object(kinds.get(name), value) for name, value in asked["arguments"].items()}
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        value = function(**arguments)
        return _awaited(value) if inspect.iscoroutine(value) else value


def _awaited(waiting: Any) -> Any:
    """Run a coroutine that waits for nothing."""
    try:
        waiting.send(None)
    except StopIteration as ended:
        return ended.value
    raise asyncio.InvalidStateError("it waits for something")


def main() -> None:
    """Run what standard input tells, and write what it returns."""
    asked = json.load(sys.stdin)
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    sys.setrecursionlimit(2000)
    sys.addaudithook(_guard)
    try:
        answer: dict[str, Any] = {"value": to_jsonable_python(_ran(asked), inf_nan_mode="constants")}
        text = json.dumps(answer)
    except BaseException as problem:  # noqa: BLE001 - whatever it is, it is the answer
        text = json.dumps({"raises": type(problem).__name__, "message": str(problem)[:300]})
    sys.stdout.write(text)


if __name__ == "__main__":
    main()
