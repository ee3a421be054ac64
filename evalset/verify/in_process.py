"""Replays cases in this process, several at a time, each run in a session of its own, until done or stopped."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import NamedTuple

from evalset.measured import Measured, MeasuredFile, measured_agents, measured_files, version_of
from evalset.recorded.golden_digests import golden_of
from evalset.recorded.recorded_turns import needs_no_model
from evalset.recorded.recording import is_imported, unsure_in
from evalset.recorded.recording_files import sidecar_of
from evalset.replay.model_choice import Models, model_choice
from evalset.verify.case_replay import ReplayOptions, replayed, run_to_end
from evalset.verify.cases_to_verify import (
    CasesToVerify,
    ReadyCase,
    Unready,
    agents_for,
    config_of_each,
    doctor_command,
)
from evalset.verify.results import (
    NO_MODEL_TURNS,
    CaseResult,
    CaseStatus,
    Players,
    RunResult,
    Varying,
    Verification,
    VerifyError,
    rename_words,
)
from evalset.verify.scoring import RunSettings, scored_as, unknown_in
from evalset.verify.verify_request import Criteria, Stop, Told, VerifyProgress, VerifyRequest, WorkPart
from simulator.agent_config import SimulatedAgentConfig
from simulator.agents.load_failure import absent_words, placeholder_words, without_absent_packages
from simulator.base.json_text import collecting_seldom
from simulator.runtime.adk.adk_private import let_missing_a2a_be_known
from simulator.runtime.adk.outside_work import asked_what_there_is
from simulator.runtime.adk.private_network import (
    REAL_MODELS,
    NetworkNeededError,
    NetworkUse,
    network_use,
    private_network,
)
from simulator.runtime.models.reachability import has_models, model_reachability

_LOOKS_EVERY = 0.05
_LOADING = "an agent may need the network when it is loaded"


def verify_here(
    request: VerifyRequest,
    agent: SimulatedAgentConfig | None,
    tell: Told,
    stop: Stop,
) -> Verification:
    """Verify all cases; arguments as for `verify`.

    Raises:
        VerifyError: As there.
    """
    began = time.perf_counter()
    with _loading(request):
        read = _read(request, agent)
        cases = [*read.cases]
    ready = sum(isinstance(each, ReadyCase) for each in cases)
    found = _verified(request, read, cases, tell=_Counted(ready * request.runs, tell), stop=stop)
    return found.model_copy(update={"seconds": time.perf_counter() - began})


def _loading(request: VerifyRequest) -> AbstractContextManager[None]:
    """Let agents do without packages that are not installed, where a recording may answer for models and tools."""
    return nullcontext() if request.models == "real" else without_absent_packages()


class PartsOf:
    """Does the parts of one verification; its files are read once.

    Args:
        request: What is verified.
        agent: The agent of all cases; None where they are found by what is asked for.

    Raises:
        VerifyError: As `verify`.
    """

    def __init__(self, request: VerifyRequest, agent: SimulatedAgentConfig | None) -> None:
        self._request = request
        with _loading(request):
            self._read = _read(request, agent)

    def done(self, part: WorkPart) -> Verification:
        """Replay the part's runs of its cases."""
        with _loading(self._request):
            cases = [self._read.cases[place] for place in part.places]
        request = self._request.model_copy(update={"runs": part.runs})
        tell = _Counted(0, Told())
        return _verified(request, self._read, cases, first=part.first, tell=tell, stop=threading.Event())


class _Read(NamedTuple):
    """The cases of an eval set, and the digests of its files from before they were read."""

    files: tuple[MeasuredFile, ...]
    cases: CasesToVerify


def _read(request: VerifyRequest, agent: SimulatedAgentConfig | None) -> _Read:
    eval_set, recording = request.eval_set, request.recording
    try:
        agents = agents_for(eval_set, agent or request.agent or None, request.agents_dir)
    except VerifyError as error:
        if request.models == "recorded" or private_network() is None:
            raise
        raise NetworkNeededError(_LOADING) from error
    # Of a recording inside of the set, the file that a first change of it makes is looked at.
    files = measured_files(eval_set, recording if recording != eval_set else sidecar_of(eval_set))
    cases = CasesToVerify(
        eval_set, recording, request.cases, agents, renamed=request.renamed, models=request.models
    )
    return _Read(files, cases)


