"""Gives the commands that a person pastes into a shell to run an exported case: they hold in any folder, with any shell's PATH."""

from __future__ import annotations

import importlib.util
import re
import shlex
import sys
from collections.abc import Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from evalset.adk_runs.installed import adk_program, install_command, missing
from evalset.cli.init_command import package_option
from evalset.files.eval_names import base_name, snake_case
from evalset.verify.verify_request import Criteria
from simulator.agents.agent_folder import agent_above
from simulator.agents.agent_source import MARKS, project_folders
from simulator.base.documents import read_file
from simulator.base.frozen_value import Value

if TYPE_CHECKING:
    from evalset.adk_runs.run_spec import EvalRunSpec
    from evalset.verify.verify_request import VerifyRequest

_IMPORT = re.compile(r"^[ \t]*(?:from|import)[ \t]+([A-Za-z_]\w*)", re.MULTILINE)
_MOST_MODULES = 500
_PLAIN_ID = re.compile(r"[A-Za-z0-9_.-]+")
"""An eval id that pytest writes as it is in the name of a test."""


class AgentWords(Value):
    """How a command line names an agent.

    Attributes:
        words: As `golden-trace eval` takes them.
        start_in: The folder in which they hold; None for any.
        folder: The agent's folder where `adk eval` itself can load it.
    """

    words: str
    start_in: Path | None = None
    folder: Path | None = None


class ShownCommands(Value):
    """The commands for one case, in the order in which they are shown.

    Attributes:
        evaluate: `golden-trace eval`: ADK's own `adk eval`, with the recorded tool responses.
        pytest: Writes a pytest file beside the set, and runs it.
        plain: `adk eval` itself, for an agent that has the lines of `HermeticEnvironment`, or with the real tools; empty where it
            cannot load the agent.
        tolerant: As `plain`, with the criteria that heed the tolerances of the recording, which are written first.
        lacks_eval: Packages are missing that `adk eval` needs; the commands begin with what installs them.
        lacks_pytest: As `lacks_eval`, for pytest.
    """

    evaluate: str
    pytest: str
    plain: str = ""
    tolerant: str = ""
    lacks_eval: bool = False
    lacks_pytest: bool = False


def shown_commands(agent: AgentWords, eval_set: Path, eval_id: str) -> ShownCommands:
    """Return the commands that run one case of a set."""
    lacks_eval, lacks_pytest = bool(missing()), importlib.util.find_spec("pytest") is None
    evaluate = [*program(), "eval", agent.words, str(eval_set), *_case(eval_id)]
    plain = (
        [*_found(agent.folder), "eval", str(agent.folder), f"{eval_set}:{eval_id}"] if agent.folder else []
    )
    criteria = str(eval_set.with_name(f"{base_name(eval_set)}.eval_config.json"))
    ways = ["--models", "recorded", "--write-eval-config", criteria]
    write = [*program(), "verify", str(eval_set), "--agent", agent.words, *_case(eval_id), *ways]
    tolerant = [shlex.join(write), shlex.join([*plain, "--config_file_path", criteria])]
    install = [install_command()] if lacks_eval else []
    return ShownCommands(
        evaluate=_joined(*install, _in(agent.start_in, evaluate)),
        pytest=_pytest(agent, eval_set, eval_id, lacks_pytest=lacks_pytest),
        plain=_joined(*install, shlex.join(plain)) if plain else "",
        tolerant=_joined(*install, *tolerant) if plain else "",
        lacks_eval=lacks_eval,
        lacks_pytest=lacks_pytest,
    )


def _case(eval_id: str) -> list[str]:
    """Return the option for one case, in one piece where its id looks like an option, or like what zsh looks up as a program."""
    return [f"--case={eval_id}"] if eval_id.startswith(("-", "=")) else ["--case", eval_id]


def shown_run(agent: AgentWords, spec: EvalRunSpec) -> str:
    """Return the command that makes a run of `adk eval` again, with the criteria that lie beside its set."""
    cases = [part for eval_id in spec.cases for part in _case(eval_id)]
    if spec.environment is None:
        how = ["--real-tools"]
    else:
        policy = [] if spec.unrecorded == "fail" else ["--unrecorded", spec.unrecorded]
        how = ["--models", spec.models, *policy]
    return _in(agent.start_in, [*program(), "eval", agent.words, str(spec.eval_set), *cases, *how])


def shown_verify(agent: AgentWords | None, asked: VerifyRequest) -> str:
    """Return the commands that verify in the same way: `golden-trace verify`, pytest, and what has CI do so."""
    start_in = agent.start_in if agent is not None else None
    around = ["--agents-dir", str(asked.agents_dir)] if asked.agents_dir is not None else []
    ways = [*(["--agent", agent.words] if agent is not None else around), *_replay_options(asked)]
    cases = [part for eval_id in asked.cases for part in _case(eval_id)]
    tests = [f"{asked.eval_set}::{eval_id}" for eval_id in asked.cases] or [str(asked.eval_set)]
    in_tests = [sys.executable, "-m", "pytest", "--goldens", f"--goldens-options={shlex.join(ways)}", *tests]
    folder = asked.eval_set.absolute().parent
    root = _root(folder, agent, asked.agents_dir)
    goldens = ["--goldens", str(folder.relative_to(root))] if folder != root else []
    ci = [*program(), "init", "ci", "--models", asked.models, *goldens, *package_option(root)]
    return _joined(
        _in(start_in, [*program(), "verify", str(asked.eval_set), *cases, *ways]),
        _in(start_in, in_tests),
        _in(root, ci),
    )


