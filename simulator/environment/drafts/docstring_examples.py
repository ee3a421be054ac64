"""Reads the examples that a tool's docstring shows: outputs behind `>>>`, and literals under `Returns:` and `Example:`."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from pydantic import JsonValue

from simulator.base.json_values import JsonObject, NotJsonError, copied, same
from simulator.base.python_source import literal, parsed
from simulator.environment.drafts.blanks import kind_of
from simulator.environment.evidence.sketch import Hole, Sketch
from simulator.environment.evidence.value_sketches import shape_of

_SECTION = re.compile(
    r"^[ \t]*(?:(?:Returns?|Yields?|Examples?|Example response|Response)[ \t]*(?::|\n[ \t]*-{3,})|[:@](?:returns?|return)\b:?)(.*?)"
    r"(?=^[ \t]*(?:(?:Raises|Args|Arguments|Parameters|Returns?|Examples?|Notes?|Warnings?|See Also)[ \t]*(?::|\n[ \t]*-{3,})"
    r"|[:@](?:raises?|param|type|rtype)\b)|\Z)",
    re.DOTALL | re.MULTILINE,
)
_PROMPT = re.compile(
    r"^[ \t]*>>> ?(.*(?:\n[ \t]*\.\.\. ?.*)*)\n((?:(?![ \t]*(?:>>>|$)).*\n?)+)", re.MULTILINE
)
_STANDS_FOR = re.compile(r"<[^<>]*>|\[[^\[\]]*\]|\{[^{}]*\}|\.{2,}|\u2026")
_TYPES = {"str": "string", "string": "string", "int": "integer", "integer": "integer", "float": "number", "number": "number",
          "bool": "boolean", "boolean": "boolean", "dict": "object", "object": "object", "list": "array", "array": "array"}  # fmt: skip
_CLOSERS = {"{": "}", "[": "]"}
_LONGEST = 4_000


def shown_answer(description: str, arguments: JsonObject, parameters: Sequence[str]) -> Sketch | None:
    """Return the answer to a call that a docstring shows: of another call's, only the shape. None where it shows none.

    Args:
        description: The docstring.
        arguments: The call's arguments, which stand in the example's fields of the same names.
        parameters: The names of the tool's parameters, in order.
    """
    shape: Sketch | None = None
    for said, value in _prompted(description):
        asked = _arguments(said, parameters)
        if asked is not None and same(asked, arguments):
            return value  # type: ignore[return-value] # JSON is a sketch without holes
        shape = shape or shape_of(value)
    if shape is not None:
        return shape
    found = next(iter(_literals(description)), None)
    return None if found is None else example(found, "", arguments)


@lru_cache(maxsize=256)
def _prompted(description: str) -> tuple[tuple[str, JsonValue], ...]:
    """Return the calls behind `>>>` with what they print."""
    found = [(call, literal_of(output.strip())) for call, output in _PROMPT.findall(description)]
    return tuple(
        (re.sub(r"\n[ \t]*\.\.\. ?", "\n", call), value) for call, value in found if value is not None
    )


@lru_cache(maxsize=256)
def _literals(description: str) -> tuple[JsonValue, ...]:
    """Return the objects and lists that stand in the sections about what is returned; errors are not told apart."""
    texts = [text for text in _SECTION.findall(description) if ">>>" not in text]
    return tuple(value for text in texts for value in shown_values(text))


def shown_values(text: str) -> Iterator[JsonValue]:
    """Yield the JSON or Python literals of objects and lists that a text shows, in order."""
    end = 0
    for match in re.finditer(r"[{\[]", text):
        literal = _balanced(text[match.start() : match.start() + _LONGEST]) if match.start() >= end else ""
        value = literal_of(literal) if literal else None
        if isinstance(value, (dict, list)) and value:
            end = match.start() + len(literal)
            yield value


def _balanced(text: str) -> str:
    open_ones: list[str] = []
    quote = ""
    for index, letter in enumerate(text):
        if quote:
            quote = "" if letter == quote and text[index - 1] != "\\" else quote
        elif letter in "\"'":
            quote = letter
        elif letter in _CLOSERS:
            open_ones.append(_CLOSERS[letter])
        elif open_ones and letter == open_ones[-1]:
            open_ones.pop()
            if not open_ones:
                return text[: index + 1]
    return ""


def literal_of(text: str) -> JsonValue:
    """Read a JSON or Python literal; None where it is none."""
    for read in (json.loads, literal):
        try:
            value: JsonValue = copied(read(re.sub(r",?\s*\.\.\.(?=\s*[\]}])", "", text)))
        except (ValueError, SyntaxError, TypeError, NotJsonError, RecursionError, MemoryError):
            continue
        return value
    return None


def _arguments(call: str, parameters: Sequence[str]) -> JsonObject | None:
    """Return the arguments of a call that is written out; None where they are no literals."""
    try:
        node = parsed(call.strip(), "eval").body
        node = node.value if isinstance(node, ast.Await) else node
        if not isinstance(node, ast.Call) or any(one.arg is None for one in node.keywords):
            return None
        placed = dict(zip(parameters, (ast.literal_eval(one) for one in node.args), strict=False))
        return {**placed, **{str(one.arg): ast.literal_eval(one.value) for one in node.keywords}}
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return None


def example(shown: JsonValue, name: str, arguments: JsonObject) -> Sketch:
    """Keep what an example says, but for what the call says itself, and for what only stands for a value."""
    if isinstance(shown, dict):
        return {key: example(value, key, arguments) for key, value in shown.items()}
    if isinstance(shown, list):
        return [example(value, "", arguments) for value in shown]
    said = arguments.get(name)
    if said is not None and kind_of(said) == kind_of(shown):
        return said  # type: ignore[return-value] # it is plain
    if isinstance(shown, str) and (shown in _TYPES or _STANDS_FOR.fullmatch(shown)):
        return Hole(_TYPES.get(shown, "string"), name)  # type: ignore[arg-type] # they are kinds
    return shown
