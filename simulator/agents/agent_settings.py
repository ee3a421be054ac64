"""What is set of agents: where they are looked for, and which Python runs one.

The command line and the environment name a folder, and a file of configs; the demo agents ship with the studio. An agent runs in the interpreter that
a person has chosen for it, or in that of its project's own environment.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import re
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType, NoneType
from typing import NoReturn

from simulator.agent_config import SimulatedAgentConfig
from simulator.agents.agent_source import MARKS, is_workspace, project_folders
from simulator.agents.load_advice import OLDEST_ADK
from simulator.agents.load_failure import AgentLoadError
from simulator.base.user_files import data_folder, lock_path, made_folder, system_lock, write_whole

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
            raise AgentSettingsError(
                f"agents_dir is of type {type(self.agents_dir).__name__}, not a pathlib.Path"
            )
        if not isinstance(self.agents_file, (str, NoneType)):
            raise AgentSettingsError(f"agents_file is of type {type(self.agents_file).__name__}, not a str")


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


DEMOS_DIR = Path(__file__).parent / "demos"
"""The demo agents' folder, in ADK's convention."""


@dataclass(frozen=True)
class Demo:
    """What there is to know of a demo agent before it is loaded: what it does, and what one may ask it."""

    description: str
    example_queries: tuple[str, ...]


DEMOS: Mapping[str, Demo] = MappingProxyType(
    {
        "order_desk": Demo(
            "Finds, creates, cancels and refunds orders of a small shop.",
            (
                "Where is order A-1002?",
                "Please cancel order A-1001 and refund me.",
                "Which orders does ada@example.com have?",
                "Order 2 mugs and 1 lamp for C-18, by express please.",
            ),
        ),
        "travel_planner": Demo(
            "Plans a trip: the weather and the papers itself, flights and hotels through its sub-agents.",
            (
                "Plan a trip from Oslo to Rome from 2026-05-03 to 2026-05-06 for 2 people with a Norwegian passport.",
                "What is the weather like in Rome, Lisbon and Athens?",
                "Which day is the cheapest to fly from Oslo to Lisbon: 4, 5 or 6 May 2026?",
                "Book a hotel in Vienna from 2026-06-12 for 3 nights. My name is Ada Lovelace.",
            ),
        ),
        "expense_approver": Demo(
            "Checks expense reports against policy and budget, and pays back what is allowed.",
            (
                "E-7 of engineering: hotel 180 EUR and dinner 75 EUR",
                "E-7 of engineering: flight 640 EUR",
                "E-12 of sales: tickets for a show 150 EUR and taxi 30 EUR without receipt",
                '{"employee_id": "E-7", "department": "engineering", "lines": [{"category": "equipment", "amount": 420}]}',
            ),
        ),
    }
)
"""Each demo agent by name, so that they can be listed without importing ADK."""


def demo_sets_folder() -> Path:
    """Return the folder of the demo agents' eval sets, among the user's data; it need not be there."""
    return data_folder(os.environ).absolute() / "eval_sets"


def demo_eval_set(name: str) -> Path:
    """Return the eval set that the golden traces of a demo agent go into by default."""
    return demo_sets_folder() / name / f"{name}_evals.evalset.json"


def demo_agent(name: str) -> SimulatedAgentConfig:
    """Load a demo agent: "order_desk", "travel_planner" or "expense_approver".

    Its golden traces go among the user's data, never into the installed package.

    Raises:
        AgentLoadError: There is no demo agent of this name.
    """
    if name not in DEMOS:
        raise AgentLoadError(f"no demo agent named {name!r}; available: {', '.join(DEMOS)}")
    module = importlib.import_module(f"{__package__}.demos.{name}.agent")
    return SimulatedAgentConfig(
        name=name,
        agent=module.root_agent,
        eval_set_path=demo_eval_set(name),
        app_name=name,
        origin=str(DEMOS_DIR / name),
        environment_data=DEMOS_DIR / name,
    )


_ENVIRONMENTS = (".venv", "venv")
_PYTHONS = (Path("bin", "python"), Path("Scripts", "python.exe"))
_ADK = re.compile(r"google_adk-(\d+)\.(\d+)")
_PATIENCE_SECONDS = 10.0


def chosen_python(agent: Path) -> Path | None:
    """Return the interpreter that a person has chosen for an agent; None where nobody has, or where it is there no more.

    Args:
        agent: The agent's folder or file.
    """
    chosen = _choices().get(_key(agent))
    return Path(chosen) if chosen and Path(chosen).is_file() else None


def choose_python(agent: Path, python: Path | None) -> None:
    """Keep the choice of an interpreter among the user's data; None for that of the agent's project again.

    Raises:
        OSError: It cannot be kept.
    """
    path = _place()
    made_folder(path.parent)
    with system_lock(
        lock_path(path), _PATIENCE_SECONDS
    ):  # from before it is read: another choice is not lost
        choices = _choices()
        choices.pop(_key(agent), None)
        if python is not None:
            choices[_key(agent)] = str(python)
        write_whole(path, [json.dumps(choices, indent=2).encode()])


def _place() -> Path:
    return data_folder(os.environ) / "interpreters.json"


def _key(agent: Path) -> str:
    return str(agent.expanduser().absolute())


def _choices() -> dict[str, str]:
    try:
        found = json.loads(_place().read_text())
    except (OSError, ValueError):  # nobody has chosen, or the file is damaged: then it is written anew
        return {}
    return {str(agent): str(python) for agent, python in found.items()} if isinstance(found, dict) else {}


def project_python(agent: Path) -> Path | None:
    """Return the interpreter that was chosen for an agent, else that of the environment that lies in its project.

    None where it has none, where that is this process's own, and where no google-adk is in it that can play: then the agent is loaded with
    what is installed here.

    Args:
        agent: The agent's folder or file.
    """
    if (chosen := chosen_python(agent)) is not None:
        return chosen
    for folder in _project(agent):
        if (python := _in(folder)) is not None:
            is_own = python.parents[1] == Path(sys.prefix)
            return None if is_own or not _has_adk(python.parents[1]) else python
    return None


def _project(agent: Path) -> Iterator[Path]:
    """Yield the folders of an agent's project that may hold its environment: up to the nearest mark, and the root of the workspace that it is in."""
    folders = project_folders(agent)
    own = next(
        (place for place, folder in enumerate(folders) if any((folder / mark).exists() for mark in MARKS)),
        len(folders),
    )
    yield from folders[: own + 1]
    yield from filter(is_workspace, folders[own + 1 :])


def _in(folder: Path) -> Path | None:
    for environment in _ENVIRONMENTS:
        for python in _PYTHONS:
            found = folder / environment / python
            if (folder / environment / "pyvenv.cfg").is_file() and found.exists():
                return found
    return None


def _has_adk(environment: Path) -> bool:
    """Tell by the names of what is installed whether google-adk is, in a version that can play."""
    places = (*environment.glob("lib/python*/site-packages"), environment / "Lib" / "site-packages")
    versions = (
        _ADK.match(installed.name) for place in places for installed in place.glob("google_adk-*.dist-info")
    )
    return any((int(found[1]), int(found[2])) >= OLDEST_ADK for found in versions if found)
