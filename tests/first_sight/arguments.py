"""Chooses the arguments with which a tool of others is called: by its own examples, then by a fixed table."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from typing import TypeAlias, TypeVar

from pydantic import JsonValue

from simulator.base.python_source import parsed

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
Classes: TypeAlias = dict[str, ast.ClassDef]
T = TypeVar("T")

CONTEXTS = frozenset({"ToolContext", "Context", "CallbackContext", "InvocationContext", "ReadonlyContext"})
"""The types of the parameters that ADK fills by itself."""

# The first row whose word is a word of the parameter's name, or is its name, applies.
TEXTS: tuple[tuple[str, str], ...] = (
    ("email", "ana@example.com"), ("phone", "+14155550123"), ("url", "https://example.com"),
    ("from_currency", "USD"), ("currency_from", "USD"), ("to_currency", "EUR"), ("currency_to", "EUR"),
    ("currency", "USD"), ("base", "USD"), ("target", "EUR"), ("origin", "London"), ("source", "London"),
    ("destination", "Paris"), ("city", "Paris"), ("location", "London"), ("country", "France"),
    ("timezone", "Europe/Paris"), ("date", "2025-06-15"), ("time", "14:30"), ("language", "en"),
    ("operation", "add"), ("operator", "+"), ("expression", "2 + 3 * 4"), ("unit", "celsius"),
    ("ticker", "GOOG"), ("symbol", "GOOG"), ("path", "notes.txt"), ("file", "notes.txt"),
    ("filename", "notes.txt"), ("json", '{"key": "value"}'), ("data", '{"key": "value"}'), ("code", "x = 1"),
    ("id", "A-1001"), ("status", "open"), ("priority", "high"), ("category", "general"), ("name", "Ana Silva"),
    ("query", "hello world"), ("text", "hello world"), ("message", "hello world"), ("topic", "science"),
    ("amount", "250"), ("price", "250"), ("number", "7"), ("value", "7"),
)  # fmt: skip
NUMBERS: tuple[tuple[str, float], ...] = (
    ("age", 30), ("year", 2025), ("month", 6), ("day", 15), ("hour", 14), ("minute", 30), ("limit", 3),
    ("count", 3), ("n", 3), ("amount", 250), ("price", 250), ("rate", 5), ("percent", 5), ("percentage", 5),
    ("years", 10), ("weight", 70), ("height", 175), ("lat", 48), ("latitude", 48), ("lon", 2),
    ("longitude", 2), ("temperature", 21), ("temp", 21), ("a", 3), ("b", 4), ("x", 3), ("y", 4),
)  # fmt: skip
LISTS = frozenset({"list", "List", "Sequence", "tuple", "set", "Iterable"})
LAST_TEXT, LAST_NUMBER = "sample", 7


def chosen(function: Function, calls: Iterable[ast.Call], classes: Classes) -> dict[str, JsonValue]:
    """Choose the arguments of a call.

    The first call in the repository that gives literals alone is taken as it is. Otherwise each parameter without a
    default gets the first of these: the first choice of its `Literal` or enum; the first quoted text, or number, in
    what the docstring says about it; the first row of the table that fits its name; what stands last for its type.

    Args:
        function: The tool.
        calls: The calls of a function of this name in the repository, in the order of files and lines.
        classes: The classes of the module, for parameters of their type.
    """
    for call in calls:
        given = _literals(function, call)
        if given is not None:
            return given
    told = _told(ast.get_docstring(function) or "")
    return {
        one.arg: _value(one.arg, one.annotation, told.get(one.arg, ""), classes) for one in required(function)
    }


def parameters(function: Function) -> list[ast.arg]:
    """Return the parameters that a model fills."""
    all_of_it = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    return [one for one in all_of_it if not is_context(one)]


def required(function: Function) -> list[ast.arg]:
    """Return the parameters that a model has to fill."""
    plain = [*function.args.posonlyargs, *function.args.args]
    first_default = len(plain) - len(function.args.defaults)
    named = zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True)
    wanted = [*plain[:first_default], *(one for one, default in named if default is None)]
    return [one for one in wanted if not is_context(one)]


def is_context(parameter: ast.arg) -> bool:
    """Return whether ADK fills a parameter by itself."""
    named = (
        set() if parameter.annotation is None else set(re.findall(r"\w+", ast.unparse(parameter.annotation)))
    )
    return parameter.arg in {"self", "cls", "tool_context"} or bool(named & CONTEXTS)


def _literals(function: Function, call: ast.Call) -> dict[str, JsonValue] | None:
    """Return the arguments of a call, if it gives all that is required, and literals alone."""
    names = [one.arg for one in parameters(function)]
    given = {
        **dict(zip(names, call.args, strict=False)),
        **{one.arg or "": one.value for one in call.keywords},
    }
    wanted = {one.arg for one in required(function)}
    if len(call.args) > len(names) or not wanted <= set(given) <= set(names) or not given:
        return None
    try:
        read = {name: ast.literal_eval(value) for name, value in given.items()}
    except (ValueError, SyntaxError, TypeError):
        return None
    return read if all(map(_is_json, read.values())) else None


def _is_json(value: object) -> bool:
    if isinstance(value, list):
        return all(map(_is_json, value))
    if isinstance(value, dict):
        return all(isinstance(key, str) and _is_json(one) for key, one in value.items())
    return value is None or isinstance(value, (str, int, float))


def _told(docstring: str) -> dict[str, str]:
    """Return what a docstring says about each parameter: from `name:` or `name (type):` to the next such line."""
    found: dict[str, str] = {}
    name = ""
    for line in docstring.splitlines():
        start = re.match(r"\s*[-*]?\s*(?::param\s+)?[`*]*(\w+)[`*]*\s*(?:\([^)]*\))?\s*:\s*(.*)", line)
        if start:
            name = start[1]
            found.setdefault(name, start[2])
        elif name and line.strip():
            found[name] += " " + line.strip()
        else:
            name = ""
    return found


def _value(name: str, annotation: ast.expr | None, told: str, classes: Classes) -> JsonValue:
    kind = "" if annotation is None else _kind(annotation)
    if annotation is not None and (choices := _choices(annotation, classes)):
        return choices[0]
    if kind in {"int", "float"}:
        return _number(kind, name, told)
    if annotation is None and (row := _row(name, NUMBERS, 0)):
        return int(row)
    made: dict[str, JsonValue] = {"bool": True, "dict": {"key": "value"}, "Dict": {"key": "value"}}
    if kind in classes:
        return _object(classes[kind], classes)
    if kind in LISTS:
        return _list(annotation, name, classes)
    return made[kind] if kind in made else _text(name, told)


def _number(kind: str, name: str, told: str) -> JsonValue:
    number = re.search(r"(?<![\w.])\d+(?:\.\d+)?(?![\w.]*\w)", told)
    found = float(number[0]) if number else _row(name, NUMBERS, LAST_NUMBER)
    return int(found) if kind == "int" else float(found)


def _text(name: str, told: str) -> str:
    quoted = re.search(r"\"([^\"]+)\"|(?<!\w)'([^']+)'(?!\w)|`([^`]+)`", told)
    return next(filter(None, quoted.groups())) if quoted else _row(name, TEXTS, LAST_TEXT)


def _row(name: str, table: tuple[tuple[str, T], ...], last: T) -> T:
    words = {name.lower(), *re.findall(r"[a-z]+", re.sub(r"([A-Z])", r"_\1", name).lower())}
    return next((value for word, value in table if word in words), last)


def _kind(annotation: ast.expr) -> str:
    """Return the name of a type, without `Optional`, `Annotated` and `| None`."""
    match annotation:
        case ast.Constant(value=str(text)):
            return _kind(parsed(text, "eval").body) if text.isidentifier() or "[" in text else text
        case ast.Subscript(value=ast.Name(id="Optional" | "Union" | "Annotated"), slice=inner):
            return _kind(inner.elts[0] if isinstance(inner, ast.Tuple) else inner)
        case ast.Subscript(value=value):
            return _kind(value)
        case ast.BinOp(left=left):
            return _kind(left)
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
    return ""


def _choices(annotation: ast.expr, classes: Classes) -> list[JsonValue]:
    for node in ast.walk(annotation):
        if isinstance(node, ast.Subscript) and _kind(node) == "Literal":
            inner = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            return [one.value for one in inner if isinstance(one, ast.Constant) and _is_json(one.value)]  # type: ignore[misc]  # just checked
    made = classes.get(_kind(annotation))
    if made is None or not any("Enum" in ast.unparse(base) for base in made.bases):
        return []
    values = [one.value for one in made.body if isinstance(one, ast.Assign)]
    return [one.value for one in values if isinstance(one, ast.Constant) and _is_json(one.value)]  # type: ignore[misc]  # just checked


def _object(made: ast.ClassDef, classes: Classes) -> JsonValue:
    fields = [one for one in made.body if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name)]
    others = {name: one for name, one in classes.items() if name != made.name}
    return {
        ast.unparse(one.target): _value(ast.unparse(one.target), one.annotation, "", others)
        for one in fields
        if one.value is None or (isinstance(one.value, ast.Call) and "..." in ast.unparse(one.value))
    }


def _list(annotation: ast.expr | None, name: str, classes: Classes) -> JsonValue:
    inner = next((one.slice for one in ast.walk(annotation or ast.Pass()) if _is_list_of(one)), None)  # type: ignore[attr-defined]  # a Subscript
    kind = "" if inner is None else _kind(inner)
    if kind in {"int", "float"}:
        return [3, 1, 2] if kind == "int" else [3.5, 1.0, 2.5]
    if kind in {"dict", "Dict"}:
        return [{"name": "alpha", "value": 3}, {"name": "beta", "value": 4}]
    if inner is not None and kind in classes:
        return [_value(name, inner, "", classes)]
    return ["alpha", "beta"]


def _is_list_of(node: ast.AST) -> bool:
    return isinstance(node, ast.Subscript) and _kind(node) in LISTS
