"""The agent that a session simulates: its name, the ADK agent, and where its golden traces go."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any


class AgentConfigError(ValueError):
    """A `SimulatedAgentConfig` was given something that cannot be simulated."""


@dataclass(frozen=True)
class SimulatedAgentConfig:
    """Configuration for a simulated agent.

    Attributes:
        name: The name that people see; not empty.
        agent: An ADK agent, a `Workflow`, or an `App` (its plugins are kept).
        eval_set_path: The eval-set file that completed traces are appended to. A relative path counts from the
            working directory; the file is created with the first trace.
        app_name: ADK's name for the application, which `adk eval` and `adk web` know the agent by. Without one it
            is the App's name, or else the root agent's.
        origin: Where the agent came from, in words for a person.
        environment_data: What there is in the agent's world when a session begins: JSON of tables, or words. A
            `Path` names a file of it (JSON or YAML), or a folder in which `environment_data.json` or
            `environment_data.yaml` may lie. A file is read when a session is opened.
        placeholders: The variables that the agent asks for when it loads, that are not set, and for which it found placeholders.
        absent: The packages that are not installed and without which it was loaded for a replay, as only its tools need them.

    Raises:
        AgentConfigError: The name is empty, the agent is no ADK agent, the path cannot be a file's, or the environment
            data is neither a text nor a `Path`.
    """

    name: str
    agent: Any
    eval_set_path: str | Path
    app_name: str = ""
    origin: str = ""
    environment_data: str | Path = ""
    placeholders: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.strip():
            raise AgentConfigError("SimulatedAgentConfig.name is empty; set the name to show in the studio")
        if not is_agent(self.root_agent):
            raise AgentConfigError(
                f"SimulatedAgentConfig {self.name!r}: agent is of type {type(self.agent).__name__}, not an ADK agent, "
                "Workflow or App"
            )
        if problem := _path_problem(self.eval_set_path):
            raise AgentConfigError(f"SimulatedAgentConfig {self.name!r}: eval_set_path {problem}")
        data: object = self.environment_data
        if not isinstance(data, (str, Path)):
            what = type(data).__name__
            raise AgentConfigError(
                f"SimulatedAgentConfig {self.name!r}: environment_data is a {what}, not a str or a pathlib.Path"
            )
        if not self.app_name:
            object.__setattr__(self, "app_name", str(self.agent.name))

    @classmethod
    def of(cls, given: object) -> SimulatedAgentConfig:
        """Return a configuration as it is; for an ADK agent, a `Workflow` or an `App`, one with its name and `<name>.evalset.json`.

        Raises:
            AgentConfigError: It is neither.
        """
        if isinstance(given, SimulatedAgentConfig):
            return given
        name = getattr(given, "name", "")
        if not name or not is_agent(getattr(given, "root_agent", None) or given):
            raise AgentConfigError(
                f"a {type(given).__name__} cannot be simulated; give an ADK agent, Workflow or App (such as root_agent), "
                "or a SimulatedAgentConfig"
            )
        return cls(str(name), given, f"{name}.evalset.json")

    @property
    def root_agent(self) -> Any:
        """The agent itself, out of its App where it came in one."""
        return getattr(self.agent, "root_agent", None) or self.agent

    @property
    def runs_elsewhere(self) -> bool:
        """Whether the agent's code runs in a process of its own: then `agent` only looks like it, and cannot be played here."""
        return False

    @property
    def has_new_code(self) -> bool | None:
        """Whether its files are others than those that were loaded; None where it does not know."""
        return None

    def as_loaded(self) -> SimulatedAgentConfig:
        """Return it as its code was loaded last: another one where that is other code than it was made from."""
        return self

    def resolve_eval_set_path(self) -> Path:
        """Return `eval_set_path` as an absolute path."""
        return Path(self.eval_set_path).expanduser().absolute()


def _is_folder(place: Path) -> bool:
    try:
        return place.is_dir()
    except OSError:  # a name that is too long for the disk
        return False


def _path_problem(path: object) -> str | None:
    """Return why something is not the path of a file, whether that is there yet or not; None if it is one."""
    if not isinstance(path, (str, Path)):
        return f"is of type {type(path).__name__}, not a path"
    if not str(path).strip():
        return "is empty"
    if "\0" in str(path):
        return f"{str(path)!r} contains a null character"
    try:
        place = Path(path).expanduser()
    except RuntimeError as error:
        return f"{str(path)!r} cannot be resolved: {error}"
    names_no_file = place.name in {"", ".."} or str(path).endswith("/")
    return f"{str(path)!r} is a folder, not a file" if names_no_file or _is_folder(place) else None


def is_agent(value: object) -> bool:
    """Recognise an ADK agent or workflow node by what ADK's runner needs of it, without importing ADK."""
    return (
        isinstance(getattr(value, "name", None), str)
        and callable(getattr(value, "run", None) or getattr(value, "run_async", None))
        and hasattr(type(value), "model_fields")
    )
