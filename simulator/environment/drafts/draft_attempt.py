"""Names one way to answer a call that has led to an answer, and where the answer comes from."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import JsonValue

from simulator.environment.call_effects import NO_EFFECTS, ToolEffects
from simulator.environment.drafts.blanks import Blank


@dataclass(frozen=True, slots=True)
class Try:
    """An answer, its source in words, and the places of it for which nothing is known.

    `varies` says that another draw may give another answer, `when` what has to hold for it, in words, and `effects` what the
    tool's code does besides for certain where it gives this answer. `raises` names the exception that it raises, where the value only tells of one.
    """

    value: JsonValue
    why: str
    blanks: tuple[Blank, ...] = ()
    varies: bool = False
    when: str = ""
    effects: ToolEffects = NO_EFFECTS
    raises: str = ""
