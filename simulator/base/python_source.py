"""Reads Python's source text as a tree, whatever else goes on in the process."""

from __future__ import annotations

import ast
import gc
from threading import RLock
from typing import Any, Literal

_lock = RLock()


def parsed(text: str | bytes, mode: Literal["exec", "eval"] = "exec") -> Any:
    """Return the tree of a source text: an `ast.Module`, or an `ast.Expression` for the mode `eval`.

    CPython 3.11 and 3.12 count the depth of a tree that they make in one place for all trees of the process. Where the collector of garbage runs
    meanwhile, and what it ends writes a traceback, which reads source, too, the first tree fails with a `SystemError`. So nothing is
    collected in the meantime.

    Raises:
        SyntaxError, ValueError, RecursionError, MemoryError: It is no Python, or too deep.
    """
    with _lock:
        is_on = gc.isenabled()
        gc.disable()
        try:
            return ast.parse(text, mode=mode)
        finally:
            if is_on:
                gc.enable()


def literal(text: str) -> Any:
    """Return the value of a Python literal.

    Raises:
        SyntaxError, ValueError, TypeError, RecursionError, MemoryError: It is none.
    """
    return ast.literal_eval(parsed(text.lstrip(" \t"), "eval"))
