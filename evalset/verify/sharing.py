"""Shares the runs of a verification out to an executor, a few at a time, and puts what comes back together."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Future
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple, Protocol

from evalset.measured import Measured
from evalset.verify.results import CaseResult, CaseStatus, Verification, VerifyProgress

_LOOKS_EVERY = 0.1
_MOST_IN_A_PART = 8
_PARTS_FOR_EACH = 8
"""Into how many parts at least the work of each worker is cut, so that a slow case holds up no other."""


class Stop(Protocol):
    """Tells whether to stop; `threading.Event` does."""

    def is_set(self) -> bool:
        """Tell whether to stop."""
        ...


class Part(NamedTuple):
    """What one worker does at a time.

    Attributes:
        places: The places of the cases among those that were chosen, from 0.
        first: The number of the first run, from 1.
        runs: How many runs of each.
        again: Whether a worker has ended at it before.
    """

    places: tuple[int, ...]
    first: int
    runs: int
    again: bool = False


def parts_of(cases: int, runs: int, workers: int) -> Iterator[Part]:
    """Cut the runs of cases into parts: some cases with all their runs, or some runs of one case where there are many."""
    size = max(1, min(_MOST_IN_A_PART, cases * runs // (max(1, workers) * _PARTS_FOR_EACH)))
    at_once = max(1, size // runs)
    for start in range(0, cases, at_once):
        places = tuple(range(start, min(cases, start + at_once)))
        for first in range(1, runs + 1, size if at_once == 1 else runs):
            yield Part(places, first, min(runs - first + 1, size if at_once == 1 else runs))


class Sharing:
    """Has all parts of a verification done.

    Args:
        submit: Submits a part to an executor; the future gives a `Verification` in JSON.
        eval_ids: The ids of the cases, by their places.
        runs: How many runs each has.
        tell: Told after each part, for each of its runs.
    """

    def __init__(
        self,
        submit: Callable[[Part], Future[Any]],
        eval_ids: Sequence[str],
        runs: int,
        tell: Callable[[VerifyProgress], None],
    ) -> None:
        self._begin, self._ids, self._runs, self._tell = submit, eval_ids, runs, tell
        self._waiting: dict[Future[Any], Part] = {}
        self._ready: SimpleQueue[Future[Any]] = SimpleQueue()
        self._found: list[list[tuple[int, CaseResult]]] = [[] for _ in eval_ids]
        self._verifications: list[Verification] = []
        self._done = 0

    def done(self, workers: int, stop: Stop, base: Verification) -> Verification:
        """Have it done, or as much as there is when it is stopped.

        Args:
            workers: How many parts the executor does at a time.
            stop: Ends it.
            base: What is known of the verification before.

        Raises:
            Exception: What the work raised, or what keeps the executor from beginning.
        """
        began = time.perf_counter()
        try:
            for part in parts_of(len(self._ids), self._runs, workers):
                self._submit(part)
            while self._waiting and not stop.is_set():
                try:
                    self._take(self._ready.get(timeout=_LOOKS_EVERY))
                except Empty:
                    continue
        finally:
            for future in self._waiting:
                future.cancel()
        return self._put_together(base, time.perf_counter() - began)

    def _submit(self, part: Part) -> None:
        future = self._begin(part)
        self._waiting[future] = part
        future.add_done_callback(self._ready.put)

    def _take(self, future: Future[Any]) -> None:
        part = self._waiting.pop(future)
        try:
            verification = Verification.model_validate(future.result())
        except BrokenExecutor as error:
            self._try_again(part, error)
            return
        self._verifications.append(verification)
        for place, case in zip(part.places, verification.cases, strict=True):
            self._hold(place, part, case)

    def _try_again(self, part: Part, error: BrokenExecutor) -> None:
        """Have each case of a part done once more by itself; the one that ends a worker again is the one that does it."""
        for place in part.places:
            if not part.again:
                try:
                    self._submit(part._replace(places=(place,), again=True))
                    continue
                except BrokenExecutor:  # it can do no more at all
                    pass
            words = f"the process that replayed it ended, and once more when it was tried again: {error}"
            self._hold(place, part, CaseResult(eval_id=self._ids[place], status="error", error=words))

    def _hold(self, place: int, part: Part, case: CaseResult) -> None:
        self._found[place].append((part.first, case))
        passed = [run.passed for run in case.runs] or [False] * part.runs
        for each in passed:
            self._done += 1
            self._tell(
                VerifyProgress(
                    done=self._done, total=len(self._ids) * self._runs, eval_id=case.eval_id, passed=each
                )
            )

    def _put_together(self, base: Verification, seconds: float) -> Verification:
        measured = [each.measured for each in self._verifications if each.measured is not None]
        agents = dict.fromkeys(agent for each in measured for agent in each.agents)
        cases = (self._case(eval_id, found) for eval_id, found in zip(self._ids, self._found, strict=True))
        return base.model_copy(
            update={
                "cases": tuple(cases),
                "models": tuple(dict.fromkeys(told for each in self._verifications for told in each.models)),
                "seconds": seconds,
                "renamed": {old: new for each in self._verifications for old, new in each.renamed.items()},
                "measured": Measured(files=measured[0].files, agents=tuple(agents)) if measured else None,
            }
        )

    def _case(self, eval_id: str, found: list[tuple[int, CaseResult]]) -> CaseResult:
        """Put the runs of a case together; what ended its worker is its error, whatever other runs gave."""
        if not found:
            return CaseResult(eval_id=eval_id, status="stopped")
        cases = [case for _, case in sorted(found, key=lambda each: each[0])]
        runs = tuple(run for case in cases for run in case.runs)
        error = next((case for case in cases if case.status == "error"), None)
        status: CaseStatus = "passed" if all(run.passed for run in runs) else "failed"
        if error is not None:
            return (next((case for case in cases if case.golden), error)).model_copy(
                update={"status": "error", "error": error.error, "runs": runs}
            )
        return cases[0].model_copy(
            update={"status": status if len(runs) == self._runs else "stopped", "runs": runs}
        )
