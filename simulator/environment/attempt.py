"""Names one way to answer a call that has led to an answer, and where the answer comes from."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import JsonValue


@dataclass(frozen=True, slots=True)
class Try:
    """An answer, and its source in words."""

    value: JsonValue
    why: str
