"""Verifies the cases of an eval set: in this process, or in worker processes, of which none need be this machine's. Imports no ADK.

`verify` decides where. `Sharing` cuts the work into parts, a few cases each, and hands them to an executor as fast as they come back; a part at which a worker
ends is tried once more, alone. Workers are the kernels of the agents, in their project's environment, as many as pay, or any others.
"""

from __future__ import annotations

import os
import sys
import threading
import time
import uuid
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

from evalset.errors import EvalSetError
from evalset.files.datasets import project_of
from evalset.files.eval_names import no_case
from evalset.files.set_outline import ids_in_order
from evalset.replay.model_choice import BY_HAND, Models, Policy
from evalset.verify.results import CaseResult, CaseStatus, RunResult, Verification, VerifyError, judged_among
from evalset.verify.verify_request import (
    AT_ONCE,
    PATIENCE,
    AtWork,
    Criteria,
    Stop,
    Told,
    VerifyProgress,
    VerifyRequest,
    WorkPart,
)
from simulator.agent_config import SimulatedAgentConfig
from simulator.agents import AgentLoadError, AgentSettingsError, settings_from
from simulator.agents.agent_folder import AgentFolder
from simulator.agents.agent_settings import project_python
from simulator.base.documents import read_file
from simulator.kernel.agent_kernels import KernelExecutor
from simulator.kernel.kernel import Kernel, KernelError, RefusedError
from simulator.kernel.kernel_agent import KernelAgentConfig
from simulator.runtime.adk.private_network import used_together

if TYPE_CHECKING:
    from evalset.verify.in_process import PartsOf


_LOOKS_EVERY = 0.1
_MOST_IN_A_PART = 8
_PARTS_FOR_EACH = 8
"""Into how many parts at least the work of each worker is cut, so that a slow case holds up no other."""


