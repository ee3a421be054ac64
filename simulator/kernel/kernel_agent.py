"""An agent whose code runs in kernels only, what is asked of any agent wherever its code runs, and how kernels load agents.

A kernel loads an agent and outlines it, and the studio makes a `KernelAgentConfig` of that. What the agent's own process alone knows, such as
which models it can ask, is asked there. `KernelLoader` says of each agent of the catalogue whether a kernel loads it: of all, or of those alone
whose project has an environment of its own.
"""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Lock
from typing import Any

from pydantic import TypeAdapter

from simulator.agent_config import SimulatedAgentConfig
from simulator.agents.agent_directory import StateNeeds, UnfitMessageError, check_here
from simulator.agents.agent_fingerprint import remember_fingerprint
from simulator.agents.agent_folder import AgentFolder
from simulator.agents.agent_settings import chosen_python, project_python
from simulator.agents.configs_file import ConfigsFile, Load
from simulator.agents.load_advice import advice, line_for_adk
from simulator.agents.load_failure import AgentLoadError
from simulator.base.json_values import JsonObject
from simulator.kernel.agent_kernels import AgentKernels
from simulator.kernel.kernel import KernelError, RefusedError

_CHECK_SECONDS = 5.0


@dataclass(frozen=True)
class KernelAgentConfig(SimulatedAgentConfig):
    """As `SimulatedAgentConfig`, for an agent that the studio itself never loads: `agent` is its likeness.

    Attributes:
        kernels: The kernels that play its sessions.
        unreachable: Why the models of some agents cannot be asked from its environment, by the agent's name.
        has_app: Its module has an `App`.
        rewrites: Whether a callback of its may change what a tool answered.
        own_code: The nodes whose own code may run tools, or make agents, that are only known when it runs.
        source: Its folder or file; empty where nobody can tell.
        outline: The outline that all this was taken from.
    """

    kernels: AgentKernels = field(kw_only=True, compare=False, repr=False)
    unreachable: dict[str, str] = field(default_factory=dict, kw_only=True)
    has_app: bool = field(default=False, kw_only=True)
    rewrites: bool = field(default=False, kw_only=True)
    own_code: tuple[str, ...] = field(default=(), kw_only=True)
    source: str = field(default="", kw_only=True)
    outline: JsonObject = field(default_factory=dict, kw_only=True, compare=False, repr=False)

    @classmethod
    def of_outline(cls, outline: JsonObject, kernels: AgentKernels) -> KernelAgentConfig:
        """Return an agent that kernels play, by the outline that one of them has drawn."""
        from simulator.kernel.agent_outline import AgentOutline, likeness  # noqa: PLC0415 - importing ADK takes a second

        drawn = AgentOutline.model_validate(outline)
        agent = likeness(drawn)
        remember_fingerprint(agent, drawn.fingerprint)
        return cls(
            name=drawn.name,
            agent=agent,
            eval_set_path=drawn.eval_set_path,
            app_name=drawn.app_name,
            origin=drawn.origin,
            kernels=kernels,
            unreachable=drawn.unreachable,
            has_app=drawn.has_app,
            rewrites=drawn.rewrites,
            own_code=drawn.own_code,
            source=drawn.source,
            placeholders=drawn.placeholders,
            outline=outline,
        )

    @property
    def runs_elsewhere(self) -> bool:
        """Whether the agent's code runs in a process of its own: it does."""
        return True

    @property
    def has_new_code(self) -> bool | None:
        """Whether its files are others than those that its kernel loaded last."""
        return self.kernels.has_new_code

    def as_loaded(self) -> SimulatedAgentConfig:
        """Return it as its kernel has loaded it last; the same one where the agent's outline is the same."""
        last = self.kernels.last_outline
        if last is None or last is self.outline or last == self.outline or not self.outline:
            return self
        return replace(KernelAgentConfig.of_outline(last, self.kernels), name=self.name)

    def model_problem(self, name: str) -> str | None:
        """Return why a model cannot be asked from the agent's process, which asks it; None where it can."""
        try:
            problem: str | None = self._told("problem_here", {"name": name})
        except (KernelError, RefusedError) as error:
            return f"the model {name} could not be checked: {error}"
        return problem

    def variables_set(self, names: Sequence[str]) -> frozenset[str]:
        """Return which of some variables the environment of the agent's process has; all where it does not tell."""
        try:
            return frozenset(self._told("set_here", {"names": [*names]}))
        except (KernelError, RefusedError):
            return frozenset(names)

    def _told(self, function: str, arguments: JsonObject) -> Any:
        asked: JsonObject = {"function": function, "arguments": arguments}
        return self.kernels.kernel().ask("run", asked, patience=_CHECK_SECONDS)

    def check_message(self, message: str | JsonObject) -> None:
        """Hold a message to the agent's input schema, by the agent's own code.

        Raises:
            UnfitMessageError: It does not fit.
        """
        try:
            self._told("check_here", {"message": message})
        except RefusedError as error:
            raise UnfitMessageError(str(error)) from error
        except KernelError:  # who goes on hears of it, and the turn checks again
            return


