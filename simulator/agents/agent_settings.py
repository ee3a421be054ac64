"""Where the studio looks for agents: what the command line and the environment say."""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import NoneType
from typing import NoReturn

AGENTS_DIR_VARIABLE = "GOLDEN_TRACE_AGENTS_DIR"
"""Names a folder of agents, as `--agents-dir` does."""

AGENTS_VARIABLE = "GOLDEN_TRACE_AGENTS"
"""Names a Python file or module that lists agents, as `--agents` does."""

PYTHON_VARIABLE = "GOLDEN_TRACE_PYTHON"
"""Names the interpreter that runs the agents of the folder, as `--python` does."""


class AgentSettingsError(ValueError):
    """What was said of where agents are cannot be followed."""


@dataclass(frozen=True)
class AgentSettings:
    """Where to look for agents.

    Attributes:
        agents_dir: A folder of agents in ADK's convention, or the folder of a single agent.
        agents_file: A Python file, or a dotted module, that lists `SimulatedAgentConfig`s.
        demos: Whether the agents that ship with the studio are listed.
        python: The interpreter that runs the agents of the folder, each in a process of its own; None for that of each one's
            project, where that has an environment of its own.

    Raises:
        AgentSettingsError: The folder is no path, or the file no text.
    """

    agents_dir: Path | None = None
    agents_file: str | None = None
    demos: bool = True
    python: Path | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.agents_dir, (Path, NoneType)):
            raise AgentSettingsError(f"agents_dir is a {type(self.agents_dir).__name__}, not a pathlib.Path")
        if not isinstance(self.agents_file, (str, NoneType)):
            raise AgentSettingsError(f"agents_file is a {type(self.agents_file).__name__}, not a str")


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise AgentSettingsError(f"{message}. {' '.join(self.format_usage().split())}")


def settings_from(argv: Sequence[str], environ: Mapping[str, str]) -> AgentSettings:
    """Read the settings; the command line wins over the environment.

    Args:
        argv: The arguments without the program's name: `--agents-dir DIR`, `--agents FILE_OR_MODULE`, `--python PATH`, `--no-demos`.
        environ: The environment; `GOLDEN_TRACE_AGENTS_DIR`, `GOLDEN_TRACE_AGENTS` and `GOLDEN_TRACE_PYTHON` are read, an empty one is none.

    Raises:
        AgentSettingsError: An argument is unknown, lacks its value, or has an empty one, or names no interpreter.
    """
    parser = _Parser(prog="golden-trace-studio", add_help=False, allow_abbrev=False)
    parser.add_argument("--agents-dir", metavar="DIR", type=_named)
    parser.add_argument("--agents", metavar="FILE_OR_MODULE", type=_named)
    parser.add_argument("--python", metavar="PATH", type=_named)
    parser.add_argument("--no-demos", action="store_true")
    found = parser.parse_args(list(argv))
    agents_dir = found.agents_dir or environ.get(AGENTS_DIR_VARIABLE, "").strip()
    return AgentSettings(
        agents_dir=Path(agents_dir).expanduser() if agents_dir else None,
        agents_file=found.agents or environ.get(AGENTS_VARIABLE, "").strip() or None,
        demos=not found.no_demos,
        python=interpreter_named(found.python or environ.get(PYTHON_VARIABLE, "").strip()),
    )


def interpreter_named(named: str) -> Path | None:
    """Find an interpreter: a file, an environment's folder, or a command on the path; None for no name.

    Raises:
        AgentSettingsError: There is none.
    """
    if not named:
        return None
    place = Path(named).expanduser()
    for found in (place / "bin" / "python", place / "Scripts" / "python.exe", place):
        if found.is_file():
            return found.absolute()
    if command := shutil.which(named):
        return Path(command)
    raise AgentSettingsError(f"--python {named}: interpreter not found")


def _named(value: str) -> str:
    if not value.strip():
        raise argparse.ArgumentTypeError("the value is empty")
    return value.strip()
