"""Reads from a text which values a field may have: "status: 'placed' or 'failed'", "`mode`: one of 'heat', 'cool'"."""

from __future__ import annotations

import re
from functools import lru_cache

_VALUE = r"""["'`][\w -]{1,40}["'`]"""
_CHOICES = re.compile(
    rf"""["'`]*\b([A-Za-z_]\w*)["'`]*\s*[(:=,]?\s*((?:(?:which|that|is|are|being|can|may|must|be)\s+)*"""
    rf"""(?:(?:either|one\s+of|any\s+of)\s*:?\s*)?)({_VALUE}(?:\s*(?:,\s*or\b|,|\bor\b|\||/)\s*{_VALUE})+)\)?""",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"""["'`]([\w -]{1,40})["'`]""")
_EITHER = re.compile(r"\bor\b|\||/|\beither\b|\bof\b", re.IGNORECASE)
_NO_FIELDS = frozenset(
    {
        "keys",
        "key",
        "fields",
        "field",
        "columns",
        "attributes",
        "properties",
        "values",
        "with",
        "has",
        "have",
        "having",
    }
    | {
        "contain",
        "contains",
        "containing",
        "include",
        "includes",
        "including",
        "returns",
        "return",
        "of",
        "the",
        "a",
    }
    | {
        "either",
        "one",
        "any",
        "is",
        "are",
        "and",
        "or",
        "dict",
        "list",
        "object",
        "as",
        "like",
        "be",
        "for",
        "in",
    }
)


@lru_cache(maxsize=512)
def told_choices(text: str) -> tuple[str, dict[str, tuple[str, ...]]]:
    """Give a text with the choices taken out of it, and them, by the names of their fields.

    Choices are quoted and joined by "or", "|" or "/", or stand behind "one of" or "either": a list of quoted words alone
    may be the names of fields. Where a field stood with its choices, its quoted name is left. Must not be changed.
    """
    found: dict[str, tuple[str, ...]] = {}

    def taken(match: re.Match[str]) -> str:
        name, lead, values = match.groups()
        between = _QUOTED.sub(" ", values)
        if name.lower() in _NO_FIELDS or not _EITHER.search(f"{lead} {between}"):
            return match.group(0)
        found[name] = tuple(dict.fromkeys(_QUOTED.findall(values)))
        return f'"{name}"'

    return _CHOICES.sub(taken, text), found
