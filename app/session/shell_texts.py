"""Says how an agent is named in a shell, and which commands run a case or a set there; no drawing here."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from evalset.cli.shell_lines import AgentWords, ShownCommands, shown_commands, shown_run, shown_verify
from simulator.agents import DEMOS_DIR, AgentEntry, AgentSettings

if TYPE_CHECKING:
    from evalset.adk_runs.run_spec import EvalRunSpec
    from evalset.verify.verify_request import VerifyRequest

_FILE_MARK = re.compile(r" \(file(?: \d+)?\)$")
"""What the catalogue adds to a name that another source has too."""


def commands_of(
    name: str, entries: Sequence[AgentEntry], settings: AgentSettings, eval_set: Path, eval_id: str
) -> ShownCommands | None:
    """Return the commands for a case of the agent with this name; None where it is in no list that a shell could name."""
    words = _words_named(name, entries, settings)
    return shown_commands(words, eval_set, eval_id) if words else None


def eval_command_of(spec: EvalRunSpec, entries: Sequence[AgentEntry], settings: AgentSettings) -> str:
    """Return the command that makes a run of `adk eval` again, with the criteria beside the set; empty where a shell cannot name the agent."""
    words = _words_named(spec.agent.name, entries, settings)
    return shown_run(words, spec) if words else ""


def verify_commands_of(
    name: str, entries: Sequence[AgentEntry], settings: AgentSettings, asked: VerifyRequest
) -> str:
    """Return the commands that verify in the same way; empty where a shell cannot name the agent. No name: each case has one."""
    words = _words_named(name, entries, settings)
    return shown_verify(words, asked) if words or not name else ""


def _words_named(name: str, entries: Sequence[AgentEntry], settings: AgentSettings) -> AgentWords | None:
    entry = next((each for each in entries if each.name == name), None)
    if entry is None:
        return None
    return words_of(entry, settings, [each.name for each in entries if each.source != "file"])


def words_of(entry: AgentEntry, settings: AgentSettings, others: Sequence[str] = ()) -> AgentWords | None:
    """Say how a command line names an agent of the list.

    Args:
        entry: The agent.
        settings: Where the list comes from.
        others: The names of agents that are not in the file of configs.
    """
    match entry.source:
        case "demo":
            return AgentWords(words=entry.name, folder=DEMOS_DIR / entry.name)
        case "folder":
            return _of_folder(entry, settings.agents_dir)
        case "file" if settings.agents_file is not None:
            return _of_file(entry, settings.agents_file, others)
    return None


def _of_folder(entry: AgentEntry, agents_dir: Path | None) -> AgentWords:
    folder = Path(entry.location).absolute()
    named = f"{folder.parent}#{folder.stem}"  # in a folder that was added
    if agents_dir is not None and folder.is_relative_to(agents_dir.resolve()):
        named = f"{agents_dir.absolute()}#{entry.name}"
    if not folder.is_dir():
        return AgentWords(words=named)
    loaded_by_adk = folder if (folder / "__init__.py").is_file() else None
    alone = any((folder / name).is_file() for name in ("agent.py", "root_agent.yaml"))
    return AgentWords(words=str(folder) if alone else named, folder=loaded_by_adk)


def _of_file(entry: AgentEntry, agents_file: str, others: Sequence[str]) -> AgentWords:
    bare = _FILE_MARK.sub("", entry.name)
    name = bare if bare in others else entry.name
    path = Path(agents_file).expanduser()
    if path.is_file():
        return AgentWords(words=f"{path.absolute()}#{name}")
    return AgentWords(words=f"{agents_file}#{name}", start_in=Path.cwd())  # a module, found from here
