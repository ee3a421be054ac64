"""ADK's `EnvironmentSimulationConfig` as text: JSON, YAML, or Python code that makes it. Code is read as a syntax tree, and never run."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple, TypeAlias

from pydantic import JsonValue

from simulator.base.documents import DocumentError, read_document, write_json, write_yaml
from simulator.base.json_values import JsonObject, NotJsonError, taken
from simulator.base.python_source import parsed
from simulator.environment.injection.adk_injection_config import (
    MOCK_STRATEGIES,
    EnvironmentConfigError,
    ReadConfig,
    read_config,
    written_config,
)

_MAKES = re.compile(r"\b(?:EnvironmentSimulationConfig|ToolSimulationConfig|InjectionConfig)\(")

TextForm: TypeAlias = Literal["json", "yaml", "python"]


class WrittenText(NamedTuple):
    """A configuration as text, and what ADK has no word for."""

    text: str
    losses: list[str]


def is_code(text: str) -> bool:
    """Return whether a text is code that makes a configuration, rather than JSON or YAML."""
    return _MAKES.search(text) is not None and text.lstrip()[:1] not in {"{", "["}


def read_config_text(text: str, tool_name: str = "") -> ReadConfig:
    """Read a configuration from JSON, YAML, or Python code, whichever it is. Nothing is run.

    Args:
        text: The text.
        tool_name: As for `config_in_snippet`.

    Raises:
        EnvironmentConfigError: It cannot be read; the text says what is wrong and where.
    """
    if is_code(text):
        return read_config(config_in_snippet(text, tool_name))
    try:
        return read_config(read_document(text))
    except DocumentError as error:
        raise EnvironmentConfigError(str(error)) from error


def config_text(read: ReadConfig, form: TextForm) -> WrittenText:
    """Write a configuration as text that ADK's class, or Python, takes for it."""
    config, losses = written_config(read)
    match form:
        case "json":
            return WrittenText(write_json(config), losses)
        case "yaml":
            return WrittenText(write_yaml(config), losses)
        case "python":
            return WrittenText(snippet_of(config), losses)


_CONFIG = "EnvironmentSimulationConfig"
_TOOL, _INJECTION, _ERROR, _STRATEGY = (
    "ToolSimulationConfig",
    "InjectionConfig",
    "InjectedError",
    "MockStrategy",
)
_MODULE = "google.adk.tools.environment_simulation.environment_simulation_config"
_LIST_OF = {"tool_simulation_configs": _TOOL, "injection_configs": _INJECTION}
_INDENT = "    "
_WIDTH = 100
_DEEPEST, _MOST_VALUES = 100, 200_000
_RUN_IT = "its value is only known when the code runs"


def snippet_of(config: JsonObject) -> str:
    """Write a configuration, as `config_from_rules` gives it, as code that makes it with ADK's classes."""
    body = _call(_CONFIG, config, "")
    names = [name for name in (_CONFIG, _ERROR, _INJECTION, _STRATEGY, _TOOL) if name in body]
    imports = "".join(f"{_INDENT}{name},\n" for name in names)
    types = "from google.genai import types\n" if "types.GenerateContentConfig" in body else ""
    return f"from {_MODULE} import (\n{imports})\n{types}\nconfig = {body}\n"


def _call(name: str, fields: Mapping[str, JsonValue], indent: str) -> str:
    inner = indent + _INDENT
    lines = "".join(f"{inner}{field}={_field(field, value, inner)},\n" for field, value in fields.items())
    return f"{name}(\n{lines}{indent})" if lines else f"{name}()"


def _field(name: str, value: JsonValue, indent: str) -> str:
    if name in _LIST_OF and isinstance(value, list):
        inner = indent + _INDENT
        items = [_call(_LIST_OF[name], item, inner) for item in value if isinstance(item, dict)]
        return "[\n" + "".join(f"{inner}{item},\n" for item in items) + f"{indent}]"
    if name == "injected_error" and isinstance(value, dict):
        return _call(_ERROR, value, indent)
    if name == "mock_strategy_type":
        return f"{_STRATEGY}.{next(key for key, number in MOCK_STRATEGIES.items() if value in {key, number})}"
    if name == "simulation_model_configuration":
        return f"types.GenerateContentConfig.model_validate({_literal(value, indent)})"
    return _literal(value, indent)


def _literal(value: JsonValue, indent: str) -> str:
    """Write a JSON value as Python does, over several lines where one would be too long."""
    flat = repr(value)
    if len(indent) + len(flat) <= _WIDTH or not isinstance(value, (dict, list)) or not value:
        return flat
    inner = indent + _INDENT
    if isinstance(value, dict):
        lines = [f"{name!r}: {_literal(item, inner)}" for name, item in value.items()]
        return "{\n" + "".join(f"{inner}{line},\n" for line in lines) + indent + "}"
    return "[\n" + "".join(f"{inner}{_literal(item, inner)},\n" for item in value) + indent + "]"


