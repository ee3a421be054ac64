"""The error of this room: what cannot be verified, accepted or repaired, in words for a person."""

from __future__ import annotations

from pathlib import Path

NO_GOLDEN = "a scenario case has no golden conversation to compare with"
"""Why a case cannot be verified that a simulated user plays: nothing is wrong with it."""


class VerifyError(ValueError):
    """Something cannot be done with an eval set or one of its cases; the text names it, and nothing was changed."""


class UnreadableSetError(VerifyError):
    """A file is not an eval set that can be read; the text says why.

    Attributes:
        eval_set: The file.
    """

    def __init__(self, eval_set: Path, reason: str) -> None:
        super().__init__(reason)
        self.eval_set = eval_set
