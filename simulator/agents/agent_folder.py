"""Agents in a folder, in ADK's own convention, loaded by ADK's own loader."""

from __future__ import annotations

import ast
import os
import re
import shlex
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from simulator.agent_config import SimulatedAgentConfig
from simulator.agents.load_failure import AgentLoadError
from simulator.agents.module_table import IMPORTS, forget, prepare
from simulator.base.documents import read_file
from simulator.base.python_source import parsed

# A module-level `root_agent`, assigned or imported, or an `app` that is made by `App(...)`.
_HOLDS_AN_AGENT = re.compile(
    r"^(?:root_agent\b\s*(?::[^=\n]+)?=|from\s.+\simport\s.*\broot_agent\b|app\b\s*(?::[^=\n]+)?=\s*(?:\w+\.)*App\()",
    re.MULTILINE,
)


_GIVES_AN_AGENT = frozenset({"root_agent", "app", "agent", "*"})
"""What a package's `__init__.py` defines or imports, where ADK's loader may find an agent in it."""


_IN_MODULE = frozenset({"root_agent", "app", "*"})
"""As above, of its module `agent.py`: one that defines neither is a part of another agent."""


def agent_above(place: Path, root: Path) -> Path | None:
    """Return the nearest folder that a file lies in, up to `root`, from which ADK loads an agent; None where there is none."""
    top = root.expanduser().resolve()
    inside = (folder for folder in place.resolve().parents if folder.is_relative_to(top))
    return next((folder for folder in inside if _loads_as_agent(folder)), None)


def _loads_as_agent(folder: Path) -> bool:
    module = folder / "agent.py"
    if (folder / "root_agent.yaml").is_file() or not module.is_file():
        return _lists_as_agent(folder)
    return _gives_an_agent(module, _IN_MODULE)


class AgentFolder:
    """A folder of agents: `<name>/agent.py`, `<name>/root_agent.yaml`, `<name>/__init__.py`, `<name>.py`.

    A package counts where its `__init__.py` may give an agent: folders of tests and evals are packages too. A folder that is itself one agent (`agent.py` or `root_agent.yaml` in it) is taken as that agent.
    """

    def __init__(self, path: Path) -> None:
        self.path = path.expanduser().absolute()

    @property
    def is_single_agent(self) -> bool:
        """Whether the folder is one agent, and not a folder of agents."""
        return _is_agent_folder(self.path)

    @property
    def home(self) -> Path:
        """The folder that the agents' modules are imported from."""
        resolved = self.path.resolve()
        return resolved.parent if self.is_single_agent else resolved

    def names(self) -> tuple[str, ...]:
        """List the agents by name, sorted, without importing any.

        These are the names that ADK's `AgentLoader.list_agents` gives, without packages that give no agent, and those of single
        files, which that loader can load but does not list.

        Raises:
            AgentLoadError: The folder does not exist, cannot be read, or holds no agent.
        """
        try:
            if self.is_single_agent:
                return (self.path.resolve().name,)
            if not self.path.is_dir():
                what = "is a file, not a folder" if self.path.exists() else "does not exist"
                raise AgentLoadError(f"the agents folder {self.path} {what}")
            paths = sorted(self.path.iterdir())
            folders = {path.name for path in paths if _lists_as_agent(path)}
            files = {path.stem for path in paths if path.suffix == ".py" and _holds_an_agent(path)}
        except OSError as error:
            raise AgentLoadError(f"the agents folder {self.path} cannot be read: {error.strerror}") from error
        if not (folders or files):
            why = _deeper(paths) or (
                "expected <name>/agent.py, <name>/root_agent.yaml, <name>/__init__.py or <name>.py with a root_agent"
            )
            raise AgentLoadError(f"no agents in the folder {self.path}: {why}")
        return tuple(sorted(folders | files))

    def where(self, name: str) -> Path:
        """Return the folder or file of an agent."""
        folder, file = self.home / name, self.home / f"{name}.py"
        # Beside a single file lies the folder of its eval sets, once there are any.
        return folder if _lists_as_agent(folder) or not file.is_file() else file

    def load(self, name: str, *, anew: bool = False) -> SimulatedAgentConfig:
        """Load an agent as `adk web` does.

        Args:
            name: One of `names()`; it is what `adk eval` and `adk web` call the app.
            anew: Whether to read its files again, where it was loaded before.

        Raises:
            Exception: Whatever ADK's loader or the agent's own code raises.
        """
        with IMPORTS:
            prepare(self.home, package=name)
            loader = _loader(self.path.resolve())
            if anew:
                loader.remove_agent_from_cache(name)
            try:
                agent = loader.load_agent(name)
            except BaseException:
                # What the agent imported before it failed would else be kept, and not read again once it is fixed.
                forget(name)
                raise
        return SimulatedAgentConfig(
            name=name,
            agent=agent,
            # LocalEvalSetsManager, which `adk web` uses, reads <agents folder>/<app name>/<set>.evalset.json.
            eval_set_path=self.home / name / f"{name}_evals.evalset.json",
            app_name=name,
            origin=str(self.where(name)),
            environment_data=self.home / name,
        )


