"""Loads agents in kernels: those whose project has an environment of its own, or all where an interpreter is named."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from simulator.agent_config import SimulatedAgentConfig
from simulator.agents.catalogue import Load
from simulator.agents.failure import AgentLoadError
from simulator.agents.fingerprint import remember_fingerprint
from simulator.agents.folder import AgentFolder
from simulator.kernel.interpreters import project_python
from simulator.kernel.pool import AgentKernels
from simulator.kernel.process import KernelError

_NO_ADK = "No module named 'google"


@dataclass(frozen=True)
class KernelLoader:
    """Says of each agent of a folder whether a kernel loads it, and loads it there.

    Attributes:
        python: The interpreter for all of them; None for that of each one's project.
    """

    python: Path | None = None

    def loader(self, folder: AgentFolder, name: str) -> Load | None:
        """Return what loads an agent; None where the studio's own process does."""
        python = self.python or project_python(folder.where(name))
        return None if python is None else partial(_loaded, python, folder, name)


def _loaded(
    python: Path,
    folder: AgentFolder,
    name: str,
    *,
    anew: bool,  # noqa: ARG001 - a fresh process reads all files
) -> SimulatedAgentConfig:
    """Load an agent in a kernel of its own; a new one each time.

    Raises:
        AgentLoadError: It cannot be loaded; the text says what failed, and what to paste where a package is missing.
    """
    from simulator.kernel.config import KernelAgentConfig  # noqa: PLC0415 - importing ADK takes a second
    from simulator.kernel.outline import AgentOutline, likeness  # noqa: PLC0415 - as above

    kernels = AgentKernels(python, folder.path, name)
    try:
        outline = AgentOutline.model_validate(kernels.outline())
    except KernelError as error:
        words = str(error)
        if _NO_ADK in words:
            words = f"{python} has no google-adk. Install it there: {_install(python)}"
        raise AgentLoadError(words) from error
    agent = likeness(outline)
    remember_fingerprint(agent, outline.fingerprint)
    return KernelAgentConfig(
        name=name,
        agent=agent,
        eval_set_path=outline.eval_set_path,
        app_name=outline.app_name,
        origin=outline.origin,
        kernels=kernels,
        unreachable=outline.unreachable,
        has_app=outline.has_app,
    )


def _install(python: Path) -> str:
    return f"{shlex.quote(str(python))} -m pip install 'google-adk>=2.11'"