def config_in_snippet(code: str, tool_name: str = "") -> JsonObject:
    """Find the one configuration in some code, or its parts alone, and read it; nothing is run.

    Literals are read, ADK's and google-genai's classes with named arguments, `json.dumps` of a literal, and names that
    the code has given to such values before, at its top level.

    Args:
        code: The code.
        tool_name: The tool of injections that stand in no `ToolSimulationConfig`.

    Raises:
        EnvironmentConfigError: The code is no Python, makes no configuration or several, or could be understood only
            by running it; names the line.
    """
    try:
        tree: ast.Module = parsed(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = f", on line {error.lineno}" if isinstance(error, SyntaxError) else ""
        raise EnvironmentConfigError(f"the text is not Python code: {error}{line}") from error
    found = _parts(tree, tool_name)
    try:
        read: list[JsonValue] = [taken(_Reader(tree, part).value(part)) for part in found]
    except NotJsonError as error:
        raise EnvironmentConfigError(f"the configuration in the code is {error}") from error
    except RecursionError as error:
        raise EnvironmentConfigError("the code is nested too deeply") from error
    name = _name(found[0].func)
    if name == _CONFIG:
        return read[0] if isinstance(read[0], dict) else {}
    if name == _INJECTION:
        read = [{"tool_name": tool_name, "injection_configs": read}]
    return {"tool_simulation_configs": read}


def names_no_tool(text: str) -> bool:
    """Return whether a text is code of injections alone: which tool they are for has to be said."""
    return is_code(text) and f"{_TOOL}(" not in text and f"{_CONFIG}(" not in text


def _parts(tree: ast.Module, tool_name: str) -> list[ast.Call]:
    """Return the one configuration of some code; where there is none, its tools, or else its injections, in order."""
    made: dict[str, list[ast.Call]] = {_CONFIG: [], _TOOL: [], _INJECTION: []}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _name(node.func) in made:
            made[_name(node.func)].append(node)
    whole, tools, injections = (sorted(nodes, key=lambda one: one.lineno) for nodes in made.values())
    if len(whole) > 1 or not (whole or tools or injections):
        what = f"{len(whole)}, on lines {', '.join(str(node.lineno) for node in whole)}" if whole else "none"
        raise EnvironmentConfigError(f"the code must create exactly one {_CONFIG}, but creates {what}")
    if not (whole or tools or tool_name):
        raise EnvironmentConfigError(
            f"line {injections[0].lineno}: this {_INJECTION} is for no tool; put it into a {_TOOL} with a tool_name"
        )
    return whole or tools or injections


def _name(node: ast.expr) -> str:
    """Return the last part of a dotted name; nothing for another expression."""
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


class _Reader:
    """Reads expressions as JSON values."""

    def __init__(self, tree: ast.Module, config: ast.Call) -> None:
        self._given = list(_assigned(tree, config.lineno))
        self._changed = frozenset(_changed(tree))
        self._depth = self._read = 0

    def value(self, node: ast.expr) -> Any:
        self._depth, self._read = self._depth + 1, self._read + 1
        if self._depth > _DEEPEST or self._read > _MOST_VALUES:
            raise _unreadable(node, "it is nested too deeply, refers to itself, or grows without bounds")
        try:
            return self._value(node)
        finally:
            self._depth -= 1

    def _value(self, node: ast.expr) -> Any:
        match node:
            case ast.Constant(value=None | bool() | int() | float() | str() as value):
                return value
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)):
                return -number
            case ast.List(elts=items) | ast.Tuple(elts=items):
                return [self.value(item) for item in items]
            case ast.Dict():
                return dict(self._fields(node))
            case ast.Call():
                return self._called(node)
            case _:
                return self._named(node)

    def _named(self, node: ast.expr) -> Any:
        if isinstance(node, ast.Attribute) and node.attr.isupper():
            return MOCK_STRATEGIES.get(node.attr, node.attr)
        given = [value for name, value in self._given if isinstance(node, ast.Name) and name == node.id]
        if not given:
            raise _unreadable(node, _RUN_IT)
        if len(given) > 1 or _name(node) in self._changed:
            raise _unreadable(node, "the code changes it")
        return self.value(given[0])

    def _fields(self, node: ast.Dict) -> Iterator[tuple[str, Any]]:
        for key, item in zip(node.keys, node.values, strict=True):
            name = self.value(key) if key is not None else None
            if not isinstance(name, str):
                raise _unreadable(key or item, "a field name must be a text")
            yield name, self.value(item)

    def _called(self, node: ast.Call) -> Any:
        name = _name(node.func)
        if name == "dumps" and len(node.args) == 1:
            return json.dumps(self.value(node.args[0]))
        if name == "model_validate" and len(node.args) == 1 and not node.keywords:
            return self.value(node.args[0])
        if not name[:1].isupper():
            raise _unreadable(node, _RUN_IT)
        if node.args or any(each.arg is None for each in node.keywords):
            raise _unreadable(node, f"pass the fields of {name} by name")
        return {str(each.arg): self.value(each.value) for each in node.keywords}


def _assigned(tree: ast.Module, before: int) -> Iterator[tuple[str, ast.expr]]:
    """Yield what the code names at its top level before a line."""
    for node in tree.body:
        if node.lineno > before:
            return
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    yield target.id, node.value
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value:
            yield node.target.id, node.value


def _changed(tree: ast.Module) -> Iterator[str]:
    """Yield the names whose values the code may change after it has made them."""
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id=name)) if not name[:1].isupper():
                yield name  # a method of it may be called
            case ast.Subscript(value=ast.Name(id=name), ctx=ast.Store() | ast.Del()):
                yield name
            case ast.AugAssign(target=ast.Name(id=name)) | ast.NamedExpr(target=ast.Name(id=name)):
                yield name
            case ast.For(target=ast.Name(id=name)):
                yield name


def _unreadable(node: ast.expr, why: str) -> EnvironmentConfigError:
    return EnvironmentConfigError(f"line {node.lineno}: cannot read {ast.unparse(node)[:80]!r}: {why}")