def _verified(
    request: VerifyRequest,
    read: _Read,
    wanted: Sequence[ReadyCase | Unready],
    *,
    first: int = 1,
    tell: _Counted,
    stop: Stop,
) -> Verification:
    command = partial(doctor_command, request.eval_set, request.agent, request.agents_dir)
    jobs, told = _jobs(wanted, request.criteria, request.models, command)
    configs = config_of_each(wanted)
    lacks = dict.fromkeys(filter(None, (placeholder_words(config.placeholders) for config in configs)))
    _check_network(wanted, jobs, request.models)
    let_missing_a2a_be_known()
    with collecting_seldom():
        done = run_to_end(_replayed_all(jobs, request, first, tell, stop))
    results = {id(job.ready.case): result for job, result in zip(jobs, done, strict=True)}
    ended = [(each, results.get(id(each.case)) or _not_run(each)) for each in wanted]
    return Verification(
        eval_set=request.eval_set,
        environment=request.recording,
        criteria=request.criteria,
        runs=request.runs,
        cases=tuple(
            case.model_copy(update={"error": read.cases.named(case.error, each, request.agent)})
            for each, case in ended
        ),
        models=(*told, *lacks),
        renamed={old: new for each in wanted for old, new in each.renamed.items()},
        measured=Measured(files=read.files, agents=measured_agents(configs), adk=version_of("google-adk")),
        network=_network_of(jobs, done),
    )


def _check_network(wanted: Sequence[ReadyCase | Unready], jobs: Sequence[_Job], models: Models) -> None:
    """Check that models that answer themselves can be reached from here, and an agent that may need the network to load has it.

    Raises:
        NetworkNeededError: They cannot.
    """
    if models != "recorded" and private_network() is not None:
        if any(job.models == "real" for job in jobs):
            raise NetworkNeededError("the agents' models need the network")
        if any(isinstance(each, Unready) and each.is_unloadable for each in wanted):
            raise NetworkNeededError(_LOADING)


def _network_of(jobs: Sequence[_Job], done: Sequence[CaseResult]) -> NetworkUse | None:
    if not jobs:
        return None
    use = network_use()
    hosts = [host for case in done for each in case.runs for host in each.refused_hosts]
    is_open = any(job.models == "real" for job in jobs)
    update = {"refused": tuple(dict.fromkeys((*hosts, *use.refused)))}
    return use.model_copy(update=update | ({"not_checked": REAL_MODELS} if is_open else {}))


class _Job(NamedTuple):
    """A case that is replayed, who answers for its models, and what varies between its replays, once that is known."""

    ready: ReadyCase
    models: Players
    varying: list[tuple[Varying, ...]]


class _Counted:
    """Tells how far a verification in this process is."""

    def __init__(self, total: int, tell: Told) -> None:
        self._total, self._tell = total, tell
        self._done, self._at_work = 0, list[str]()

    def begin(self, eval_id: str) -> None:
        self._at_work.append(eval_id)
        self._tell.at_work(tuple(dict.fromkeys(self._at_work)))

    def end(self, eval_id: str, run: RunResult) -> None:
        self._at_work.remove(eval_id)
        self._done += 1
        could_run = run.passed or not run.unasked
        now = VerifyProgress(
            done=self._done, total=self._total, eval_id=eval_id, passed=run.passed, could_run=could_run
        )
        self._tell.done(now)


