"""The errors of this room: what cannot be exported, written or read back, in words for a person."""

from __future__ import annotations

from pathlib import Path

from pydantic import ValidationError

from simulator.base.json_text import JsonTextError
from simulator.base.json_values import place_words
from simulator.base.validation_words import InputError, first_of, shortened

PLAYED = "AGENT --script SET --case ID"
"""What is named where a case is played again."""

RECORD_IT = (
    f"To record it, play it into another set with `golden-trace run {PLAYED} --out NEW_SET`, or in the studio"
)
"""What to do about a case of which nothing is recorded."""

ASK_THE_MODEL = "To check it, use `--models real` and set the key of the model, or play it in the studio and export it again"
"""What to do about a case whose models have no recorded turns."""


class GoldenTraceError(ValueError):
    """A session cannot become an eval case; the text names what is missing, and in which turn."""


class FileError(InputError):
    """A file cannot be used; the text names it.

    Attributes:
        path: The file.
    """

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path


class EvalSetError(FileError):
    """An eval-set file cannot take a case; the text names the file and the place, and nothing was changed."""


def taken_words(eval_id: str, way: str = "Replace that case") -> str:
    """Say of a set that it has a case with an id, and what to do about it."""
    return f"already has a case with the eval id {eval_id!r}. {way}, or choose another id"


class CaseTakenError(EvalSetError):
    """The eval set has a case with this id already; it can be replaced, `way` says how."""

    def __init__(self, path: Path, eval_id: str, way: str = "Replace that case") -> None:
        super().__init__(path, taken_words(eval_id, way))
        self.add_note("write_golden_trace(..., replace=True) replaces it")


class ScenarioError(InputError):
    """A text holds no scenario, or no recorded messages, that can be used; the text names the place."""


class ReadBackError(ValueError):
    """ADK's loader does not give back the case that was written; the text names the field that differs."""


def words_of_refusal(error: Exception) -> str:
    """Return what ADK's loader raised in a few words: pydantic's own text names everything that is wrong."""
    if isinstance(error, JsonTextError):
        return f"not JSON: {error}"
    return first_flaw(error) if isinstance(error, ValidationError) else repr(error)


def first_flaw(error: ValidationError, *within: str | int) -> str:
    """Return the first thing that is wrong with a value, behind its place.

    Args:
        error: All that is wrong.
        within: Where the value stands.
    """
    first = first_of(error)
    return shortened(f"{place_words((*within, *first['loc']))}: {first['msg']}")
