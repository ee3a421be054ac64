"""The errors of this room: what cannot be exported, written or read back, in words for a person."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from simulator.base.json_values import place_words

if TYPE_CHECKING:
    from pydantic import ValidationError


class GoldenTraceError(ValueError):
    """A session cannot become an eval case; the text names what is missing, and in which turn."""


class EvalSetError(ValueError):
    """An eval-set file cannot take a case; the text names the file and the place, and nothing was changed.

    Attributes:
        path: The file.
    """

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path


class ScenarioError(ValueError):
    """A text holds no scenario, or no recorded messages, that can be used; the text names the place."""


class ReadBackError(ValueError):
    """ADK's loader does not give back the case that was written; the text names the field that differs."""


def first_flaw(error: ValidationError, *within: str | int) -> str:
    """Return the first thing that is wrong with a value, behind its place.

    Args:
        error: All that is wrong.
        within: Where the value stands.
    """
    first = error.errors(include_url=False)[0]
    return f"{place_words((*within, *first['loc']))}: {first['msg']}"