def _jobs(
    cases: Sequence[ReadyCase | Unready], criteria: Criteria, models: Models, doctor: Callable[[], str]
) -> tuple[list[_Job], tuple[str, ...]]:
    """Decide for each case that is ready who answers for its models, and tell why."""
    reasons: dict[int, str | None] = {}
    jobs: list[_Job] = []
    told: list[str] = []
    for each in cases:
        if isinstance(each, Unready):
            continue
        if models == "auto" and id(each.config) not in reasons:
            with asked_what_there_is():
                reasons[id(each.config)] = absent_words(each.config.absent) or model_reachability(each.config)
        reason = reasons.get(id(each.config))
        is_recorded = needs_no_model(each.recorded)
        choice = model_choice(models, reason, is_recorded=is_recorded, asks_none=_asks_none(each))
        if choice is None:
            continue
        told.append(f"{each.config.name}: {choice.words}")
        allowing = each._replace(recorded=criteria.allowing(each.recorded), doctor=doctor)
        jobs.append(_Job(allowing, choice.players, []))
    return jobs, tuple(dict.fromkeys(told))


def _asks_none(each: ReadyCase) -> bool:
    """Return whether no model is asked in the replay of a case: none was when it was recorded here, or its agent has none."""
    is_own = not is_imported(each.recorded)
    if is_own and any(turn.models for turn in each.recorded.turns):
        return False
    return (is_own and needs_no_model(each.recorded)) or not has_models(each.config.root_agent)


async def _replayed_all(
    jobs: Sequence[_Job], request: VerifyRequest, first: int, tell: _Counted, stop: Stop
) -> list[CaseResult]:
    """Return the result of each case; of those that were not done when it was stopped, what there is."""
    free = asyncio.Semaphore(request.at_once)
    runs: list[list[RunResult]] = [[] for _ in jobs]

    async def case(job: _Job, found: list[RunResult]) -> None:
        for number in range(first, first + request.runs):
            async with free:
                tell.begin(job.ready.case.eval_id)
                found.append(await _one(job, request, number))
            tell.end(job.ready.case.eval_id, found[-1])

    await _unless(
        stop, [asyncio.create_task(case(job, found)) for job, found in zip(jobs, runs, strict=True)]
    )
    return [_result(job.ready, tuple(found), request.runs) for job, found in zip(jobs, runs, strict=True)]


async def _one(job: _Job, request: VerifyRequest, number: int) -> RunResult:
    case, recorded, config, *_ = job.ready
    ways = ReplayOptions(job.models, request.unrecorded, request.timeout, request.latencies)
    replay = await replayed(case, recorded, config, ways)
    asked = RunSettings(request.criteria, number, ways, job.varying)
    result = await scored_as(job.ready, replay, asked)
    if not result.passed:
        from evalset.verify.varying_values import judged_again  # noqa: PLC0415 - most runs pass

        result = await judged_again(job.ready, replay, result, asked)
    return result.model_copy(update={"refused_hosts": replay.refused_hosts})


def _not_run(each: ReadyCase | Unready) -> CaseResult:
    error = each.error if isinstance(each, Unready) else absent_words(each.config.absent) or NO_MODEL_TURNS
    golden = each.golden if isinstance(each, ReadyCase) else golden_of(each.case, None)
    status: CaseStatus = "skipped" if each.case.conversation_scenario is not None else "error"
    return CaseResult(eval_id=each.case.eval_id, status=status, error=error, golden=golden.steps)


def _result(each: ReadyCase, runs: tuple[RunResult, ...], wanted: int) -> CaseResult:
    status: CaseStatus = "passed" if all(run.passed for run in runs) else "failed"
    unasked = next((run.unasked for run in runs if run.unasked and not run.passed), "")
    if unasked:
        status = "error"
        named = [
            rename_words(*names) for names in each.renamed.items()
        ]  # the turns of the old name are there
        unasked = ". ".join(named) or unasked
    return CaseResult(
        eval_id=each.case.eval_id,
        agent=each.config.app_name,
        status=status if len(runs) == wanted else "stopped",
        error=unasked,
        golden=each.golden.steps,
        runs=runs,
        unknown=tuple(
            dict.fromkeys((*unknown_in(each), *(run.unasked for run in runs if run.passed and run.unasked)))
        ),
        blanks=unsure_in(each.recorded).blanks,
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
