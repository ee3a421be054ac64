"""Finds the words of people and agents in the texts that ADK frames for models. What is not framed as ADK does it stays as it is."""

from __future__ import annotations

import re
from typing import NamedTuple

_OTHER_AGENT = "For context: below is a transcript of what another agent did"
_QUOTE = re.compile(
    r"(\[[^\n]*):\n<<<BEGIN_QUOTED_AGENT_CONTENT>>>\n(.*)\n<<<END_QUOTED_AGENT_CONTENT>>>", re.DOTALL
)
_CONFIRM = re.compile(
    r"Please approve or reject the tool call [^\n]*\(\) by responding with a FunctionResponse with an expected ToolConfirmation payload\."
)


class Quote(NamedTuple):
    """What another agent did, as `[claims] said`, and its words."""

    who: str
    words: str


def quotes(parts: object) -> tuple[Quote, ...] | None:
    """Return what a message quotes of another agent; None where it is not such a message, or has more in it."""
    texts = [
        part.get("text") if isinstance(part, dict) else None
        for part in (parts if isinstance(parts, (list, tuple)) else ())
    ]
    if not texts or not str(texts[0]).startswith(_OTHER_AGENT):
        return None
    found = [_QUOTE.fullmatch(text) for text in texts[1:] if isinstance(text, str)]
    made = tuple(Quote(each[1], each[2]) for each in found if each is not None)
    return made if made and len(made) == len(texts) - 1 else None


def is_own_question(hint: str) -> bool:
    """Return whether a question for a confirmation is the one that ADK asks of a program, as the tool has none of its own."""
    return _CONFIRM.fullmatch(hint.strip()) is not None
