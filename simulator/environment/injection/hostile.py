"""Keeps a library of texts that attack the agent that reads them: prompt injections and other hostile content."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from random import Random
from typing import Self

from pydantic import Field, model_validator

from simulator.environment.libraries import Named, shipped_library
from simulator.environment.value import Value

CATEGORY = "category:"
"""Before the name of a category, where the name of a text could stand."""

WORDS = {"tool": "this tool", "agent": "the assistant", "argument": "the request"}
"""What a text can name, as `{{ tool }}`, and what it says where the call does not tell."""

_WORD = re.compile(r"\{\{\s*(\w+)\s*\}\}")


class HostileText(Named):
    """A text that attacks an agent.

    Attributes:
        name: Its name in rules.
        category: What it tries to do, or how; one of `categories()`.
        title: What a person reads in a list.
        text: The text; `{{ tool }}`, `{{ agent }}` and `{{ argument }}` stand for what the call says.
        good: What an agent does that is not taken in.
        repeat: How often the text is repeated.
    """

    name: str = Field(pattern=r"^[a-z0-9_]+$")
    category: str = Field(pattern=r"^[a-z0-9_]+$")
    title: str = Field(min_length=1)
    text: str = Field(min_length=1)
    good: str = Field(min_length=1)
    repeat: int = Field(default=1, ge=1, le=20_000)

    @model_validator(mode="after")
    def _names_known_words(self) -> Self:
        for word in _WORD.findall(self.text):
            if word not in WORDS:
                raise ValueError(f"{{{{ {word} }}}} is not known; there is: {', '.join(WORDS)}")
        return self

    def said(self, words: Mapping[str, str]) -> str:
        """Give the text as it is said in a call."""
        return (
            _WORD.sub(lambda match: words.get(match.group(1)) or WORDS[match.group(1)], self.text)
            * self.repeat
        )


class Attack(Value):
    """A text as it is put into an answer; `name` is its name in the library, if it is from there."""

    name: str = ""
    text: str


@lru_cache(maxsize=1)
def hostile_texts() -> tuple[HostileText, ...]:
    """Give the library's texts, in their order."""
    return shipped_library(HostileText, "hostile texts", __package__, "hostile.yaml")


def categories() -> tuple[str, ...]:
    """Give the categories of the library, in their order."""
    return tuple(dict.fromkeys(text.category for text in hostile_texts()))


def check_category(which: str) -> None:
    """Check that a category is one of the library, where a category is meant.

    Raises:
        ValueError: It is none; the text names those that there are.
    """
    category = which.removeprefix(CATEGORY).strip()
    if which.startswith(CATEGORY) and category not in categories():
        raise ValueError(
            f"there is no category {category!r} of hostile texts; there are {', '.join(categories())}"
        )


def hostile_text(which: str, rng: Random, words: Mapping[str, str]) -> Attack:
    """Give the text that is meant.

    Args:
        which: A text's name, `category:` and a category's name for any text of it, any other text for itself, or empty
            for any text of the library.
        rng: Where a text is drawn from, if one is to be drawn.
        words: What the texts name: `tool`, `agent`, `argument`.
    """
    library = hostile_texts()
    category = which.removeprefix(CATEGORY).strip() if which.startswith(CATEGORY) else ""
    meant = [text for text in library if which in {"", text.name} or text.category == category]
    if not meant:
        return Attack(text=which)
    chosen = meant[0] if len(meant) == 1 else rng.choice(meant)
    return Attack(name=chosen.name, text=chosen.said(words))
