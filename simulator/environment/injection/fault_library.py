"""Keeps a library of faults: named presets that each make one injection rule for a tool, and that can be searched."""

from __future__ import annotations

import difflib
import re
from functools import lru_cache
from typing import Self

from pydantic import Field, model_validator

from simulator.base.documents import LibraryEntry, shipped_library
from simulator.base.json_values import JsonObject
from simulator.environment.injection.distortions import CATEGORY, Distortion, categories, hostile_texts
from simulator.environment.injection.rule_effects import DistortEffect
from simulator.environment.injection.rules import InjectionRule

_WORD = re.compile(r"[^\W_]+")
_SHORTEST_MISSPELT = 4


class Fault(LibraryEntry):
    """A preset.

    Attributes:
        name: Its name, unique.
        title: What a person reads in a list.
        category: `http`, `exceptions`, `time`, `patterns`, `answers`, `distortions`, `hostile` or `people`.
        words: More words by which it is found.
        description: What happens, in a sentence or two.
        preset: The fields of the rule (`rule` in the file), but for its tool, its id and its label.
    """

    name: str = Field(pattern=r"^[a-z0-9_]+$")
    title: str = Field(min_length=1)
    category: str = Field(min_length=1)
    words: str = ""
    description: str = Field(min_length=1)
    preset: JsonObject = Field(alias="rule")

    @model_validator(mode="after")
    def _makes_a_rule(self) -> Self:
        self.rule("tool", "rule")
        return self

    def rule(self, tool_name: str, rule_id: str) -> InjectionRule:
        """Make the rule for a tool, or for every tool (`*`)."""
        return InjectionRule.model_validate(
            {**self.preset, "rule_id": rule_id, "tool_name": tool_name, "label": self.title}
        )


@lru_cache(maxsize=1)
def faults() -> tuple[Fault, ...]:
    """Return all faults, in their order."""
    return (
        *shipped_library(Fault, "faults", __package__, "faults.yaml"),
        *(_hostile(category) for category in categories()),
    )


def search(text: str) -> tuple[Fault, ...]:
    """Find the faults that a person may mean, the best first; all of them, in their order, where nothing is written.

    A word counts most in the name or the title, less in the other words, least in the description; its beginning counts
    too, and so does one that is nearly it. Faults that have more of the words come first.
    """
    asked = _words(text)
    if not asked:
        return faults()
    ranked = []
    for order, words in enumerate(_indexed()):
        scores = [_score(word, words) for word in asked]
        if any(scores):
            ranked.append((-sum(map(bool, scores)), -sum(scores), order))
    return tuple(faults()[order] for _, _, order in sorted(ranked))


def _hostile(category: str) -> Fault:
    texts = [text for text in hostile_texts() if text.category == category]
    effect = DistortEffect(distortions=(Distortion(kind="hostile", text=f"{CATEGORY}{category}"),))
    return Fault(
        name=f"hostile_{category}",
        title=f"Hostile text: {category.replace('_', ' ')}",
        category="hostile",
        words=" ".join(["prompt injection attack jailbreak security", *(text.title for text in texts)]),
        description=f"Adds one of {len(texts)} texts that attack the agent to each text of the response.",
        rule={"effect": effect.model_dump(mode="json")},
    )


def _words(text: str) -> list[str]:
    return list(dict.fromkeys(_WORD.findall(text.lower())))


@lru_cache(maxsize=1)
def _indexed() -> tuple[dict[str, float], ...]:
    return tuple(
        {
            **dict.fromkeys(_words(each.description), 1.0),
            **dict.fromkeys(_words(each.words), 2.0),
            **dict.fromkeys(_words(f"{each.name} {each.title} {each.category}"), 3.0),
        }
        for each in faults()
    )


def _score(asked: str, words: dict[str, float]) -> float:
    if asked in words:
        return words[asked]
    begun = [weight for word, weight in words.items() if word.startswith(asked)]
    if begun:
        return max(begun) * 0.7
    if len(asked) < _SHORTEST_MISSPELT:
        return 0.0
    alike = difflib.get_close_matches(asked, words, n=1, cutoff=0.8)
    return words[alike[0]] * 0.4 if alike else 0.0
