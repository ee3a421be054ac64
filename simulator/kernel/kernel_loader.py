"""Loads agents in kernels: all of them, or those alone whose project has an environment of its own."""

from __future__ import annotations

import sys
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from pydantic import TypeAdapter

from simulator.agent_config import SimulatedAgentConfig
from simulator.agents.agent_folder import AgentFolder
from simulator.agents.catalogue import Listed, Load
from simulator.agents.configs_file import ConfigsFile
from simulator.agents.load_advice import advice, line_for_adk
from simulator.agents.load_failure import AgentLoadError
from simulator.base.json_values import JsonObject
from simulator.kernel.agent_kernels import AgentKernels
from simulator.kernel.interpreters import chosen_python, project_python
from simulator.kernel.kernel import KernelError, RefusedError
from simulator.kernel.kernel_agent import KernelAgentConfig

_SEVERAL: TypeAdapter[tuple[JsonObject, ...]] = TypeAdapter(tuple[JsonObject, ...])
MOST_RESTING = 4
"""How many kernels stay that only told what their agents are: the first session finds its own at work. Each takes some 130 MB."""
_resting: deque[AgentKernels] = deque()
_resting_lock = Lock()
_NO_ADK = "No module named 'google"


@dataclass(frozen=True)
class KernelLoader:
    """Says of each agent whether a kernel loads it, and loads it there.

    Attributes:
        python: The interpreter for those of the folder and the file; None for that of each one's project.
        everything: Whether this process loads none: where a project has no environment of its own, this process's interpreter runs it.
    """

    python: Path | None = None
    everything: bool = False

    def of_folder(self, folder: AgentFolder, name: str) -> Load | None:
        """Return what loads an agent of a folder; None where the studio's own process does."""
        home = folder.where(name)
        python = chosen_python(home) or self.python or project_python(home)
        asked: JsonObject = {"folder": str(folder.path), "name": name}
        if python is not None:
            return KernelLoad(AgentKernels(python, folder.path, asked), home)
        return self._here(asked, home)

    def of_file(self, file: str) -> KernelFile | None:
        """Return what lists and loads the agents of a file or module; None where the studio's own process does."""
        path = ConfigsFile(file).path
        chosen = chosen_python(path) if path is not None else None
        python = chosen or self.python or (project_python(path) if path is not None else None)
        if python is None and not self.everything:
            return None
        return KernelFile(python or Path(sys.executable), file)

    def of_demo(self, name: str) -> Load | None:
        """Return what loads a demo agent; None where the studio's own process does."""
        return self._here({"demo": name})

    def _here(self, asked: JsonObject, home: Path | None = None) -> Load | None:
        # The process works where the studio does, as `adk web` does with all its agents.
        kernels = AgentKernels(Path(sys.executable), Path.cwd(), asked)
        return KernelLoad(kernels, home) if self.everything else None


class KernelLoad:
    """Loads an agent in a kernel of its own; a new one each time. `home` is its folder or file, where it has one."""

    def __init__(self, kernels: AgentKernels, home: Path | None = None) -> None:
        self._kernels, self._home = kernels, home

    def __call__(self, *, anew: bool) -> SimulatedAgentConfig:  # noqa: ARG002 - a fresh process reads all files
        """Load it.

        Raises:
            AgentLoadError: It cannot be loaded; the text says what failed, and what to paste where a package is missing.
        """
        kernels = self._kernels
        try:
            outline = kernels.outline()
        except KernelError as error:
            raise _not_loaded(error, kernels.python, self._home) from error
        _let_rest(kernels)
        return KernelAgentConfig.of_outline(outline, kernels)

    def stop(self) -> None:
        """Give it up."""
        self._kernels.stop_loading()


class KernelFile:
    """A file or module that lists configs; it is run in a kernel to know which."""

    def __init__(self, python: Path, file: str) -> None:
        self._python, self._file = python, file
        self._listing = AgentKernels(python, Path.cwd(), {"file": file})
        self._outlines: tuple[JsonObject, ...] = ()
        self._failure: AgentLoadError | None = None
        self._running = Lock()

    @property
    def is_known(self) -> bool:
        """Whether it was run."""
        return self.failed or bool(self._outlines)

    @property
    def failed(self) -> bool:
        """Whether it was run and gave no configs."""
        return self._failure is not None

    def listed(self) -> tuple[Listed, ...]:
        """Run it, and say what it lists.

        Raises:
            AgentLoadError: It lists nothing; the text says what failed and where.
        """
        with self._running:
            if self._failure is not None:
                raise self._failure
            if not self._outlines:
                self._run()
        return tuple(Listed(str(each["name"]), str(each["origin"])) for each in self._outlines)

    def _run(self) -> None:
        try:
            self._outlines = tuple(_SEVERAL.validate_python(self._listing.outline()["configs"]))
        except KernelError as error:
            self._failure = _not_loaded(error, self._python, ConfigsFile(self._file).path)
            raise self._failure from error
        finally:
            self._listing.end()

    def load(self, place: int) -> Load:
        """Return what loads the agent at a place in the list."""
        kernels = AgentKernels(self._python, Path.cwd(), {"file": self._file, "place": place})
        return _KernelFileLoad(kernels, self._outlines[place], ConfigsFile(self._file).path)

    def stop(self) -> None:
        """Give the run of the file up."""
        self._listing.stop_loading()


class _KernelFileLoad(KernelLoad):
    """Takes what the run of the file told of an agent, so that its own kernel is started with its first session only."""

    def __init__(self, kernels: AgentKernels, outline: JsonObject, home: Path | None) -> None:
        super().__init__(kernels, home)
        self._known = outline

    def __call__(self, *, anew: bool) -> SimulatedAgentConfig:
        return (
            super().__call__(anew=anew) if anew else KernelAgentConfig.of_outline(self._known, self._kernels)
        )


def _let_rest(kernels: AgentKernels) -> None:
    """End the kernels that were started for an outline and that nobody came to play with, but for the newest."""
    with _resting_lock:
        _resting.append(kernels)
        ended = [_resting.popleft() for _ in range(len(_resting) - MOST_RESTING)]
    for each in ended:
        each.rest()


def _not_loaded(error: KernelError, python: Path, agent: Path | None) -> AgentLoadError:
    """Put into words why a kernel has not loaded an agent, and what to paste where a package is missing.

    Only a kernel that never answered may lack google-adk; what one has answered is of the agent's own code, whichever package that misses.
    """
    words = str(error)
    if not isinstance(error.__cause__, RefusedError):
        return AgentLoadError(
            f"google-adk is not installed for {python}. Install it: {line_for_adk(python)}"
            if _NO_ADK in words
            else words
        )
    line = advice(words, agent, python) if agent is not None else ""
    return AgentLoadError(f"{words}. {line}" if line else words)
