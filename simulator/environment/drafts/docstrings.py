"""Reads docstrings: what one says of single fields, and the examples that it shows.

English is not read for its meaning: only literals count that stand right behind a fixed word, such as `one of 'open', 'closed'`.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Literal, TypeAlias

from pydantic import JsonValue

from simulator.base.json_values import JsonObject, NotJsonError, copied, same
from simulator.base.python_source import literal, parsed
from simulator.environment.conventions import names_day
from simulator.environment.drafts.draft import kind_of
from simulator.environment.evidence.sketch import Hole, Sketch
from simulator.environment.evidence.value_sketches import shape_of

Part: TypeAlias = Literal["arguments", "response"]

_LONGEST = 20_000
"""What a text says behind so many letters is not read."""
_SECTIONS: dict[str, Part | None] = {
    **dict.fromkeys(("args", "arguments", "parameters", "params", "keyword args"), "arguments"),
    **dict.fromkeys(("returns", "return", "response"), "response"),
    **dict.fromkeys(
        ("raises", "yields", "example", "examples", "note", "notes", "warning", "warnings"), None
    ),
}
_HEAD = re.compile(r"^([ \t]*)([A-Za-z]+(?: [Aa]rgs)?):[ \t]*$")
_ENTRY = re.compile(
    r"^([ \t]*)(?:[-*][ \t]+)?[`*'\"]{0,2}([A-Za-z_]\w*)[`*'\"]{0,2}[ \t]*(?:\([^()\n]*\))?[ \t]*:[ \t]+(\S.*)$"
)
_PARAM = re.compile(r"^([ \t]*):param\s+(?:[^:\n]*\s)?(\w+):[ \t]*(\S.*)$")

_QUOTED = r"""(?:'[^'\n]{1,60}'|"[^"\n]{1,60}"|`[^`\n]{1,60}`)"""
_AND = r"\s*(?:,\s*(?:or\b|and\b)?|\bor\b|\band\b|\||/)\s*"
_SEVERAL = rf"{_QUOTED}(?:{_AND}{_QUOTED})+"
_CHOICES = re.compile(
    rf"""(?<!\bnot\s)(?:\b(?:(?:one|any)\s+of|either|must\s+be|can\s+be|may\s+be
        |(?:valid|allowed|possible|accepted|supported)(?:\s+(?:values?|options?|choices?))?(?:\s+(?:are|is|include))?
        |values|options|choices)\b\s*[:=]?\s*(?:(?:one\s+of|either)\s*[:=]?\s*)?[(\[{{]?\s*(?P<named>{_SEVERAL}))
    |(?P<union>{_QUOTED}(?:\s*\|\s*{_QUOTED})+)""",
    re.IGNORECASE | re.VERBOSE,
)
_BARE = r"(?=[\w./:@-]*[\d@])[A-Za-z0-9][\w./:@-]*[A-Za-z0-9]"
"""A word without quotes is a literal where it has a digit or an `@`, as ids, dates and addresses have."""
_EXAMPLES = re.compile(
    rf"""(?:\be\.\s?g\.|\bfor\s+(?:example|instance)\b|\bsuch\s+as\b|\bexamples?\b\s*[:=]|\blike(?=\s+{_QUOTED})
        |\bas(?=\s+\d{{4}}-\d\d-\d\d\b))
    \s*[,:=]?\s*[(\[]?\s*(?P<found>(?:{_QUOTED}|{_BARE})(?:{_AND}(?:{_QUOTED}|{_BARE}))*)""",
    re.IGNORECASE | re.VERBOSE,
)
_DEFAULT = re.compile(
    rf"\bdefaults?\b(?:\s+value)?(?:\s+is|\s+to|\s*[:=])?\s*({_QUOTED}|-?\d+(?:\.\d+)?\b|[Tt]rue\b|[Ff]alse\b)",
    re.IGNORECASE,
)
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_ASKS_DAY = re.compile(r"YYYY-MM-DD(?!\W?[T ]?HH)", re.IGNORECASE)
_A_FORM = re.compile(r"YY|MM|DD|ISO|(?i:yyyy|timestamp|\bunix\b)")
_ADDRESS = re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63})+")
_LITERAL = re.compile(rf"{_QUOTED}|{_BARE}")


@lru_cache(maxsize=512)
def field_texts(docstring: str, part: Part = "arguments") -> Mapping[str, str]:
    """Return what a docstring says of each parameter, or of each field of the response, by the field's name.

    Sections are Google's (`Args:`, `Returns:`), or lines of Sphinx (`:param name: ...`).
    """
    found: dict[str, str] = {}
    for name, text in _entries(docstring, part):
        found.setdefault(name, text)
    return MappingProxyType(found)


