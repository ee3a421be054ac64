"""Picks the source of a tool that a model may be sent: its function, and what of the same module that rests on."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from functools import lru_cache

from simulator.base.python_source import parsed
from simulator.environment.evidence.sketch import FunctionSource, Module
from simulator.environment.prompts.tool_prompt import cut

MOST_SOURCE = 20_000
"""How many characters of a tool's source are sent at most."""

_LONGEST_MODULE = 1_000_000
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def source_of_tool(code: FunctionSource, most: int = MOST_SOURCE) -> str:
    """Return the text of a tool's function with the constants, functions and classes of its module that it uses.

    Each part begins with a comment that names file and line. Imported modules are left out. What is used most directly
    is kept where not all fits. Empty where the function is not found in its text.

    Args:
        code: Where the function is written.
        most: How many characters it may take; what does not fit is left out, and that is said.
    """
    parts = _parts(code.module, code.name, code.line)
    if not parts:
        return ""
    lines = code.module.text.splitlines()
    held = [f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in code.held.items()]
    written = [(0, "\n".join(["# given to the function from outside", *held]))] if held else []
    room, left = most - sum(len(text) for _, text in written), 0
    for first, last in parts:
        text = "\n".join([f"# {code.module.path}, line {first}", *lines[first - 1 : last]])
        if len(text) > room and written:
            left += 1
            continue
        text = cut(text, max(room, 0))
        written.append((first, text))
        room -= len(text)
    words = [f"# {left} more parts left out, for want of room"] if left else []
    return "\n\n".join([*(text for _, text in sorted(written)), *words])


@lru_cache(maxsize=256)
def _parts(module: Module, name: str, line: int) -> tuple[tuple[int, int], ...]:
    """Return the first and the last line of the function's statement and of those that it uses, the nearest first."""
    if len(module.text) > _LONGEST_MODULE:
        return ()
    try:
        tree: ast.Module = parsed(module.text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    statements = {bound: one for one in tree.body for bound in _bound(one)}
    begin = next((one for one in tree.body if _holds(one, name, line)), None)
    found = [] if begin is None else [begin]
    for one in found:
        used = (node.id for node in ast.walk(one) if isinstance(node, ast.Name))
        others = (statements[name] for name in used if name in statements)
        found.extend(dict.fromkeys(other for other in others if other not in found))
    return tuple((_first_line(one), one.end_lineno or one.lineno) for one in found)


def _bound(statement: ast.stmt) -> Iterator[str]:
    """Yield the names that a statement of a module assigns or defines."""
    match statement:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.Assign(targets=targets):
            yield from (one.id for target in targets for one in ast.walk(target) if isinstance(one, ast.Name))
        case ast.AnnAssign(target=ast.Name(id=name)):
            yield name


def _holds(statement: ast.stmt, name: str, line: int) -> bool:
    return any(
        _first_line(one) == line and getattr(one, "name", "<lambda>") == name
        for one in ast.walk(statement)
        if isinstance(one, (*_DEFINITIONS, ast.Lambda))
    )


def _first_line(node: ast.stmt | ast.expr) -> int:
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(one.lineno for one in decorators)])
