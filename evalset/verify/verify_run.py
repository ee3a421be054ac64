"""Verifies the cases of an eval set: in this process, or in worker processes, of which none need be this machine's."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Executor
from pathlib import Path

from evalset.errors import EvalSetError
from evalset.files.eval_names import no_case
from evalset.files.set_outline import ids_in_order
from evalset.replay.model_choice import BY_HAND, Models, Policy
from evalset.verify.results import Verification, VerifyError, judged_among
from evalset.verify.verify_request import (
    AT_ONCE,
    PATIENCE,
    AtWork,
    Criteria,
    Stop,
    Told,
    VerifyProgress,
    VerifyRequest,
)
from evalset.verify.work_sharing import kernels_with, verify_by, workers_for
from simulator.agent_config import SimulatedAgentConfig
from simulator.base.documents import read_file
from simulator.kernel.agent_kernels import KernelExecutor
from simulator.kernel.kernel import Kernel, KernelError, RefusedError
from simulator.kernel.kernel_agent import KernelAgentConfig


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
        return judged_among(_by(executor, request, processes, tell, stop))
    return judged_among(_verified(request, made, processes, tell, stop))


def _verified(
    request: VerifyRequest,
    made: SimulatedAgentConfig | None,
    processes: int | None,
    tell: Told,
    stop: Stop,
) -> Verification:
    if isinstance(made, KernelAgentConfig):
        number = processes or workers_for(len(chosen_ids(request.eval_set, request.cases)) * request.runs)
        executor = _kernels_of(made, number, request.models)
        return _by_own(executor, request, number, tell, stop)
    if made is None and processes != 1:
        number = processes or workers_for(len(chosen_ids(request.eval_set, request.cases)) * request.runs)
        if number > 1:
            executor = kernels_with(Path(sys.executable), number, request.models)
            return _by_own(executor, request, number, tell, stop)
    from evalset.verify.in_process import verify_here  # noqa: PLC0415 - imports ADK, which other processes may do

    return verify_here(request, made, tell, stop)


def _kernels_of(made: KernelAgentConfig, workers: int, models: Models) -> KernelExecutor:
    def start(is_private: bool) -> Kernel:
        try:
            return made.kernels.fresh(is_private=is_private)
        except KernelError:
            if models == "recorded" or not is_private:
                raise
            return made.kernels.fresh()  # it may need the network when it is loaded

    return KernelExecutor(start, workers, is_private=models != "real")


def _by_own(
    executor: KernelExecutor,
    request: VerifyRequest,
    workers: int,
    tell: Told,
    stop: Stop,
) -> Verification:
    try:
        return _by(executor, request, workers, tell, stop)
    finally:
        executor.shutdown(wait=False)


def _by(
    executor: Executor,
    request: VerifyRequest,
    processes: int | None,
    tell: Told,
    stop: Stop,
) -> Verification:
    eval_ids = chosen_ids(request.eval_set, request.cases)
    workers = processes or workers_for(len(eval_ids) * request.runs)
    try:
        return verify_by(executor, request, eval_ids, workers=workers, tell=tell, stop=stop)
    except (KernelError, RefusedError) as error:
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
