"""Verifies in kernels, the processes of the agents: in their project's environment, as many as pay. Imports no ADK."""

from __future__ import annotations

import os
from pathlib import Path

from evalset.datasets.agent_projects import project_of
from evalset.replay.model_choice import Models
from evalset.verify.errors import VerifyError
from simulator.agents import AgentLoadError, AgentSettingsError, settings_from
from simulator.agents.agent_folder import AgentFolder
from simulator.kernel.agent_kernels import KernelExecutor
from simulator.kernel.interpreters import project_python
from simulator.kernel.kernel import Kernel

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