def verify(  # long: what it takes is most of it
    path: Path | str,
    *,
    agent: SimulatedAgentConfig | str | None = None,
    agents_dir: Path | str | None = None,
    environment: Path | str | None = None,
    cases: Collection[str] = (),
    runs: int = 1,
    models: Models = BY_HAND,
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
    on_work: AtWork = lambda _: None,
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
        processes: In how many processes; None for as many as pay. One is this process; more are made by starting them anew, and
            they load the agent themselves: one that this process made is verified here.
        renamed: The new name of each agent that was renamed since the recording, by its old one; the files stay as they are.
        on_progress: Told after each run, in the thread that replays.
        stop: Ends it when it is set; what was done by then is given.
        latencies: Let each tool take as long as it did when it was recorded.
        executor: Does the work, a few cases at a time: what is submitted can be pickled, so any `concurrent.futures.Executor` will do. Its
            workers load the agent themselves, by `agent` in words and `agents_dir`; `processes` says how many there are. Who made it
            ends it. By default an agent that plays in kernels is verified in kernels, in as many as `processes` says.
        on_work: Told the ids of the cases that are at work, whenever these are others; in the thread that replays.

    Raises:
        VerifyError: A file cannot be read or is something else, or a case or the agent is not there.
        ValueError: A number is less than 1, or an executor is given with an agent that is not in words.
    """
    if runs < 1 or at_once < 1:
        raise ValueError(f"runs and at_once must be at least 1, not {min(runs, at_once)}")
    stop = stop or threading.Event()
    request = VerifyRequest(
        eval_set=Path(path),
        agent=agent if isinstance(agent, str) else "",
        agents_dir=Path(agents_dir) if agents_dir is not None else None,
        environment=Path(environment) if environment is not None else None,
        cases=tuple(cases),
        runs=runs,
        models=models,
        unrecorded=unrecorded,
        criteria=criteria or Criteria(),
        at_once=at_once,
        timeout=timeout,
        renamed=renamed or {},
        latencies=latencies,
    )
    tell = Told(on_progress, on_work)
    made = agent if isinstance(agent, SimulatedAgentConfig) else None
    if executor is not None:
        if made is not None:
            raise ValueError(
                "the workers of an executor load the agent themselves; pass its name, not an object"
            )
        return judged_among(_shared(executor, request, processes, tell, stop))
    return judged_among(_verified(request, made, processes, tell, stop))


def _verified(
    request: VerifyRequest,
    made: SimulatedAgentConfig | None,
    processes: int | None,
    tell: Told,
    stop: Stop,
) -> Verification:
    """Verify in kernels, where the agent plays in them or several of them pay; else in this process."""
    is_here = made is not None and not isinstance(made, KernelAgentConfig)
    number = (
        1
        if is_here
        else processes or workers_for(len(chosen_ids(request.eval_set, request.cases)) * request.runs)
    )
    if not isinstance(made, KernelAgentConfig) and number == 1:
        from evalset.verify.in_process import verify_here  # noqa: PLC0415 - imports ADK, which other processes may do

        return verify_here(request, made, tell, stop)
    if isinstance(made, KernelAgentConfig):
        executor = _kernels_of(made, number, request.models)
    else:
        executor = kernels_with(Path(sys.executable), number, request.models)
    try:
        return _shared(executor, request, number, tell, stop)
    finally:
        executor.shutdown(wait=False)


def _kernels_of(made: KernelAgentConfig, workers: int, models: Models) -> KernelExecutor:
    def start(is_private: bool) -> Kernel:
        try:
            return made.kernels.fresh(is_private=is_private)
        except KernelError:
            if models == "recorded" or not is_private:
                raise
            return made.kernels.fresh()  # it may need the network when it is loaded

    return KernelExecutor(start, workers, is_private=models != "real")


def _shared(
    executor: Executor, request: VerifyRequest, processes: int | None, tell: Told, stop: Stop
) -> Verification:
    """Have a verification done by an executor: its workers find the agents themselves, those of kernels may have loaded one."""
    eval_ids = chosen_ids(request.eval_set, request.cases)
    workers = processes or workers_for(len(eval_ids) * request.runs)
    # As many replays at a time as in one process.
    for_each = request.model_copy(update={"at_once": max(1, request.at_once // workers)})
    sharing = Sharing(_submitting(executor, for_each), eval_ids, request.runs, tell)
    try:
        return sharing.done(workers, stop, _nothing_done(request))
    except (KernelError, RefusedError) as error:  # another executor's worker raises a `VerifyError`
        from evalset.verify.cases_to_verify import read_eval_set  # noqa: PLC0415 - imports ADK

        read_eval_set(request.eval_set)  # where ADK refuses the set, that is the reason
        raise VerifyError(str(error)) from error


def chosen_ids(eval_set: Path, chosen: Collection[str]) -> list[str]:
    """Return the ids of the cases that are verified, all where none is chosen, in the order of the file.

    Raises:
        VerifyError: The file cannot be read, or holds something else, or has no case of a chosen id.
    """
    try:
        ids = ids_in_order(eval_set, read_file(eval_set))
    except OSError as error:
        raise VerifyError(f"{eval_set}: cannot be read: {error.strerror or error}") from error
    except EvalSetError:
        # An old form, or none at all: ADK's loader and the doctor have the word.
        from evalset.verify.cases_to_verify import read_eval_set  # noqa: PLC0415 - imports ADK

        ids = [case.eval_id for case in read_eval_set(eval_set)]
    if missing := set(chosen) - set(ids):
        raise VerifyError(no_case(eval_set, min(missing), ids))
    return [eval_id for eval_id in ids if not chosen or eval_id in chosen]


def _submitting(executor: Executor, request: VerifyRequest) -> Callable[[WorkPart], Future[Any]]:
    """Return what submits a part of one verification: a worker that does several of its parts reads the files once."""
    given: dict[str, Any] = {
        "verification": uuid.uuid4().hex,
        "request": request.absolute().model_dump(mode="json"),
    }
    # A kernel puts the agent that it has loaded before what it is given.
    agent = () if isinstance(executor, KernelExecutor) else (None,)

    def submit(part: WorkPart) -> Future[Any]:
        return executor.submit(verify_part, *agent, **given, part=part.model_dump(mode="json"))

    return submit


def _nothing_done(request: VerifyRequest) -> Verification:
    return Verification(
        eval_set=request.eval_set,
        environment=request.recording,
        criteria=request.criteria,
        runs=request.runs,
    )


class CaseByCase:
    """Verifies one case of an eval set at a time, in whatever order they are asked for.

    Args:
        executor: As for `verify`; it does one part at a time.
        request: What is verified, with all cases of the set.
    """

    def __init__(self, executor: Executor, request: VerifyRequest) -> None:
        self._request, self._submit = request, _submitting(executor, request)

    def verified(self, place: int, eval_id: str) -> Verification:
        """Verify the one case at a place of the set, from 0.

        Raises:
            KernelError: No worker can be started.
            RefusedError: A kernel cannot do it; the text says why.
        """

        def submit(part: WorkPart) -> Future[Any]:
            return self._submit(part.model_copy(update={"places": (place,)}))

        sharing = Sharing(submit, [eval_id], self._request.runs, Told())
        return sharing.done(1, threading.Event(), _nothing_done(self._request))


def eval_ids_here(_: SimulatedAgentConfig | None, /, *, path: str) -> list[str]:
    """Return in a kernel the ids of the cases of an eval set, in their order, whatever form of ADK's it has.

    Raises:
        VerifyError: The file cannot be read; the text says why.
    """
    from evalset.verify.cases_to_verify import read_eval_set  # noqa: PLC0415 - imports ADK

    return [case.eval_id for case in read_eval_set(Path(path))]


def configured_by(executor: KernelExecutor, config: Path, workers: int) -> Criteria:
    """Have an `EvalConfig` read by a worker, as ADK is imported there; all of them start meanwhile.

    Raises:
        KernelError: No worker can be started.
        RefusedError: The file cannot be read, or is none.
    """
    first, *_ = [executor.submit(criteria_here, path=str(config.absolute())) for _ in range(workers)]
    return Criteria.model_validate(first.result())


def criteria_here(_: SimulatedAgentConfig | None, /, *, path: str) -> Any:
    """Read an `EvalConfig` in a kernel; return a `Criteria` in JSON."""
    from evalset.verify.metric import criteria_of  # noqa: PLC0415 - imports ADK, which who shares out needs not

    return criteria_of(path).model_dump(mode="json")


def accept_here(_: SimulatedAgentConfig | None, /, *, path: str, eval_id: str, run: Any) -> None:
    """Accept a run in a kernel, as `accept` does; it is a `RunResult` in JSON.

    Raises:
        VerifyError: As there.
    """
    from evalset.verify.golden_repair import accept  # noqa: PLC0415 - imports ADK

    accept(path, eval_id, RunResult.model_validate(run))


_parts: dict[str, PartsOf] = {}
"""What this process verified parts of last, by the name of that verification."""


def verify_part(config: SimulatedAgentConfig | None, /, *, verification: str, request: Any, part: Any) -> Any:
    """Do a part of a verification where it was sent to: in a kernel, or in what another executor has.

    Args:
        config: The agent of all cases; None where they are found by the request.
        verification: The name of the verification.
        request: A `VerifyRequest` in JSON.
        part: A `WorkPart` in JSON.

    Returns:
        A `Verification` of the part's cases and runs, in JSON.
    """
    from evalset.verify.in_process import PartsOf  # noqa: PLC0415 - imports ADK, which who shares out needs not

    if verification not in _parts:
        _parts.clear()
        _parts[verification] = PartsOf(VerifyRequest.model_validate(request), config)
    return _parts[verification].done(WorkPart.model_validate(part)).model_dump(mode="json")


def parts_of(cases: int, runs: int, workers: int) -> Iterator[WorkPart]:
    """Cut the runs of cases into parts: some cases with all their runs, or some runs of one case where there are many."""
    size = max(1, min(_MOST_IN_A_PART, cases * runs // (max(1, workers) * _PARTS_FOR_EACH)))
    at_once = max(1, size // runs)
    for start in range(0, cases, at_once):
        places = tuple(range(start, min(cases, start + at_once)))
        for first in range(1, runs + 1, size if at_once == 1 else runs):
            count = min(runs - first + 1, size if at_once == 1 else runs)
            yield WorkPart(places=places, first=first, runs=count)


class Sharing:
    """Has all parts of a verification done.

    Args:
        submit: Submits a part to an executor; the future gives a `Verification` in JSON.
        eval_ids: The ids of the cases, by their places.
        runs: How many runs each has.
        tell: Told after each part, for each of its runs; and which cases the parts at work have.
    """

    def __init__(
        self,
        submit: Callable[[WorkPart], Future[Any]],
        eval_ids: Sequence[str],
        runs: int,
        tell: Told,
    ) -> None:
        self._begin, self._ids, self._runs, self._tell = submit, eval_ids, runs, tell
        self._waiting: dict[Future[Any], WorkPart] = {}
        self._ready: SimpleQueue[Future[Any]] = SimpleQueue()
        self._found: list[list[tuple[int, CaseResult]]] = [[] for _ in eval_ids]
        self._verifications: list[Verification] = []
        self._done = 0
        self._at_work: tuple[str, ...] = ()

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
                self._tell_at_work()
                try:
                    self._take(self._ready.get(timeout=_LOOKS_EVERY))
                except Empty:
                    continue
        finally:
            for future in self._waiting:
                future.cancel()
        return self._put_together(base, time.perf_counter() - began)

    def _tell_at_work(self) -> None:
        parts = [part for future, part in self._waiting.items() if future.running()]
        now = tuple(dict.fromkeys(self._ids[place] for part in parts for place in part.places))
        if now != self._at_work:
            self._at_work = now
            self._tell.at_work(now)

    def _submit(self, part: WorkPart) -> None:
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

    def _try_again(self, part: WorkPart, error: BrokenExecutor) -> None:
        """Have each case of a part done once more by itself; the one that ends a worker again is the one that does it."""
        for place in part.places:
            if not part.again:
                try:
                    self._submit(part.model_copy(update={"places": (place,), "again": True}))
                    continue
                except BrokenExecutor:  # it can do no more at all
                    pass
            words = f"the process that replayed it ended, also on a second try: {error}"
            self._hold(place, part, CaseResult(eval_id=self._ids[place], status="error", error=words))

    def _hold(self, place: int, part: WorkPart, case: CaseResult) -> None:
        self._found[place].append((part.first, case))
        passed: list[bool | None] = [run.passed for run in case.runs]
        for each in passed or [None if case.status == "skipped" else False] * part.runs:
            self._done += 1
            self._tell.done(
                VerifyProgress(
                    done=self._done,
                    total=len(self._ids) * self._runs,
                    eval_id=case.eval_id,
                    passed=each,
                    could_run=bool(each) or case.status != "error",
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
                "network": used_together(each.network for each in self._verifications),
                "measured": measured[0].model_copy(update={"agents": tuple(agents)}) if measured else None,
            }
        )

    def _case(self, eval_id: str, found: list[tuple[int, CaseResult]]) -> CaseResult:
        """Put the runs of a case together; what ended its worker is its error, whatever other runs gave."""
        if not found:
            return CaseResult(eval_id=eval_id, status="stopped")
        cases = [case for _, case in sorted(found, key=lambda each: each[0])]
        runs = tuple(run for case in cases for run in case.runs)
        error = next((case for case in cases if case.status in {"error", "skipped"}), None)
        status: CaseStatus = "passed" if all(run.passed for run in runs) else "failed"
        if error is not None:
            return (next((case for case in cases if case.golden), error)).model_copy(
                update={"status": error.status, "error": error.error, "runs": runs}
            )
        return cases[0].model_copy(
            update={"status": status if len(runs) == self._runs else "stopped", "runs": runs}
        )


_WORTH_A_PROCESS = 20
"""Runs for which another process pays: starting it takes as long as a few dozen of them."""


def interpreter_for(
    eval_set: Path, agent: str | None, agents_dir: Path | None, named: str = ""
) -> Path | None:
    """Find the interpreter of the agents' project; None where this process's own will do, or they have several.

    Args:
        eval_set: The eval set; where nothing else is said the agents are around it.
        agent: The agent of all cases, in words.
        agents_dir: The folder of agents.
        named: The interpreter that somebody has named; by default what `GOLDEN_TRACE_PYTHON` says.

    Raises:
        VerifyError: There is no such interpreter.
    """
    try:
        chosen = settings_from(["--python", named] if named else [], os.environ).python
    except AgentSettingsError as error:
        raise VerifyError(str(error)) from error
    if chosen is not None:
        return chosen
    project = project_of(eval_set.absolute().parent)
    around = project.agent if project is not None else eval_set.absolute().parent
    place = Path(agent.rpartition("#")[0] or agent) if agent else agents_dir or around
    folder = AgentFolder(place)
    try:
        agents = [folder.where(name) for name in folder.names()]
    except AgentLoadError:  # a file of configs, or eval sets alone
        agents = [folder.path]
    pythons = {project_python(each) for each in agents}
    return pythons.pop() if len(pythons) == 1 else None


def kernels_with(python: Path, workers: int, models: Models) -> KernelExecutor:
    """Make an executor of kernels that have loaded no agent: each finds those of its cases itself.

    Args:
        python: Their interpreter.
        workers: How many there are.
        models: Who answers for the agents' models; unless those themselves do, the kernels have a network of their own.
    """

    def start(is_private: bool) -> Kernel:
        return Kernel(python, Path.cwd(), is_private=is_private)

    return KernelExecutor(start, workers, is_private=models != "real")


def workers_for(runs: int) -> int:
    """Say how many processes pay for so many runs."""
    return max(1, min(os.cpu_count() or 1, runs // _WORTH_A_PROCESS))
