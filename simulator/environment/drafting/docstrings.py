"""Reads from a tool's description what the tool returns: the fields it names, or an example that it shows."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator

from pydantic import JsonValue

from simulator.environment.conventions.answers import is_error
from simulator.environment.conventions.chance import Chance
from simulator.environment.drafting import plausible
from simulator.environment.drafting.coherence import coherent
from simulator.environment.drafting.told_choices import told_choices
from simulator.jsonvalue import NotJsonError, copied

_SECTION = re.compile(
    r"^[ \t]*(?:Returns?:[ \t]*|Returns?[ \t]*\n[ \t]*-{3,}[ \t]*\n|:returns?:[ \t]*|@returns?:?[ \t]*|Yields?:[ \t]*)(.*)",
    re.DOTALL | re.MULTILINE,
)
_NEXT_SECTION = re.compile(
    r"\n[ \t]*(?:(?:Raises|Args|Arguments|Parameters|Examples?|Notes?|Warnings?|Todo|See Also)[ \t]*(?::|\n[ \t]*-{3,})"
    r"|[:@](?:raises?|param|type|rtype|note)\b)"
)
_SENTENCE = re.compile(r"\bReturns?\b(.*)", re.DOTALL)
_PAIR = re.compile(r"""["'`]([A-Za-z_]\w*)["'`]\s*[:=]\s*["'`]([^"'`\n]*)["'`]""")
_QUOTED = re.compile(r"""["'`]([A-Za-z_]\w*)["'`]""")
_LINE = re.compile(
    r"^[ \t]*(?:[-*][ \t]+)?[`'\"]?([A-Za-z_]\w*)[`'\"]?(?:[ \t]*\(([^)\n]*)\))?[ \t]*:[ \t]+\S", re.MULTILINE
)
_LIST = re.compile(r"^\W*(?:an? |the )?(?:json )?(?:list|array)\b", re.IGNORECASE)
_VALUES = frozenset(
    {"success", "error", "ok", "failed", "failure", "true", "false", "none", "null", "pending", "not_found"}
    | {
        "True",
        "False",
        "None",
        "str",
        "int",
        "float",
        "bool",
        "dict",
        "list",
        "any",
        "Any",
        "string",
        "number",
    }
)
_TYPES = frozenset(
    {"dict", "list", "str", "string", "int", "float", "bool", "object", "json", "tuple", "array"}
)
_OPENERS = {"{": "}", "[": "]"}
_LONGEST_EXAMPLE = 4_000


def returned_example(description: str, chance: Chance) -> JsonValue:
    """Give a value of the shape that a description tells of; None where it tells of none.

    Args:
        description: A docstring in Google's, NumPy's or Sphinx's form, or a plain description.
        chance: Decides the values of fields of which only the name is told.
    """
    told = told_of(description)
    if not told:
        return None
    shown = _shown(told)
    if shown is not None:
        return _filled(shown, "", chance)
    told, choices = told_choices(told)
    pairs: dict[str, str] = dict(_PAIR.findall(told))
    pairs |= {name: chance.choice(f"choice:{name}", among) for name, among in choices.items()}
    names = [*pairs, *(name for name, _ in _LINE.findall(told)), *_QUOTED.findall(_PAIR.sub(" ", told))]
    wanted = list(dict.fromkeys(name for name in names if name not in _VALUES and name not in _TYPES))
    if not wanted:
        return None
    if _LIST.match(told):
        return [_record(wanted, {}, Chance(str(chance.number(f"item:{index}", 2**31)))) for index in range(2)]
    return _record(wanted, pairs, chance)


def _record(names: list[str], pairs: dict[str, str], chance: Chance) -> JsonValue:
    record: JsonValue = {
        name: _filled(pairs[name], name, chance) if name in pairs else plausible.by_name(name, chance)
        for name in names
    }
    return coherent(record, pairs, chance)


def told_of(description: str) -> str:
    """Give what a description says of what is returned; an empty text where it says nothing."""
    section = _SECTION.search(description)
    if section is not None:
        return _NEXT_SECTION.split(section.group(1), maxsplit=1)[0].strip()
    sentence = _SENTENCE.search(description)
    return _NEXT_SECTION.split(sentence.group(1), maxsplit=1)[0].strip() if sentence else ""


def shown_example(description: str) -> bool:
    """Tell whether a description shows what is returned as a literal."""
    return _shown(told_of(description)) is not None


def shown_values(text: str) -> Iterator[JsonValue]:
    """Give the JSON or Python literals of objects and lists that a text shows, in order."""
    for start in (match.start() for match in re.finditer(r"[{\[]", text)):
        literal = _balanced(text[start : start + _LONGEST_EXAMPLE])
        value = _literal(literal) if literal else None
        if isinstance(value, (dict, list)) and value:
            yield value


def _shown(told: str) -> JsonValue:
    """Find the first literal of an object or a list of objects in a text; one of an error only where there is no other."""
    values = [value for value in shown_values(told) if isinstance(value, dict) or isinstance(value[0], dict)]  # type: ignore[index] # a list with an item
    return next((value for value in values if not is_error(value)), values[0] if values else None)


def _balanced(text: str) -> str:
    open_ones: list[str] = []
    quote = ""
    for index, letter in enumerate(text):
        if quote:
            quote = "" if letter == quote and text[index - 1] != "\\" else quote
        elif letter in "\"'":
            quote = letter
        elif letter in _OPENERS:
            open_ones.append(_OPENERS[letter])
        elif open_ones and letter == open_ones[-1]:
            open_ones.pop()
            if not open_ones:
                return text[: index + 1]
    return ""


def _literal(text: str) -> JsonValue:
    plain = re.sub(r",?\s*\.\.\.", "", text)
    for read in (json.loads, ast.literal_eval):
        try:
            value: JsonValue = copied(read(plain))
        except (ValueError, SyntaxError, NotJsonError, RecursionError, MemoryError):
            continue
        return value
    return None


def _filled(shown: JsonValue, name: str, chance: Chance) -> JsonValue:
    """Keep what an example says; replace what only stands for a value."""
    match shown:
        case dict():
            return {key: _filled(value, key, chance) for key, value in shown.items()}
        case list():
            singular = name[:-1] if name.endswith("s") and len(name) > 1 else name
            return [_filled(value, singular, chance) for value in shown]
        case str() if (
            shown in _TYPES or not shown.strip(". ") or re.fullmatch(r"<[^>]*>|\[[^\]]*\]|\{[^}]*\}", shown)
        ):
            return plausible.by_name(name, chance)
        case _:
            return shown
