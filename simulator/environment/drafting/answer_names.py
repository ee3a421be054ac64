"""Names what a tool answers with: "Get the name of a user." gives `name`, `count_orders` a count of orders."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from simulator.environment.conventions.kinds import singular
from simulator.environment.conventions.names import words_of
from simulator.environment.conventions.roles import role_of
from simulator.environment.drafting.docstrings import told_of
from simulator.environment.drafting.plausible import is_telling

_ASKED = re.compile(
    r"^\W*(?:this tool )?(?:gets?|fetch(?:es)?|returns?|finds?|looks? up|retrieves?|gives?|tells?|calculates?|computes?|shows?"
    r"|estimates?|determines?|lists?|reads?|checks?|queries|provides?|summari[sz]es?|describes?|explains?|searches?)"
    r"(?: for)?\s+(?:me )?(?:(?:the|an?|all|its|any|some)\s+)*(?P<what>[^.\n:;,(]+)",
    re.IGNORECASE,
)
_ENDS = re.compile(
    r"\b(?:of|for|in|from|between|to|by|at|on|that|which|with|given|after|before|using|as|when|if|who|and|or|per|into)\b"
)
_WEAK = frozenset(
    {
        "current",
        "latest",
        "total",
        "list",
        "full",
        "free",
        "given",
        "available",
        "new",
        "all",
        "the",
        "a",
        "an",
        "own",
    }
    | {
        "string",
        "text",
        "number",
        "value",
        "int",
        "float",
        "str",
        "bool",
        "integer",
        "plain",
        "formatted",
        "human",
    }
    | {
        "readable",
        "single",
        "short",
        "brief",
        "medical",
        "exact",
        "average",
        "estimated",
        "actual",
        "matching",
        "s",
    }
)
_LINKS = frozenset({"of", "for", "by", "in", "from", "with", "to", "on", "at", "between", "per", "and"})
_ASKING = frozenset({"what", "how", "which", "whether", "who", "where", "when", "everything", "anything"})
_COUNTS = frozenset({"count", "number"})
_MOST_WORDS = 4


class AnswerName(NamedTuple):
    """What an answer that is a plain value is called, and the words that say so.

    `is_telling` says whether the name tells what such a value looks like.
    """

    name: str
    phrase: str
    is_telling: bool


@lru_cache(maxsize=512)
def answer_name(tool_name: str, description: str = "") -> AnswerName:
    """Name what a tool answers with, by what its description says, else by its own name."""
    if set(words_of(tool_name)[:1]) & {"count"} or set(words_of(tool_name)[-1:]) & _COUNTS:
        return AnswerName("count", "count", is_telling=True)
    reads = role_of(tool_name, description).use == "reads"
    texts = (
        (_returned(description), _asked(description), _of_tool(tool_name))
        if reads
        else (_returned(description),)
    )
    found = [_phrase(text) for text in texts if text]
    named = [(_name(phrase), phrase) for phrase in found if phrase]
    for name, phrase in named:
        if name and is_telling(name):
            return AnswerName(name, phrase, is_telling=True)
    name, phrase = named[-1] if named else ("", "")
    return AnswerName(name, phrase, is_telling=False)


def _returned(description: str) -> str:
    told = told_of(description)
    first = re.split(r"\.(?=\s|$)|\n", told, maxsplit=1)[0]
    first = re.sub(r"^(?:list\[\w*\]|\w+)\s*:\s*", "", first)
    return re.sub(
        r"^(?:(?:the|an?|list of|array of|string with|text with)\s+)+", "", first.strip(), flags=re.IGNORECASE
    )


def _asked(description: str) -> str:
    found = _ASKED.match(description.strip())
    return found.group("what") if found else ""


def _of_tool(tool_name: str) -> str:
    words = words_of(tool_name)
    role = role_of(tool_name)
    verb = words.index(role.verb) if role.verb in words else -1
    rest = words[verb + 1 :] or words
    end = next((place for place, word in enumerate(rest) if word in _LINKS and place), len(rest))
    return " ".join(rest[:end])


def _phrase(text: str) -> str:
    """Give the words before the first preposition, where they are few enough to be a name."""
    before = _ENDS.split(text, maxsplit=1)[0].strip().lower()
    words = before.split()
    return before if 0 < len(words) <= _MOST_WORDS and words[0] not in _ASKING else ""


def _name(phrase: str) -> str:
    words = [word for word in words_of(phrase) if word not in _WEAK] or list(words_of(phrase))
    return "_".join((*words[:-1], singular(words[-1]))) if words else ""
