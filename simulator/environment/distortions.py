"""Distorts a tool's answer on purpose, seeded: cut, dropped, corrupted, emptied, blown up, or made hostile."""

from __future__ import annotations

from typing import Literal, TypeAlias

from pydantic import Field

from simulator.environment.value import Value

DistortionKind: TypeAlias = Literal[
    "truncate",
    "drop",
    "corrupt",
    "wrong_type",
    "null",
    "empty_list",
    "duplicate",
    "stale",
    "huge",
    "malformed",
    "hostile",
]


class Distortion(Value):
    """One way to distort an answer.

    Attributes:
        kind: `truncate` cuts texts, `drop` takes fields out, `corrupt` replaces values by garbage of the same type, `wrong_type`
            by ones of another type, `null` by null, `empty_list` empties lists, `duplicate` repeats items of lists,
            `stale` gives an earlier answer of the same tool instead, `huge` blows the answer up, `malformed` turns
            it into broken JSON text, and `hostile` puts an attack on the agent into texts.
        at: Where, as a path like `orders[*].total`; everywhere, in lists and objects too, where it is empty.
        share: The share of the places that it could strike which it does strike; at least one where there is any.
        amount: How much, for the kinds that can say it: the length that is left of a text (`truncate`), the
            number of times an item is repeated (`duplicate`), how many answers ago (`stale`), the size in bytes (`huge`).
        text: For `hostile`: which text of the library, by its name, or any other text as it is; a drawn one where empty.
    """

    kind: DistortionKind
    at: str = ""
    share: float = Field(default=1.0, gt=0.0, le=1.0)
    amount: int | None = Field(default=None, ge=0, le=50_000_000)
    text: str = ""
