"""Verifies the cases of an eval set: several at a time, each run in a session of its own, until done or stopped."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Executor
from itertools import count
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

from evalset.measured import Measured, MeasuredFile, measured_agents, measured_files
from evalset.recorded.files import sidecar_of
from evalset.replay.unrecorded import Policy
from evalset.verify.criteria import Criteria
from evalset.verify.elsewhere import shared_out_to
from evalset.verify.errors import VerifyError
from evalset.verify.loading import (
    Ready,
    Unready,
    agents_for,
    cases_to_verify,
    chosen_cases,
    config_of_each,
    recorded_beside,
)
from evalset.verify.processes import ProcessEndedError, Stop, how_many, shared_out
from evalset.verify.replaying import Ways, replayed
from evalset.verify.results import (
    CaseResult,
    CaseStatus,
    Players,
    RunResult,
    Verification,
    VerifyProgress,
)
from evalset.verify.running import PATIENCE, run
from evalset.verify.scoring import golden_steps
from evalset.verify.undetermined import Asked, judged_again, scored_as
from simulator.agent_config import SimulatedAgentConfig
from simulator.kernel.config import KernelAgentConfig
from simulator.runtime.adk_private import missing_a2a_known
from simulator.runtime.reachability import model_reachability

Models: TypeAlias = Literal["auto", "real", "recorded"]

AT_ONCE = 4
"""How many cases are replayed at a time, as `adk eval` does."""

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
    unrecorded: Policy = "fail",
    criteria: Criteria | None = None,
    at_once: int = AT_ONCE,
    timeout: float = PATIENCE,
    processes: int | None = 1,
    renamed: Mapping[str, str] | None = None,
    on_progress: Callable[[VerifyProgress], None] = lambda _: None,
    stop: threading.Event | None = None,
    latencies: bool = False,
    executor: Executor | None = None,
) -> Verification:
    """Replay the cases of an eval set without their world, and compare each with its golden.

    No real tool runs. It needs no event loop, and may be called in any thread, one with a running loop too.

    Args:
        path: The eval set.
        agent: The agent of all cases; or words for one, as `python -m simulator run` takes them.
        agents_dir: A folder of agents in ADK's convention, or the folder of one; the case says which. By default the one
            that the eval set lies in; or the demo agents.
        environment: The recorded environment; by default the one beside the eval set, or else the one inside of it.
        cases: The ids of the cases; all by default.
        runs: How many times each case is replayed.
        models: Who answers for the agents' models: themselves, or the recording. `auto` takes the recording where one of
            them cannot be asked from here (it has no key, for one) and the case holds recorded turns of models.
        unrecorded: What becomes of a call that was not recorded, as `HermeticEnvironment` has it: it fails, or the case's rules
            answer it, or else an offline draft. A run in which all are answered can be accepted, answers and all.
        criteria: What is asked of each run.
        at_once: How many cases are replayed at a time.
        timeout: Seconds that one run may take.
        processes: In how many processes; None for as many as pay. Where they cannot be made (elsewhere than on Linux, or beside
            other threads, as in a page) it is one.
        renamed: The new name of each agent that was renamed since the recording, by its old one; the files stay as they are.
        on_progress: Told after each run, in the thread that replays.
        stop: Ends it when it is set; what was done by then is given.
        latencies: Let each tool take as long as it did when it was recorded.
        executor: Does the work, a few cases at a time: what is submitted can be pickled, so any `concurrent.futures.Executor` will do. Its
            workers load the agent themselves, by `agent` in words and `agents_dir`; `processes` says how many there are. Who made it
            ends it. By default an agent that plays in kernels is verified in kernels, in as many as `processes` says.

    Raises:
        VerifyError: A file cannot be read or is something else, or a case or the agent is not there.
        ValueError: A number is less than 1.
    """
    if runs < 1 or at_once < 1:
        raise ValueError(f"runs and at_once are at least 1, and not {min(runs, at_once)}")
    stop = stop or threading.Event()
    ways = Ways(unrecorded=unrecorded, seconds=timeout, latencies=latencies)
    how = _How(criteria or Criteria(), runs, at_once, ways)
    if executor is not None or isinstance(agent, KernelAgentConfig):
        eval_set = Path(path)
        base = Verification(
            eval_set=eval_set,
            environment=Path(environment) if environment is not None else recorded_beside(eval_set),
            criteria=how.criteria,
            runs=runs,
        )
        ids = [case.eval_id for case in chosen_cases(eval_set, cases)]
        asked: dict[str, Any] = {
            "agents_dir": agents_dir,
            "cases": cases,
            "models": models,
            "renamed": dict(renamed or {}),
        }
        asked |= {"at_once": at_once, "ways": ways._asdict()}
        return shared_out_to(
            executor,
            agent,
            base=base,
            eval_ids=ids,
            asked=asked,
            processes=processes,
            tell=on_progress,
            stop=stop,
        )
    began = time.perf_counter()
    read = _read(
        Path(path), agent, agents_dir=agents_dir, environment=environment, cases=cases, renamed=renamed or {}
    )
    tell = _counted(sum(isinstance(each, Ready) for each in read.wanted) * runs, on_progress)
    found = _verified(read, read.wanted, models, how, processes=processes, tell=tell, stop=stop)
    return found.model_copy(update={"seconds": time.perf_counter() - began})


class _Read(NamedTuple):
    """What was read of an eval set, and the digests of its files from before that."""

    eval_set: Path
    sidecar: Path
    files: tuple[MeasuredFile, ...]
    wanted: list[Ready | Unready]


_read_last: tuple[str, _Read] | None = None
"""What this process read last, with the name of the verification that it was for."""


def verify_part(config: SimulatedAgentConfig | None, /, **asked: Any) -> Any:
    """Do a part of a verification where it was sent to: in a kernel, or in what another executor has.

    Args:
        config: The agent of all cases; None where they are found by `agent` and `agents_dir`.
        asked: In JSON: what `shared_out_to` sends.

    Returns:
        A `Verification` of the part's cases and runs, in JSON.
    """
    global _read_last  # noqa: PLW0603 - each part is of the same set, which is large
    if _read_last is None or _read_last[0] != asked["verification"]:
        where = {name: asked[name] for name in ("agents_dir", "environment", "cases", "renamed")}
        _read_last = asked["verification"], _read(Path(asked["path"]), config or asked["agent"], **where)
    read = _read_last[1]
    criteria = Criteria.model_validate(asked["criteria"])
    how = _How(criteria, asked["runs"], asked["at_once"], Ways(**asked["ways"]), asked["first"])
    cases = [read.wanted[place] for place in asked["places"]]
    found = _verified(
        read, cases, asked["models"], how, processes=1, tell=lambda _: None, stop=threading.Event()
    )
    return found.model_dump(mode="json")


def _read(
    eval_set: Path,
    agent: SimulatedAgentConfig | str | None,
    *,
    agents_dir: Path | str | None,
    environment: Path | str | None,
    cases: Collection[str],
    renamed: Mapping[str, str],
) -> _Read:
    sidecar = Path(environment) if environment is not None else recorded_beside(eval_set)
    agents = agents_for(eval_set, agent, agents_dir)
    # Of a recording inside of the set, the file that a first change of it makes is looked at.
    files = measured_files(eval_set, sidecar if sidecar != eval_set else sidecar_of(eval_set))
    return _Read(eval_set, sidecar, files, cases_to_verify(eval_set, sidecar, cases, agents, renamed))


def _verified(
    read: _Read,
    wanted: Sequence[Ready | Unready],
    models: Models,
    how: _How,
    *,
    processes: int | None,
    tell: Callable[[_Done], None],
    stop: Stop,
) -> Verification:
    jobs, told = _jobs(wanted, how.criteria, models)
    with missing_a2a_known():
        done = _all_done(jobs, how, processes, tell, stop)
    results = {id(job.ready.case): result for job, result in zip(jobs, done, strict=True)}
    return Verification(
        eval_set=read.eval_set,
        environment=read.sidecar,
        criteria=how.criteria,
        runs=how.runs,
        cases=tuple(results.get(id(each.case)) or _not_run(each) for each in wanted),
        models=told,
        renamed={old: new for each in wanted for old, new in each.renamed.items()},
        measured=Measured(files=read.files, agents=measured_agents(config_of_each(wanted))),
    )


class _Job(NamedTuple):
    """A case that is replayed, and who answers for its models."""

    ready: Ready
    models: Players


class _How(NamedTuple):
    """How cases are replayed, from the run of the number `first` on; who answers for the models, each job says."""

    criteria: Criteria
    runs: int
    at_once: int
    ways: Ways
    first: int = 1


class _Done(NamedTuple):
    """A run that is done."""

    eval_id: str
    passed: bool


def _counted(total: int, on_progress: Callable[[VerifyProgress], None]) -> Callable[[_Done], None]:
    numbers = count(1)

    def tell(done: _Done) -> None:
        now = VerifyProgress(done=next(numbers), total=total, eval_id=done.eval_id, passed=done.passed)
        on_progress(now)

    return tell


def _jobs(
    cases: Sequence[Ready | Unready], criteria: Criteria, models: Models
) -> tuple[list[_Job], tuple[str, ...]]:
    """Decide for each case that is ready who answers for its models, and tell why."""
    reasons: dict[int, str | None] = {}
    jobs: list[_Job] = []
    told: list[str] = []
    for each in cases:
        if isinstance(each, Unready):
            continue
        if models == "auto" and id(each.config) not in reasons:
            reasons[id(each.config)] = model_reachability(each.config)
        players, why = _players(each, models, reasons.get(id(each.config)))
        told.append(f"{each.config.name}: {players} models ({why})")
        jobs.append(_Job(each._replace(recorded=criteria.allowing(each.recorded)), players))
    return jobs, tuple(dict.fromkeys(told))


def _players(each: Ready, models: Models, reason: str | None) -> tuple[Players, str]:
    if models != "auto":
        return models, "as asked for"
    if not reason:
        return "real", "all can be asked from here"
    if any(turn.models for turn in each.recorded.turns):
        return "recorded", reason
    return "real", f"no turn of a model is recorded, although {reason}"


def _all_done(
    jobs: Sequence[_Job], how: _How, processes: int | None, tell: Callable[[_Done], None], stop: Stop
) -> list[CaseResult]:
    """Give the result of each case; of those that were not done when it was stopped, what there is."""
    number = how_many(processes, len(jobs))
    if number == 1:
        return run(_replayed_all(jobs, how, tell, stop))
    fewer = how._replace(at_once=max(1, how.at_once // number))

    def work(part: Sequence[_Job], tell: Callable[[_Done], None], stop: Stop) -> Sequence[CaseResult]:
        return asyncio.run(_replayed_all(part, fewer, tell, stop))

    try:
        return shared_out(work, jobs, number, tell, stop)
    except ProcessEndedError as error:
        raise VerifyError(str(error)) from error


async def _replayed_all(
    jobs: Sequence[_Job], how: _How, tell: Callable[[_Done], None], stop: Stop
) -> list[CaseResult]:
    free = asyncio.Semaphore(how.at_once)
    runs: list[list[RunResult]] = [[] for _ in jobs]

    async def case(job: _Job, found: list[RunResult]) -> None:
        for number in range(how.first, how.first + how.runs):
            async with free:
                found.append(await _one(job, how, number))
            tell(_Done(job.ready.case.eval_id, found[-1].passed))

    await _unless(
        stop, [asyncio.create_task(case(job, found)) for job, found in zip(jobs, runs, strict=True)]
    )
    return [_result(job.ready, tuple(found), how.runs) for job, found in zip(jobs, runs, strict=True)]


async def _one(job: _Job, how: _How, number: int) -> RunResult:
    case, recorded, config, _ = job.ready
    ways = how.ways._replace(models=job.models)
    replay = await replayed(case, recorded, config, ways)
    asked = Asked(how.criteria, number, ways)
    return await judged_again(job.ready, replay, await scored_as(job.ready, replay, asked), asked)


def _not_run(each: Ready | Unready) -> CaseResult:
    error = each.error if isinstance(each, Unready) else ""
    return CaseResult(eval_id=each.case.eval_id, status="error", error=error, golden=golden_steps(each))


def _result(each: Ready, runs: tuple[RunResult, ...], wanted: int) -> CaseResult:
    status: CaseStatus = "passed" if all(run.passed for run in runs) else "failed"
    return CaseResult(
        eval_id=each.case.eval_id,
        agent=each.config.app_name,
        status=status if len(runs) == wanted else "stopped",
        golden=golden_steps(each),
        runs=runs,
    )


async def _unless(stop: Stop, tasks: Sequence[asyncio.Task[None]]) -> None:
    """Wait for tasks until they are done, or until it is to stop: then they are cancelled, and waited for."""
    waiting: set[asyncio.Task[None]] = set(tasks)
    while waiting and not stop.is_set():
        _, waiting = await asyncio.wait(waiting, timeout=_LOOKS_EVERY)
    for task in waiting:
        task.cancel()
    for outcome in await asyncio.gather(*tasks, return_exceptions=True):
        if isinstance(outcome, Exception) and not isinstance(outcome, asyncio.CancelledError):
            raise outcome
