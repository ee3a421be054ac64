"""Verifies the cases of an eval set: several at a time, each run in a session of its own, until done or stopped."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Collection, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypeVar

from evalset.verify.criteria import Criteria
from evalset.verify.errors import VerifyError
from evalset.verify.loading import Agents, Ready, Unready, cases_to_verify, recorded_beside
from evalset.verify.replaying import replayed
from evalset.verify.results import (
    CaseResult,
    CaseStatus,
    Players,
    RunResult,
    Verification,
    VerifyProgress,
)
from evalset.verify.scoring import golden_steps, scored
from simulator.agent_config import AgentConfigError, SimulatedAgentConfig
from simulator.agents import AgentLoadError, UnknownAgentError
from simulator.runtime.reachability import model_reachability

Models: TypeAlias = Literal["auto", "real", "recorded"]
Result = TypeVar("Result")

AT_ONCE = 4
"""How many cases are replayed at a time, as `adk eval` does."""

PATIENCE = 300.0
"""Seconds that one run may take."""

_LOOKS_EVERY = 0.05


def verify(  # long: what it takes is most of it
    path: Path | str,
    *,
    agent: SimulatedAgentConfig | str | None = None,
    agents_dir: Path | str | None = None,
    environment: Path | str | None = None,
    cases: Collection[str] = (),
    runs: int = 1,
    models: Models = "auto",
    criteria: Criteria | None = None,
    at_once: int = AT_ONCE,
    timeout: float = PATIENCE,
    on_progress: Callable[[VerifyProgress], None] = lambda _: None,
    stop: threading.Event | None = None,
) -> Verification:
    """Replay the cases of an eval set without their world, and compare each with its golden.

    No real tool runs. It needs no event loop, and may be called in any thread, one with a running loop too.

    Args:
        path: The eval set.
        agent: The agent of all cases; or words for one, as `python -m simulator run` takes them.
        agents_dir: A folder of agents in ADK's convention, or the folder of one; the case says which. By default the one
            that the eval set lies in; or the demo agents.
        environment: The recorded environment; by default the one beside the eval set.
        cases: The ids of the cases; all by default.
        runs: How many times each case is replayed.
        models: Who answers for the agents' models: themselves, or the recording. `auto` takes the recording where one of
            them cannot be asked from here (it has no key, for one) and the case holds recorded turns of models.
        criteria: What is asked of each run.
        at_once: How many cases are replayed at a time.
        timeout: Seconds that one run may take.
        on_progress: Told after each run, in the thread that replays.
        stop: Ends it when it is set; what was done by then is given.

    Raises:
        VerifyError: A file cannot be read or is something else, or a case or the agent is not there.
        ValueError: A number is less than 1.
    """
    if runs < 1 or at_once < 1:
        raise ValueError(f"runs and at_once are at least 1, and not {min(runs, at_once)}")
    eval_set = Path(path)
    sidecar = Path(environment) if environment is not None else recorded_beside(eval_set)
    began = time.perf_counter()
    try:
        agents = Agents(agent, Path(agents_dir) if agents_dir is not None else None, eval_set)
    except (UnknownAgentError, AgentLoadError, AgentConfigError) as error:
        raise VerifyError(str(error)) from error
    wanted = cases_to_verify(eval_set, sidecar, cases, agents)
    work = _Verifying(criteria or Criteria(), runs, models, on_progress, timeout)
    results = _run(work.all(wanted, at_once, stop or threading.Event()))
    return Verification(
        eval_set=eval_set,
        environment=sidecar,
        criteria=work.criteria,
        runs=runs,
        cases=tuple(results),
        models=tuple(dict.fromkeys(work.told)),
        seconds=time.perf_counter() - began,
    )


def _run(work: Coroutine[Any, Any, Result]) -> Result:
    """Run in this thread; in one of its own where this one has a loop that runs."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result()


class _Verifying:
    def __init__(
        self,
        criteria: Criteria,
        runs: int,
        models: Models,
        on_progress: Callable[[VerifyProgress], None],
        timeout: float,
    ) -> None:
        self.criteria = criteria
        self.told: list[str] = []
        self._runs, self._models, self._timeout = runs, models, timeout
        self._on_progress = on_progress
        self._done = self._total = 0
        self._reasons: dict[int, str | None] = {}

    async def all(
        self, cases: Sequence[Ready | Unready], at_once: int, stop: threading.Event
    ) -> list[CaseResult]:
        """Give the result of each case; of those that were not done when it was stopped, what there is."""
        self._total = sum(isinstance(each, Ready) for each in cases) * self._runs
        free = asyncio.Semaphore(at_once)
        runs: list[list[RunResult]] = [[] for _ in cases]
        tasks = [
            asyncio.create_task(self._case(each, found, free))
            for each, found in zip(cases, runs, strict=True)
            if isinstance(each, Ready)
        ]
        await _unless(stop, tasks)
        return [self._result(each, found) for each, found in zip(cases, runs, strict=True)]

    async def _case(self, each: Ready, found: list[RunResult], free: asyncio.Semaphore) -> None:
        for number in range(1, self._runs + 1):
            async with free:
                result = await self._one(each, number)
            found.append(result)
            self._done += 1
            self._on_progress(
                VerifyProgress(
                    done=self._done, total=self._total, eval_id=each.case.eval_id, passed=result.passed
                )
            )

    async def _one(self, each: Ready, number: int) -> RunResult:
        models = self._players(each)
        replay = await replayed(each.case, each.recorded, each.config, models, self._timeout)
        return await scored(each, replay, self.criteria, number=number, models=models)

    def _players(self, each: Ready) -> Players:
        """Decide who answers for the models of a case, and tell why."""
        key = id(each.config)
        if key not in self._reasons:
            self._reasons[key] = model_reachability(each.config) if self._models == "auto" else None
        reason = self._reasons[key]
        recorded = any(turn.models for turn in each.recorded.turns)
        players: Players = "recorded" if reason and recorded else "real"
        why = reason or "all can be asked from here"
        if reason and not recorded:
            why = f"no turn of a model is recorded, although {reason}"
        if self._models != "auto":
            players, why = self._models, "as asked for"
        self.told.append(f"{each.config.name}: {players} models ({why})")
        return players

    def _result(self, each: Ready | Unready, runs: list[RunResult]) -> CaseResult:
        if isinstance(each, Unready):
            return CaseResult(
                eval_id=each.case.eval_id, status="error", error=each.error, golden=golden_steps(each)
            )
        status: CaseStatus = "passed" if all(run.passed for run in runs) else "failed"
        return CaseResult(
            eval_id=each.case.eval_id,
            agent=each.config.app_name,
            status=status if len(runs) == self._runs else "stopped",
            golden=golden_steps(each),
            runs=tuple(runs),
        )


async def _unless(stop: threading.Event, tasks: Sequence[asyncio.Task[None]]) -> None:
    """Wait for tasks until they are done, or until it is to stop: then they are cancelled, and waited for."""
    waiting: set[asyncio.Task[None]] = set(tasks)
    while waiting and not stop.is_set():
        _, waiting = await asyncio.wait(waiting, timeout=_LOOKS_EVERY)
    for task in waiting:
        task.cancel()
    for outcome in await asyncio.gather(*tasks, return_exceptions=True):
        if isinstance(outcome, Exception) and not isinstance(outcome, asyncio.CancelledError):
            raise outcome
