"""Reads what a docstring says of single fields, and the choices, examples and defaults that it writes as literals. Pure.

English is not read for its meaning: only literals count that stand right behind a fixed word, such as `one of 'open', 'closed'`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Literal, TypeAlias

from pydantic import JsonValue

from simulator.base.python_source import literal

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
