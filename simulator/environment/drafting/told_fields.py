"""Reads from the prose of a description which fields an answer has: "a dict with the ticket_id and the status"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from pydantic import JsonValue

from simulator.environment.conventions.kinds import is_collection
from simulator.environment.conventions.names import words_of
from simulator.environment.drafting.docstrings import told_of
from simulator.environment.drafting.told_choices import told_choices
from simulator.jsonvalue import JsonObject

_LEAD = re.compile(
    r"\b(?:with|contain(?:s|ing)?|includ(?:es|ing)|having|has|holding|holds|consist(?:s|ing) of|comprising|made of"
    r"|keys|fields|attributes)\b(?:\s+(?:the|these|this|following|keys?|fields?|attributes|properties|columns|at least"
    r"|both|are|its|their))*\s*:?\s*",
    re.IGNORECASE,
)
_EACH = re.compile(
    r",?\s*\(?\b(?:each|every one|all of them)(?:\s+\w+)?\s+(?:with|contain(?:s|ing)|having|has|including|of which has)\b\s*:?\s*",
    re.IGNORECASE,
)
_RETURNED_TYPE = re.compile(
    r"^(?:dict|list|object|json|tuple|array|dictionary)(?:\[[^\n]*\])?(?:\s*:\s*|[ \t]*\n\s*)", re.IGNORECASE
)
_LIST = re.compile(
    r"^\W*(?:an? |the |all )?(?:json |python |matching |sorted )*(?:list|array|sequence)s?\b", re.IGNORECASE
)
_SENTENCE_END = re.compile(r"\.(?=\s|$)|\n\s*\n")
_BETWEEN = re.compile(
    r"(?:,\s*(?:and\s+|or\s+)?|\s+and\s+|\s+plus\s+|\s+as well as\s+|\s+along with\s+|;\s*|\n\s*[-*]\s+)(?![^(]*\))"
)
_BRACKETS = re.compile(r"\(([^)]*)\)")
_TOKEN = re.compile(r"[\"'`]+([A-Za-z_]\w*)[\"'`]+|\b([A-Za-z][A-Za-z0-9]*_\w+|[a-z]+[A-Z][A-Za-z0-9]*)\b")
_LINE = re.compile(
    r"^[ \t]*(?:[-*\u2022][ \t]+)?[`'\"]*([A-Za-z_]\w*)[`'\"]*(?:[ \t]*\(([^)\n]*)\))?[ \t]*:[ \t]*(\S[^\n]*)",
    re.MULTILINE,
)
_STOP = re.compile(
    r"\b(?:of|for|in|from|that|which|when|where|if|on|as|per|to|by|at|with|who|whose|using|given|between|after|before)\b"
)
_START = re.compile(
    r"^(?:(?:an?|the|its|their|his|her|all|any|optional(?:ly)?|each|current|following|also|new|resulting|corresponding|unique|full"
    r"|both|short|latest)\s+)+",
    re.IGNORECASE,
)
_POSSESSIVE = re.compile(r"^.*['\u2019]s?\s+(?=\w)")
_WHOLE = (
    "date of birth",
    "time of day",
    "time of arrival",
    "time of departure",
    "point of contact",
    "terms of service",
)
_GENERIC = frozenset(
    {
        "details",
        "detail",
        "information",
        "info",
        "data",
        "result",
        "results",
        "response",
        "dict",
        "dictionary",
        "list",
    }
    | {
        "object",
        "json",
        "string",
        "key",
        "keys",
        "field",
        "fields",
        "value",
        "values",
        "more",
        "so",
        "etc",
        "none",
        "error",
    }
    | {
        "errors",
        "otherwise",
        "success",
        "true",
        "false",
        "null",
        "other",
        "others",
        "things",
        "none",
        "everything",
        "it",
    }
    | {
        "them",
        "this",
        "that",
        "return",
        "returns",
        "output",
        "outcome",
        "nothing",
        "int",
        "str",
        "float",
        "bool",
    }
)
_NO_ENDS = frozenset(
    {"details", "information", "info", "data", "dict", "object", "objects", "dictionary", "results"}
)
_TYPES: dict[str, str] = {
    "str": "string", "string": "string", "text": "string", "int": "integer", "integer": "integer", "float": "number",
    "number": "number", "decimal": "number", "bool": "boolean", "boolean": "boolean",
}  # fmt: skip
EXAMPLE = re.compile(
    r"\b(?:e\.g\.|for example|such as|like)[,:]?\s+[\"'`]?([\w:+/@.,\u20ac$#-]*\d[\w:+/@.\u20ac$#-]*\w)"
)
"""What a text gives for example of a value: `e.g. 07:00-10:30`. It has a digit, as words may be anything."""
_MOST_WORDS = 3
_MOST_FIELDS = 30


@lru_cache(maxsize=512)
def told_schema(description: str) -> JsonObject | None:
    """Give the schema of an answer whose fields a description tells by their names; None where it tells of none.

    It is that of an object, or of a list of objects where the description says so. Fields of which no type is told may
    hold anything. Must not be changed, as it is kept.

    Args:
        description: A docstring in Google's, NumPy's, Sphinx's or Epytext's form, or a plain description.
    """
    told = told_of(description)
    if not told:
        return None
    record = _record(told)
    if not record:
        return None
    schema = _object(record)
    return {"type": "array", "items": schema} if _LIST.match(_without_type(told)) else schema


def _object(fields: dict[str, JsonObject]) -> JsonObject:
    return {"type": "object", "properties": dict(fields), "required": list(fields)}


def _without_type(told: str) -> str:
    return _RETURNED_TYPE.sub("", told, count=1).strip()


def _record(told: str) -> dict[str, JsonObject]:
    """Give the fields that lines tell of, one each, or else those that a sentence lists."""
    lines = {
        name: {**_typed(kind or "", rest), **_chosen(rest)}
        for name, kind, rest in _LINE.findall(told)
        if _is_field(name)
    }
    plain, choices = told_choices(_without_type(told))
    sentence = " ".join(_SENTENCE_END.split(plain, maxsplit=1)[0].split())
    listed = _listed(sentence)
    for name in choices.keys() & listed.keys():
        listed[name] = {"enum": list(choices[name])}
    return lines if len(lines) >= max(len(listed), 2) else listed


def _listed(sentence: str) -> dict[str, JsonObject]:
    lead = _LEAD.search(sentence)
    each = _outside(sentence)
    if each is not None and _LIST.match(sentence) and (lead is None or each.start() <= lead.start()):
        return _phrases(sentence[each.end() :])
    if lead is not None and (each is None or lead.start() < each.start()):
        return _phrases(sentence[lead.end() :])
    found = _phrases(sentence)
    return found if _TOKEN.search(sentence) or each is not None or len(found) > 1 else {}


def _phrases(body: str) -> dict[str, JsonObject]:
    """Give the fields of a list in words; what stands behind "each with" are those of the last one."""
    each = _outside(body)
    fields: dict[str, JsonObject] = {}
    for phrase in _BETWEEN.split(body[: each.start()] if each else body):
        found = _field(phrase)
        if found is not None and len(fields) < _MOST_FIELDS:
            fields.setdefault(*found)
    if each and fields:
        inner = _phrases(body[each.end() :])
        last = next(reversed(fields))
        if inner:
            fields[last] = {"type": "array", "items": _object(inner)}
    return fields


def _outside(text: str) -> re.Match[str] | None:
    """Find an "each with" that stands in no brackets."""
    return next(
        (
            one
            for one in _EACH.finditer(text)
            if text.count("(", 0, one.end()) == text.count(")", 0, one.end())
        ),
        None,
    )


def _field(phrase: str) -> tuple[str, JsonObject] | None:
    """Give the name and the schema of a field that some words tell of; None where they tell of none."""
    said = _BRACKETS.search(phrase)
    schema = _bracketed(said.group(1)) if said else {}
    plain = _BRACKETS.sub(" ", phrase).strip(" \t\n.:;\u2013-")
    token = _TOKEN.search(plain)
    if token:
        name = token.group(1) or token.group(2)
        return (name, schema or _listing(plain)) if _is_field(name) else None
    if plain.lower().startswith("whether "):
        words = [
            word for word in words_of(plain)[1:] if word not in {"it", "the", "a", "is", "was", "they", "are"}
        ]
        return (f"is_{words[-1]}", {"type": "boolean"}) if words else None
    listing = _listing(plain)
    plain = re.sub(r"^(?:an? |the )?(?:list|array)s? of ", "", plain, flags=re.IGNORECASE)
    name = _name(plain)
    if name is None:
        return None
    return name, schema or listing or ({"type": "array"} if _is_several(name) else {})


def _bracketed(said: str) -> JsonObject:
    """Read what stands in brackets behind a field: its type, or the fields of each of its items."""
    each = _EACH.match(said) or re.match(r"(?:list|array)s? of \w+ with ", said)
    inner = _phrases(said[each.end() :]) if each else {}
    return {"type": "array", "items": _object(inner)} if inner else _typed(said, "")


def _name(plain: str) -> str | None:
    """Make the name of a field of some plain words: `the customer's name` gives `name`."""
    words = _START.sub("", plain.strip().lower())
    if words.startswith("number of "):
        counted = words_of(_STOP.split(words.removeprefix("number of "), maxsplit=1)[0])
        return "_".join(("number_of", *counted)) if 0 < len(counted) <= _MOST_WORDS else None
    if words not in _WHOLE:
        words = _POSSESSIVE.sub("", _STOP.split(words, maxsplit=1)[0]).strip()
    parts = words_of(_START.sub("", words))
    if not 0 < len(parts) <= _MOST_WORDS or not re.fullmatch(r"[a-z][a-z0-9 \-_]*", words):
        return None
    name = "_".join(parts)
    if parts[-1] in _NO_ENDS:
        return None
    return name if _is_field(name) else None


def _is_field(name: str) -> bool:
    words = set(words_of(name))
    return bool(words) and not words <= _GENERIC and "error" not in words and name.lower() not in _GENERIC


def _is_several(name: str) -> bool:
    return is_collection(name) and not set(words_of(name)) & {
        "status",
        "address",
        "details",
        "minutes",
        "hours",
        "days",
    }


def _listing(plain: str) -> JsonObject:
    return {"type": "array"} if re.match(r"(?:an? |the )?(?:list|array)s? of ", plain, re.IGNORECASE) else {}


def _typed(kind: str, rest: str) -> JsonObject:
    """Give the schema of what stands for a type, in brackets behind a field or as all that its line says."""
    for said in (kind, rest):
        for word in _words_of_type(said, whole=said is rest):
            if word in _TYPES:
                return {"type": _TYPES[word]}
            if word in {"list", "array"}:
                inner = re.search(r"(?:\[|of )\s*(\w+)", said)
                item = _TYPES.get(inner.group(1).lower().removesuffix("s")) if inner else None
                return {"type": "array", "items": {"type": item}} if item else {"type": "array"}
            if word in {"dict", "object"}:
                return {"type": "object"}
    return {}


def _chosen(rest: str) -> JsonObject:
    """Read the values that a line quotes, or gives for example."""
    quoted: list[JsonValue] = list(dict.fromkeys(re.findall(r"[\"'`]([\w -]{1,40})[\"'`]", rest)))
    if len(quoted) > 1:
        return {"enum": quoted}
    example = EXAMPLE.search(rest)
    return {"examples": [example.group(1)]} if example and not example.group(1).isdecimal() else {}


def _words_of_type(said: str, *, whole: bool) -> Iterator[str]:
    words = re.findall(r"[a-z]+", said.lower())
    if words and (not whole or len(words) <= _MOST_WORDS):
        yield words[0]
