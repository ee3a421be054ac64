"""What an import gives: cases, their recorded environments, and what could not be taken."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from google.adk.evaluation.eval_case import EvalCase

from evalset.names import flaw_of_eval_id, unique_eval_id, usable_eval_id
from evalset.recorded.model import RecordedCase


class FoundCase(NamedTuple):
    """A case, and what its environment answered, as far as that is known."""

    case: EvalCase
    environment: RecordedCase | None = None


class Imported(NamedTuple):
    """What was imported.

    Attributes:
        cases: The cases, each with an id of its own.
        environments: What their environments answered, by the ids; of a case of which nothing is known, there is none.
        problems: In sentences with the place: what was left out or changed, and which answers nobody knows.
    """

    cases: tuple[EvalCase, ...] = ()
    environments: dict[str, RecordedCase] = {}  # noqa: RUF012 - nobody changes it
    problems: tuple[str, ...] = ()


class ImportProblemError(ValueError):
    """Something cannot be imported; the text says why, without the place."""


class StoppedImportError(Exception):
    """Nobody wants any more of it; what was found by then is there."""


class Harvest:
    """Gathers what is found, and gives each case an id of its own.

    Args:
        goes_on: Asked with each case, with how many were found before; False ends the import.
    """

    def __init__(self, goes_on: Callable[[int], bool] = lambda _: True) -> None:
        self._goes_on = goes_on
        self._cases: dict[str, FoundCase] = {}
        self._problems: list[str] = []

    def take(self, place: str, found: Iterable[FoundCase]) -> None:
        """Take in cases that were found at a place.

        Raises:
            StoppedImportError: The import is to end.
        """
        for each in found:
            if not self._goes_on(len(self._cases)):
                raise StoppedImportError
            wanted, case = each.case.eval_id, each.case
            free = unique_eval_id(usable_eval_id(wanted), self._cases)
            if free != wanted:
                why = flaw_of_eval_id(wanted) or "there is another of that id"
                self.tell(place, f"the case {wanted!r} is now {free!r}: {why}")
                case = case.model_copy(update={"eval_id": free})
            self._cases[free] = each._replace(case=case)

    def tell(self, place: str, *problems: str) -> None:
        """Take in what could not be taken at a place."""
        self._problems += [f"{place}: {problem}" for problem in problems]

    def imported(self) -> Imported:
        """Give all that was found."""
        known = {name: each.environment for name, each in self._cases.items() if each.environment}
        return Imported(tuple(each.case for each in self._cases.values()), known, tuple(self._problems))