def _lists_as_agent(path: Path) -> bool:
    return _is_looked_into(path) and (_is_agent_folder(path) or _gives_an_agent(path / "__init__.py"))


def _is_looked_into(path: Path) -> bool:
    return path.is_dir() and not path.name.startswith(".") and path.name != "__pycache__"


def _gives_an_agent(init: Path, wanted: frozenset[str] = _GIVES_AN_AGENT) -> bool:
    """Return whether a module may give an agent: what cannot be read or parsed may, so that its error is shown."""
    try:
        names = _named_in(parsed(read_file(init, "script")))
    except FileNotFoundError:
        return False
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return init.is_file()
    return not wanted.isdisjoint(names)


def _named_in(module: ast.Module) -> set[str]:
    """Return the names that a module assigns or imports, wherever in it."""
    names: set[str] = set()
    for node in ast.walk(module):
        match node:
            case ast.Name(id=name, ctx=ast.Store()):
                names.add(name)
            case ast.ImportFrom(names=imported) | ast.Import(names=imported):
                names |= {(each.asname or each.name).rpartition(".")[2] for each in imported}
            case ast.FunctionDef(name="__getattr__"):
                names.add("root_agent")
            case _:
                pass
    return names


def _deeper(paths: Sequence[Path]) -> str:
    """Return where agents are one level deeper; empty where there are none."""
    found = {path: count for path in paths if _is_looked_into(path) and (count := _count(path))}
    if not found:
        return ""
    total, first = sum(found.values()), max(found, key=lambda path: found[path])
    agents = "an agent" if total == 1 else f"{total} agents"
    where = (
        f"in {first}" if len(found) == 1 else f"in {len(found)} folders, {found[first]} of them in {first}"
    )
    return f"found {agents} one level deeper, {where}: use --agents-dir {shlex.quote(str(first))}"


def _count(folder: Path) -> int:
    """Count the agents in a folder; none where it cannot be read."""
    try:
        inside = list(folder.iterdir())
        return sum(
            _lists_as_agent(path) or (path.suffix == ".py" and _holds_an_agent(path)) for path in inside
        )
    except OSError:
        return 0


def _is_agent_folder(path: Path) -> bool:
    return (path / "agent.py").is_file() or (path / "root_agent.yaml").is_file()


def _holds_an_agent(path: Path) -> bool:
    if not path.is_file() or path.name.startswith("_") or not os.access(path, os.R_OK):
        return False
    return bool(_HOLDS_AN_AGENT.search(read_file(path, "script").decode(errors="replace")))


@cache
def _loader(path: Path) -> Any:
    # Importing ADK takes a second: not before an agent is wanted.
    from google.adk.cli.utils.agent_loader import AgentLoader  # noqa: PLC0415 - as above

    return AgentLoader(str(path))
