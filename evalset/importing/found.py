"""What an import finds: cases, their recorded environments, and what could not be taken."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import NamedTuple, Protocol

from google.adk.evaluation.eval_case import EvalCase

from evalset.names import FreeIds, flaw_of_eval_id, usable_eval_id
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


class Keeper(Protocol):
    """Keeps found cases, in memory or on the disk."""

    def keep(self, found: FoundCase) -> None:
        """Keep one more case."""

    def keep_first(self, count: int) -> None:
        """Forget all cases but the first, of those that were given to `keep`."""


class Held:
    """Keeps found cases in memory."""

    def __init__(self) -> None:
        self.found: list[FoundCase] = []

    def keep(self, found: FoundCase) -> None:
        """Keep one more case."""
        self.found.append(found)

    def keep_first(self, count: int) -> None:
        """Forget all cases but the first."""
        del self.found[count:]

    def imported(self, problems: Iterable[str]) -> Imported:
        """Return all that was found."""
        known = {case.eval_id: environment for case, environment in self.found if environment}
        return Imported(tuple(each.case for each in self.found), known, tuple(problems))


class Harvest:
    """Gives each case that is found an id of its own, and hands it to a keeper.

    Args:
        keeper: Keeps the cases.
        goes_on: Asked with each case, with how many were found before; False ends the import.

    Attributes:
        eval_ids: The ids of all cases, in the order of the import.
        problems: What could not be taken, in sentences with the place.
    """

    def __init__(self, keeper: Keeper, goes_on: Callable[[int], bool] = lambda _: True) -> None:
        self._keeper, self._goes_on = keeper, goes_on
        self._free = FreeIds()
        self.eval_ids: list[str] = []
        self.problems: list[str] = []

    def take(self, place: str, found: Iterable[FoundCase]) -> None:
        """Take in cases that were found at a place.

        Raises:
            StoppedImportError: The import is to end.
        """
        for each in found:
            if not self._goes_on(len(self.eval_ids)):
                raise StoppedImportError
            wanted, case = each.case.eval_id, each.case
            free = self._free.take(usable_eval_id(wanted))
            if free != wanted:
                why = flaw_of_eval_id(wanted) or "there is another of that id"
                self.tell(place, f"the case {wanted!r} is now {free!r}: {why}")
                case = case.model_copy(update={"eval_id": free})
            self.eval_ids.append(free)
            self._keeper.keep(each._replace(case=case))

    def tell(self, place: str, *problems: str) -> None:
        """Take in what could not be taken at a place."""
        self.problems += [f"{place}: {problem}" for problem in problems]

    @contextmanager
    def all_or_nothing(self) -> Iterator[None]:
        """Forget what the block took and told where it raises, except where the import is to end."""
        cases, problems = len(self.eval_ids), len(self.problems)
        try:
            yield
        except StoppedImportError:
            raise
        except BaseException:
            self._keeper.keep_first(cases)
            self._free.give_back(self.eval_ids[cases:])
            del self.eval_ids[cases:], self.problems[problems:]
            raise
