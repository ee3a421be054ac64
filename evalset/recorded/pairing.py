"""Pairs what is on one side with what is on the other, as many as can have one of their own. Pure."""

from __future__ import annotations

from collections.abc import Sequence


def paired(choices: Sequence[Sequence[int]]) -> dict[int, int]:
    """Return as many of the first as can be one of the second of their own, by augmenting paths.

    Args:
        choices: For each of the first, the places of the second that it may have; the ones it would rather have come first.
    """
    partner: dict[int, int] = {}

    def place(one: int, seen: set[int]) -> bool:
        for other in choices[one]:
            if other not in seen:
                seen.add(other)
                if other not in partner or place(partner[other], seen):
                    partner[other] = one
                    return True
        return False

    for one in range(len(choices)):
        place(one, set())
    return {one: other for other, one in partner.items()}