def _root(folder: Path, agent: AgentWords | None, agents_dir: Path | None) -> Path:
    """Return the root of the project that a set's folder is in: as its marks tell, else the nearest folder that contains the agent's, too."""
    around = project_folders(folder)
    if any((around[-1] / mark).exists() for mark in MARKS):
        return around[-1]
    own = agent.folder if agent is not None else None
    own = own or agent_above(folder / "set", around[-1])
    if own is None:
        return folder
    held = own if own == agents_dir else own.parent
    return next((place for place in around if held.is_relative_to(place)), folder)


def _replay_options(asked: VerifyRequest) -> list[str]:
    """Return the options of a replay that are not the default, and who answers for the models."""
    criteria, usual = asked.criteria, Criteria()
    skipped = [
        name for name in ("trajectory", "response", "state", "responses") if not _is_asked(criteria, name)
    ]
    words = ["--models", asked.models]
    words += ["--runs", str(asked.runs)] if asked.runs > 1 else []
    words += ["--unrecorded", asked.unrecorded] if asked.unrecorded != "fail" else []
    words += ["--match", criteria.match] if criteria.match != usual.match else []
    words += ["--ignore-args"] if criteria.ignore_args else []
    words += ["--exactly"] if not criteria.tolerances else []
    if criteria.response not in {None, usual.response}:
        words += ["--response", str(criteria.response)]
    words += [part for name in skipped for part in ("--skip", name)]
    return words + [part for old, new in asked.renamed.items() for part in ("--rename-agent", f"{old}={new}")]


def _is_asked(criteria: Criteria, name: str) -> bool:
    return getattr(criteria, name) not in {None, False}


def program() -> Sequence[str]:
    """Return the command that starts `golden-trace` with this Python: the program beside it, else its module."""
    place = Path(sys.executable).with_name("golden-trace.exe" if sys.platform == "win32" else "golden-trace")
    return [str(place)] if place.is_file() else [sys.executable, "-m", "evalset.cli"]


def whole_line(line: str) -> str:
    """Return a command that begins with the bare name of this program as one that holds in any folder."""
    return f"{shlex.join(program())}{line.removeprefix('golden-trace')}"


def studio_line(*options: str) -> str:
    """Return the command that starts the studio, from any folder and however it is installed."""
    return shlex.join([*program(), "studio", *options])


def _pytest(agent: AgentWords, eval_set: Path, eval_id: str, *, lacks_pytest: bool) -> str:
    in_its_folder = agent.folder is not None and eval_set.parent == agent.folder
    named = [] if in_its_folder else ["--agent", agent.words]
    export = [*program(), "export", str(eval_set), "--form", "pytest", "--out", str(eval_set.parent), *named]
    test = str(eval_set.with_name(f"test_{snake_case(base_name(eval_set))}.py"))
    chosen = f"{test}::test_golden_trace[{eval_id}]" if _PLAIN_ID.fullmatch(eval_id) else test
    return _joined(
        *([install_command("pytest")] if lacks_pytest else []),
        _in(agent.start_in, export),
        _in(agent.start_in, [sys.executable, "-m", "pytest", chosen]),
    )


def _found(folder: Path) -> list[str]:
    """Return the program `adk`; with the folder around the agent's on Python's path where its modules import from there.

    ADK does not put it there. A shell of Windows has another way to set a variable for one command.
    """
    around = folder.parent
    if sys.platform == "win32" or not any(_lies_in(around, name) for name in _imported(folder)):
        return [*adk_program()]
    return ["env", f"PYTHONPATH={around}", *adk_program()]


def _lies_in(folder: Path, name: str) -> bool:
    return (folder / name).is_dir() or (folder / f"{name}.py").is_file()


def _imported(folder: Path) -> set[str]:
    """Return the first names of all that the modules in a folder import; a module that cannot be read has none."""
    found: set[str] = set()
    for module in islice(folder.rglob("*.py"), _MOST_MODULES):
        with suppress(OSError, UnicodeDecodeError):
            found.update(_IMPORT.findall(read_file(module, "script").decode()))
    return found - sys.stdlib_module_names


def _in(folder: Path | None, command: Sequence[str]) -> str:
    """Write a command, to be run in a folder; in parentheses, so that the shell stays where it is."""
    written = shlex.join(command)
    return written if folder is None else f"(cd {shlex.quote(str(folder))} && {written})"


def _joined(*commands: str) -> str:
    return "\n".join(commands)
