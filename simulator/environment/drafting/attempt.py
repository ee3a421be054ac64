"""Names one way to answer a call that has led to an answer, and where the answer comes from."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import JsonValue


@dataclass(frozen=True, slots=True)
class Try:
    """An answer, and its source in words.

    `is_guess` says that nothing but names was known of what the tool answers.
    """

    value: JsonValue
    why: str
    is_guess: bool = False
