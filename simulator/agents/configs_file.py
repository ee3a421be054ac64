"""Agents in a Python file or module that lists `SimulatedAgentConfig`s.

The module's `AGENTS`, a list or tuple of configs, is taken where there is one. Without it, each public name of the
module that holds a config, or a list or tuple of nothing but configs, counts, in the order of their definition.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import ModuleType

from simulator.agent_config import SimulatedAgentConfig
from simulator.agents.agent_folder import IMPORTS, on_its_ground, placeholders_of, prepare
from simulator.agents.load_failure import AgentLoadError

LIST_NAME = "AGENTS"


@dataclass(frozen=True)
class Load:
    """Loads one agent.

    Attributes:
        work: Returns what a simulation needs; `anew` where the agent's files are read again.
        stop: Gives a load up that is under way in a process of its own; None where this process loads, as no import can be given up.
    """

    work: Callable[..., SimulatedAgentConfig]
    stop: Callable[[], None] | None = None


class ConfigsFile:
    """A Python file (`agents.py`, `path/to/agents.py`) or a dotted module (`my_project.agents`). It has to be run to know what it lists, once."""

    def __init__(self, file_or_module: str) -> None:
        self.name = file_or_module
        self._configs: tuple[SimulatedAgentConfig, ...] | None = None
        self._failure: BaseException | None = None

    @property
    def path(self) -> Path | None:
        """The file, or None for a module's name."""
        looks_like_a_file = self.name.endswith(".py") or os.sep in self.name or Path(self.name).is_file()
        return Path(self.name).expanduser().absolute() if looks_like_a_file else None

    @property
    def home(self) -> Path:
        """The folder that names in error messages are relative to."""
        return self.path.parent if self.path else Path.cwd()

    @property
    def is_known(self) -> bool:
        """Whether it can be listed without waiting for a process of its own: it runs in this one."""
        return True

    @property
    def failed(self) -> bool:
        """Whether the file was run and gave no configs."""
        return self._failure is not None

    def configs(self, *, anew: bool = False) -> tuple[SimulatedAgentConfig, ...]:
        """Import the module once and return its configs; one that failed is not tried again unless `anew`.

        Args:
            anew: Whether to run the file, or import the module, again; what it imports itself stays as it is.

        Raises:
            AgentLoadError: There is no such file, or it lists no configs.
            Exception: Whatever the module's own code raises.
        """
        known = self._configs
        if known is not None and not anew:
            return known
        with IMPORTS:
            if anew:
                self._configs, self._failure = None, None
            if self._failure is not None:
                raise self._failure
            if self._configs is None:
                try:
                    place = self.path.with_suffix("") if self.path else Path.cwd() / self.name
                    module = on_its_ground(place, self._import)
                    found = placeholders_of(place)
                    self._configs = tuple(
                        replace(config, placeholders=found) if found else config
                        for config in _configs_in(module, self.name)
                    )
                except (Exception, SystemExit) as error:
                    self._failure = error
                    raise
            return self._configs

    def config(self, place: int, *, anew: bool = False) -> SimulatedAgentConfig:
        """Return the config at a place in the list; see `configs`.

        Raises:
            AgentLoadError: The file was changed and lists fewer agents now.
        """
        configs = self.configs(anew=anew)
        if place >= len(configs):
            raise AgentLoadError(f"{self.name} now lists fewer agents ({len(configs)})")
        return configs[place]

    def listed(self) -> tuple[tuple[str, str], ...]:
        """Return the name of each agent that it lists, and where that comes from in words; see `configs`."""
        return tuple((config.name, config.origin) for config in self.configs())

    def load(self, place: int) -> Load:
        """Return what loads the agent at a place in the list."""
        return Load(partial(self.config, place))

    def stop(self) -> None:
        """Give the run of the file up, where a process of its own does it."""

    def _import(self) -> ModuleType:
        if self.path is None:
            return self._import_by_name()
        if not self.path.is_file():
            what = "is a folder, not a file" if self.path.exists() else "does not exist"
            raise AgentLoadError(f"the agents file {self.path} {what}")
        # As for `python FILE`: what lies beside the file can be imported from it.
        prepare(self.path.parent.resolve())
        return _run(self.path.resolve())

    def _import_by_name(self) -> ModuleType:
        if not all(self.name.split(".")):
            what = "is a folder" if Path(self.name).is_dir() else "does not exist"
            raise AgentLoadError(
                f"the agents file {self.name!r} {what}; name a Python file or a dotted module"
            )
        # As for `python -m`: modules of the working directory are found too.
        here = str(Path.cwd())
        if here not in sys.path:
            sys.path.append(here)
        importlib.invalidate_caches()
        sys.modules.pop(self.name, None)
        return importlib.import_module(self.name)


def _run(path: Path) -> ModuleType:
    """Run a file as a module under a name that no other file has."""
    name = f"golden_trace_agents_{hashlib.sha256(str(path).encode()).hexdigest()[:12]}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise AgentLoadError(f"{path} is not a Python file: its name must end with .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _configs_in(module: ModuleType, name: str) -> Iterator[SimulatedAgentConfig]:
    listed = getattr(module, LIST_NAME, None)
    if listed is not None:
        return _checked(listed, name)
    found: dict[int, SimulatedAgentConfig] = {}
    for key, value in vars(module).items():
        values = value if isinstance(value, (list, tuple)) else [value]
        if (
            not key.startswith("_")
            and values
            and all(isinstance(one, SimulatedAgentConfig) for one in values)
        ):
            found.update((id(one), one) for one in values)
    if not found:
        raise AgentLoadError(
            f"{name} lists no agents: add {LIST_NAME} = [SimulatedAgentConfig(...), ...] with "
            "simulator.agent_config.SimulatedAgentConfig"
        )
    return iter(found.values())


def _checked(listed: object, name: str) -> Iterator[SimulatedAgentConfig]:
    if not isinstance(listed, (list, tuple)) or not listed:
        raise AgentLoadError(f"{name}: {LIST_NAME} must be a list with at least one SimulatedAgentConfig")
    for place, one in enumerate(listed):
        if not isinstance(one, SimulatedAgentConfig):
            raise AgentLoadError(
                f"{name}: {LIST_NAME}[{place}] is of type {type(one).__name__}, not a SimulatedAgentConfig"
            )
    return iter(listed)