def _entries(docstring: str, part: Part) -> Iterator[tuple[str, str]]:
    """Yield each field with its text; a line that is indented deeper goes on with the one above."""
    section: Part | None = None
    name, text, depth = "", "", 0
    for line in docstring[:_LONGEST].expandtabs().splitlines():
        indent = len(line) - len(line.lstrip())
        head, entry, param = _HEAD.match(line), _ENTRY.match(line), _PARAM.match(line)
        if head and head[2].lower() in _SECTIONS:
            section = _SECTIONS[head[2].lower()]
            found = None
        else:
            found = param if param and part == "arguments" else entry if section == part else None
        if name and (found is None or indent > depth) and line.strip() and indent > depth and not head:
            text = f"{text} {line.strip()}"
            continue
        if name:
            yield name, text
            name = ""
        if found:
            name, text, depth = found[2], found[3], indent
    if name:
        yield name, text


@lru_cache(maxsize=512)
def choices_in(text: str) -> tuple[str, ...]:
    """Return the values of which a field is said to have one, in their order; empty where fewer than two are written out."""
    found = _CHOICES.search(text[:_LONGEST])
    if found is None:
        return ()
    return tuple(dict.fromkeys(_bare(one) for one in re.findall(_QUOTED, found["named"] or found["union"])))


@lru_cache(maxsize=512)
def examples_in(text: str) -> tuple[str, ...]:
    """Return the values that a text gives as examples of a field."""
    found = (one for match in _EXAMPLES.finditer(text[:_LONGEST]) for one in _LITERAL.findall(match["found"]))
    return tuple(dict.fromkeys(_bare(one) for one in found))


def asks_for_date(schema: JsonObject, words: str, name: str = "") -> bool:
    """Return whether a field's schema or its words ask for a date as `YYYY-MM-DD`, or give nothing but such dates as examples.

    One with a `name` like that of a date counts as well, if nothing tells its form.
    """
    given, pattern = schema.get("examples"), str(schema.get("pattern") or "")
    examples = given if isinstance(given, list) else examples_in(words)
    has_dates = bool(examples) and all(_DAY.fullmatch(str(one)) for one in examples)
    is_pattern = pattern.strip("^$").replace("[0-9]", r"\d") == _DAY.pattern
    if schema.get("format") == "date" or is_pattern or has_dates or _ASKS_DAY.search(words):
        return True
    return names_day(name) and not (examples or pattern or schema.get("format") or _A_FORM.search(words))


def default_in(text: str) -> JsonValue:
    """Return the default that a text names as a literal; None where it names none."""
    found = _DEFAULT.search(text[:_LONGEST])
    if found is None:
        return None
    word = found[1]
    if word[0] in "'\"`":
        return _bare(word)
    value: JsonValue = literal(word.capitalize() if word[0] in "tTfF" else word)
    return value


def _bare(literal: str) -> str:
    return literal[1:-1] if literal[0] in "'\"`" and literal[-1] == literal[0] else literal


def shape_of_id(example: str) -> re.Pattern[str] | None:
    """Return what other ids like an example look like; None where it does not look like an id.

    Letters that stand together stay as they are, single ones may be others; a number may have another length where
    letters are around it.
    """
    if not (3 <= len(example) <= 60) or re.search(r"\s", example) or not re.search(r"[0-9@]", example):  # noqa: PLR2004 - shorter ones are numbers
        return None
    if "@" in example:
        return _ADDRESS
    parts = re.findall(r"[A-Z]+|[a-z]+|[0-9]+|[^A-Za-z0-9]", example)
    has_letters = any(part[0].isalpha() for part in parts)
    if not has_letters and len(example) < 4:  # noqa: PLR2004 - as above
        return None
    return re.compile(
        rf"(?<![\w-]){''.join(_alike(part, has_letters=has_letters) for part in parts)}(?![\w-])"
    )


def _alike(part: str, *, has_letters: bool) -> str:
    if part[0].isdigit():
        return r"\d+" if has_letters else rf"\d{{{len(part)}}}"
    if part.isalpha() and len(part) == 1:
        return "[A-Z]" if part.isupper() else "[a-z]"
    return re.escape(part)


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
_LONGEST_EXAMPLE = 4_000


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
        literal = (
            _balanced(text[match.start() : match.start() + _LONGEST_EXAMPLE]) if match.start() >= end else ""
        )
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
