"""Makes of a chosen tool what a draft is asked with: its declaration by ADK, and its code as text."""

from __future__ import annotations

import ast
import builtins
import copy
import datetime as dt
import enum
import typing
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pydantic
from google.adk.agents.callback_context import CallbackContext
from google.adk.agents.invocation_context import InvocationContext
from google.adk.agents.readonly_context import ReadonlyContext
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.tool_context import ToolContext

from simulator.base.python_source import parsed
from simulator.environment.evidence.sketch import FunctionSource, Module
from simulator.runtime.adk.source_text import project_of, source_of_file
from simulator.runtime.turns.waiting_request import describe_tool
from simulator.seats.requests import ToolDeclaration
from tests.first_sight.arguments import Function

_NAMES: dict[str, Any] = {
    **{name: getattr(typing, name) for name in typing.__all__},
    "typing": typing, "datetime": dt, "enum": enum, "Enum": enum.Enum, "pydantic": pydantic,
    "BaseModel": pydantic.BaseModel, "Field": pydantic.Field, "ToolContext": ToolContext, "Context": ToolContext,
    "CallbackContext": CallbackContext, "InvocationContext": InvocationContext, "ReadonlyContext": ReadonlyContext,
}  # fmt: skip


class _Names(dict[str, Any]):
    """The names that annotations use; classes of the project stand for any object."""

    def __missing__(self, name: str) -> Any:
        if hasattr(builtins, name) or name.startswith("__"):
            raise KeyError(name)
        return dict


def declared(function: Function) -> ToolDeclaration:
    """Return the declaration of a tool, as ADK makes it of a function with the same parameters and docstring."""
    stub = copy.deepcopy(function)
    stub.decorator_list = []
    told = ast.get_docstring(function, clean=False)
    stub.body = [ast.Expr(ast.Constant(told)) if told else ast.Pass()]
    plain: list[ast.expr | None] = [_literal(one) for one in stub.args.defaults]
    stub.args.defaults = [one for one in plain if one is not None]
    stub.args.kw_defaults = [None if one is None else _literal(one) for one in stub.args.kw_defaults]
    tree = ast.fix_missing_locations(ast.Module([stub], []))
    names: Any = _Names(_NAMES)
    try:
        exec(compile(tree, "declaration", "exec"), names, names)  # noqa: S102 - annotations and literals alone
        return describe_tool(FunctionTool(names[function.name]))
    except Exception:  # noqa: BLE001 - an annotation can be anything
        return ToolDeclaration(
            name=function.name, description=ast.get_docstring(function) or "", parameters={}
        )


def _literal(default: ast.expr) -> ast.expr:
    try:
        ast.literal_eval(default)
    except ValueError:
        return ast.Constant(None)
    return default


def code_of(checkout: Path, path: str, function: Function) -> FunctionSource:
    """Return where a tool is written, with the other modules of its project.

    The project is imported from the folder from which most of its modules are found, the checkout's own first.
    """
    file = checkout / path
    source = source_of_file(file)
    below = Path(path).with_suffix("").parts
    ways: list[tuple[str, dict[str, Module]]] = []
    for depth in range(max(1, len(below) - 1)):
        name = ".".join(below[depth:]).removesuffix(".__init__")
        ways.append((name, dict(project_of(source, checkout.joinpath(*below[:depth]), name))))
    if len(below) > 1:
        ways.append((below[-1], dict(project_of(source, file.parent, below[-1]))))
    name, project = max(ways, key=lambda way: len(way[1]))
    line = min([function.lineno, *(one.lineno for one in function.decorator_list)])
    return FunctionSource(Module(path, source.text, name), function.name, line, project=project)


def constants(code: FunctionSource) -> Sequence[Any]:
    """Return the constants that are written in the code of a tool and of its project."""
    found: list[Any] = []
    for module in (code.module, *code.project.values()):
        try:
            tree = parsed(module.text)
        except (SyntaxError, ValueError, RecursionError):
            continue
        found.extend(node.value for node in ast.walk(tree) if isinstance(node, ast.Constant))
    return [*found, *(-value for value in found if type(value) in {int, float})]
