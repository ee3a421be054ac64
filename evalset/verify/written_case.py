"""Replays a case that was just written, once and silently: whether it passes its own verification, and what differs by itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from evalset.recorded.tolerances import Tolerance
from evalset.verify.case_replay import CaseReplay, ReplayOptions, replayed
from evalset.verify.cases_to_verify import CasesToVerify, ReadyCase, agents_for, recorded_beside
from evalset.verify.coroutines import PATIENCE, run
from evalset.verify.criteria import Criteria
from evalset.verify.errors import VerifyError
from evalset.verify.proposed_tolerances import add_tolerances
from evalset.verify.results import Players, RunResult, Varying
from evalset.verify.varying_values import RunSettings, allowing, find_varying, passed_anew, scored_as
from simulator.agent_config import SimulatedAgentConfig
from simulator.base.frozen_value import Value
from simulator.base.json_values import JsonObject
from simulator.kernel.kernel import KernelError, RefusedError
from simulator.kernel.kernel_agent import KernelAgentConfig
from simulator.runtime.adk.adk_private import let_missing_a2a_be_known


class WrittenCase(Value):
    """What the replay of a written case showed.

    Attributes:
        eval_id: The case.
        run: The replay, with the tolerances below: how the case stands once they are kept. Its divergence is the first, where it failed.
        varying: What differs between replays though all answers are the same, with a tolerance for each.
        kept: Whether the tolerances were written into the recorded environment.
    """

    eval_id: str
    run: RunResult
    varying: tuple[Varying, ...] = ()
    kept: bool = False

    @property
    def passed(self) -> bool:
        """Whether the case passes its own verification, once the tolerances are kept."""
        return self.run.passed

    @property
    def tolerances(self) -> tuple[Tolerance, ...]:
        """What is proposed."""
        return tuple(one.tolerance for one in self.varying)

    @property
    def lines(self) -> tuple[str, ...]:
        """What is proposed, in a plain line each."""
        return tuple(one.line for one in self.varying)


def replay_written(  # long: what it takes is most of it
    path: Path | str,
    eval_id: str,
    *,
    agent: SimulatedAgentConfig | str | None = None,
    agents_dir: Path | str | None = None,
    environment: Path | str | None = None,
    keep: bool = False,
    timeout: float = PATIENCE,
) -> WrittenCase:
    """Replay a case against its recording, several times where that is quick, and propose tolerances for what differs by itself.

    The recording answers for the tools, for the models where their turns are recorded, and for the user, so all replays get the same
    answers; the agent's own code has the real clock and fresh chance. It needs no event loop, and may be called in any thread.

    Args:
        path: The eval set.
        eval_id: The case.
        agent: As for `verify`.
        agents_dir: As for `verify`.
        environment: The recorded environment; by default the one beside the eval set.
        keep: Write the tolerances into the recorded environment, beside those that are there.
        timeout: Seconds that one replay may take.

    Raises:
        VerifyError: A file or the agent cannot be used, there is no such case, or nothing is recorded of it.
    """
    if isinstance(agent, KernelAgentConfig):
        asked: JsonObject = {
            "path": str(Path(path).absolute()),
            "eval_id": eval_id,
            "environment": str(Path(environment).absolute()) if environment is not None else None,
            "keep": keep,
            "timeout": timeout,
        }
        return WrittenCase.model_validate(done_in_kernel(agent, "replay_written_here", asked))
    eval_set = Path(path)
    sidecar = Path(environment) if environment is not None else recorded_beside(eval_set)
    (each,) = CasesToVerify(eval_set, sidecar, [eval_id], agents_for(eval_set, agent, agents_dir))
    if not isinstance(each, ReadyCase):
        raise VerifyError(f"{eval_set}: {each.error}")
    players: Players = "recorded" if any(turn.models for turn in each.recorded.turns) else "real"
    let_missing_a2a_be_known()
    found = run(_replayed(each, ReplayOptions(models=players, seconds=timeout)))
    if keep and found.varying:
        add_tolerances(eval_set, eval_id, found.tolerances, sidecar)
    return found.model_copy(update={"kept": keep and bool(found.varying)})


def done_in_kernel(config: KernelAgentConfig, function: str, arguments: JsonObject) -> Any:
    """Have a function run where the agent is loaded, in a kernel, and return what it gives, in JSON.

    Raises:
        VerifyError: The kernel cannot be started, or the function raised.
    """
    try:
        return config.kernels.run(function, arguments)
    except (KernelError, RefusedError) as error:
        raise VerifyError(str(error)) from error


def replay_written_here(config: SimulatedAgentConfig, **arguments: Any) -> Any:
    """Replay a case that was just written with the agent that this process, a kernel, has loaded; in and out in JSON."""
    return replay_written(**arguments, agent=config).model_dump(mode="json")


async def _replayed(each: ReadyCase, ways: ReplayOptions) -> WrittenCase:
    first = await replayed(each.case, each.recorded, each.config, ways)
    found, asked = await find_varying(each, ways, first), RunSettings(Criteria(), 1, ways)
    if (anew := await passed_anew(each, found, asked)) is not None:
        return WrittenCase(eval_id=each.case.eval_id, run=anew, varying=())
    tolerant = allowing(each, found)
    again: CaseReplay = (
        await replayed(tolerant.case, tolerant.recorded, tolerant.config, ways) if found else first
    )
    result = await scored_as(tolerant, again, asked)
    return WrittenCase(eval_id=each.case.eval_id, run=result, varying=found)