def needs_of(config: SimulatedAgentConfig) -> StateNeeds:
    """Return what the instructions of a loaded agent need of the state."""
    if isinstance(config, KernelAgentConfig):
        return StateNeeds.model_validate(config.outline.get("needs", {}))
    # Importing ADK takes a second: not before an agent is there, which has imported it.
    from simulator.kernel.agent_outline import own_code_of  # noqa: PLC0415 - as above
    from simulator.runtime.knowledge.instruction_state import state_needs  # noqa: PLC0415 - as above

    return state_needs(config.agent, bool(own_code_of(config)))


def unreachable(config: SimulatedAgentConfig) -> dict[str, str]:
    """Return the reason for each agent whose model cannot be asked from its process, by its name."""
    if isinstance(config, KernelAgentConfig):
        return config.unreachable
    from simulator.runtime.models.reachability import unreachable_models  # noqa: PLC0415 - as above

    return unreachable_models(config.root_agent, os.environ)


def model_problem(name: str, config: SimulatedAgentConfig | None = None) -> str | None:
    """Return why a model cannot be asked; None where it can, as far as can be told. Nothing is sent anywhere.

    Args:
        name: The model.
        config: The agent whose process asks it, with the models that its code registers and its `.env`; None for this process.
    """
    if isinstance(config, KernelAgentConfig):
        return config.model_problem(name.strip())
    # Not before a model is named, as above.
    from simulator.runtime.models.reachability import model_problem as reason_for  # noqa: PLC0415 - as above

    return reason_for(name.strip(), os.environ)


def variables_set(names: Sequence[str], config: SimulatedAgentConfig | None = None) -> frozenset[str]:
    """Return which of some variables are set, for the agent's process or this one."""
    if isinstance(config, KernelAgentConfig):
        return config.variables_set(names)
    return frozenset(name for name in names if os.environ.get(name))


def check_message(config: SimulatedAgentConfig, message: str | JsonObject) -> None:
    """Hold a message to the agent's input schema, as ADK does when the turn begins.

    Raises:
        UnfitMessageError: It does not fit; the text says where.
    """
    if isinstance(config, KernelAgentConfig):
        config.check_message(message)
    else:
        check_here(config, message)


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
            return _kernel_load(AgentKernels(python, folder.path, asked), home)
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
        return _kernel_load(kernels, home) if self.everything else None


def _kernel_load(kernels: AgentKernels, home: Path | None, known: JsonObject | None = None) -> Load:
    """Return what loads an agent in a kernel of its own, a new one each time.

    Args:
        kernels: The agent's kernels.
        home: Its folder or file, where it has one.
        known: Its outline as the run of its file has told it: with that its own kernel starts with its first session only.
    """

    def work(*, anew: bool) -> SimulatedAgentConfig:
        if known is not None and not anew:
            return KernelAgentConfig.of_outline(known, kernels)
        try:
            outline = kernels.outline()
        except KernelError as error:
            raise _not_loaded(error, kernels.python, home) from error
        _let_rest(kernels)
        return KernelAgentConfig.of_outline(outline, kernels)

    return Load(work, kernels.stop_loading)


class KernelFile(ConfigsFile):
    """A file or module that lists configs; it is run in a kernel to know which."""

    def __init__(self, python: Path, file: str) -> None:
        super().__init__(file)
        self._python = python
        self._listing = AgentKernels(python, Path.cwd(), {"file": file})
        self._outlines: tuple[JsonObject, ...] = ()
        self._running = Lock()

    @property
    def is_known(self) -> bool:
        """Whether it was run."""
        return self.failed or bool(self._outlines)

    def listed(self) -> tuple[tuple[str, str], ...]:
        """Run it, and return the name of each agent that it lists, and where that comes from in words.

        Raises:
            AgentLoadError: It lists nothing; the text says what failed and where.
        """
        with self._running:
            if self._failure is not None:
                raise self._failure
            if not self._outlines:
                self._run()
        return tuple((str(each["name"]), str(each["origin"])) for each in self._outlines)

    def _run(self) -> None:
        try:
            self._outlines = tuple(_SEVERAL.validate_python(self._listing.outline()["configs"]))
        except KernelError as error:
            self._failure = _not_loaded(error, self._python, self.path)
            raise self._failure from error
        finally:
            self._listing.end()

    def load(self, place: int) -> Load:
        """Return what loads the agent at a place in the list."""
        kernels = AgentKernels(self._python, Path.cwd(), {"file": self.name, "place": place})
        return _kernel_load(kernels, self.path, self._outlines[place])

    def stop(self) -> None:
        """Give the run of the file up."""
        self._listing.stop_loading()


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
