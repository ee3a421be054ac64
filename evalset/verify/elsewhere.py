"""Verifies the cases of an agent whose code runs in kernels: there, in the agent's own environment."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future
from functools import partial
from pathlib import Path
from typing import Any

from evalset.verify.errors import VerifyError
from evalset.verify.results import Verification, VerifyProgress
from evalset.verify.sharing import Part, Sharing, Stop
from evalset.verify.written import WrittenCase
from simulator.agent_config import SimulatedAgentConfig
from simulator.agents import AgentLoadError, AgentSettingsError, absolute_agent, settings_from
from simulator.agents.folder import AgentFolder
from simulator.jsonvalue import JsonObject
from simulator.kernel.config import KernelAgentConfig
from simulator.kernel.executor import KernelExecutor
from simulator.kernel.interpreters import project_python
from simulator.kernel.process import Kernel, KernelError, RefusedError

_PATHS = ("path", "environment", "agents_dir")
_WORTH_A_PROCESS = 20
"""Runs for which another process pays: starting it takes as long as a few dozen of them."""


def shared_out_to(
    executor: Executor | None,
    agent: SimulatedAgentConfig | str | None,
    *,
    base: Verification,
    eval_ids: Sequence[str],
    asked: dict[str, Any],
    processes: int | None,
    tell: Callable[[VerifyProgress], None],
    stop: Stop,
) -> Verification:
    """Have a verification done by an executor, or else in kernels of its agent.

    Args:
        executor: Who does it.
        agent: The agent; where there is an executor, in words.
        base: The verification, without results.
        eval_ids: The ids of the cases that were chosen.
        asked: What `verify_part` takes beside.
        processes: How many workers there are; None for as many as pay.
        tell: Told after each run.
        stop: Ends it.

    Raises:
        VerifyError: As `verify`; or no kernel can be started.
        ValueError: The agent is none in words, and there is an executor.
    """
    workers = processes or workers_for(len(eval_ids) * base.runs)
    own = None if executor else _kernels_of(agent, workers)
    executor = executor or own
    if executor is None or (own is None and isinstance(agent, SimulatedAgentConfig)):
        raise ValueError("an executor's workers load the agent themselves: name it in words")
    given = _plain(asked | _for_workers(base, agent, int(asked["at_once"]), workers))
    try:
        return Sharing(partial(_submit, executor, given), eval_ids, base.runs, tell).done(workers, stop, base)
    except (KernelError, RefusedError) as error:
        raise VerifyError(str(error)) from error
    finally:
        if own is not None:
            own.shutdown(wait=False)


def _kernels_of(agent: SimulatedAgentConfig | str | None, workers: int) -> KernelExecutor | None:
    return KernelExecutor(agent.kernels.fresh, workers) if isinstance(agent, KernelAgentConfig) else None


def _submit(executor: Executor, given: JsonObject, part: Part) -> Future[Any]:
    """Have a part of the runs done; a kernel puts its agent before what it is given."""
    from evalset.verify.verifying import verify_part  # noqa: PLC0415 - which asks for this module

    of_part = {"places": list(part.places), "first": part.first, "runs": part.runs}
    agent = () if isinstance(executor, KernelExecutor) else (None,)
    return executor.submit(verify_part, *agent, **given, **of_part)


def _for_workers(
    base: Verification, agent: SimulatedAgentConfig | str | None, at_once: int, workers: int
) -> dict[str, Any]:
    """Return what each worker is told of the whole verification; `at_once` replays are shared out among them."""
    return {
        "verification": uuid.uuid4().hex,
        "path": base.eval_set,
        "environment": base.environment,
        "agent": absolute_agent(agent) if isinstance(agent, str) else None,
        "criteria": base.criteria.model_dump(mode="json"),
        "at_once": max(1, at_once // workers),
    }


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
    place = Path(agent.rpartition("#")[0] or agent) if agent else agents_dir or eval_set.absolute().parent
    folder = AgentFolder(place)
    try:
        agents = [folder.where(name) for name in folder.names()]
    except AgentLoadError:  # a file of configs, or eval sets alone
        agents = [folder.path]
    pythons = {project_python(each) for each in agents}
    return pythons.pop() if len(pythons) == 1 else None


def kernels_with(python: Path, workers: int) -> KernelExecutor:
    """Make an executor of kernels that have loaded no agent: each finds those of its cases itself."""
    return KernelExecutor(lambda: Kernel(python, Path.cwd()), workers)


def workers_for(runs: int) -> int:
    """Say how many processes pay for so many runs."""
    return max(1, min(os.cpu_count() or 1, runs // _WORTH_A_PROCESS))


def replay_written_in_kernel(config: KernelAgentConfig, arguments: dict[str, Any]) -> WrittenCase:
    """Have `replay_written` run in a kernel of the agent; arguments as for it.

    Raises:
        VerifyError: As `replay_written`; or the kernel cannot be started or has ended.
    """
    try:
        found = config.kernels.run("replay_written_here", _plain(arguments))
    except (KernelError, RefusedError) as error:
        raise VerifyError(str(error)) from error
    return WrittenCase.model_validate(found)


def _plain(arguments: dict[str, Any]) -> JsonObject:
    """Write paths absolutely, as a kernel works in the agent's project, and collections as lists."""
    written: JsonObject = {}
    for name, value in arguments.items():
        if name in _PATHS:
            written[name] = None if value is None else str(Path(value).absolute())
        else:
            written[name] = list(value) if isinstance(value, (tuple, set, frozenset)) else value
    return written


# ---------------------------------------------------------------- in the kernel


def replay_written_here(config: SimulatedAgentConfig, **arguments: Any) -> Any:
    """Replay a case that was just written, with the agent that this process has loaded."""
    from evalset.verify.written import replay_written  # noqa: PLC0415 - which asks for this module

    return replay_written(**arguments, agent=config).model_dump(mode="json")
