"""The console command `golden-trace`, and the program `python -m simulator`: finds the command that is meant, and imports no more than that.

`python -m simulator` plays scripts, makes scripts of sessions, and lists sessions, without the page. It exits with 0 when all is done; 1 where a script has no answer and nobody
gave one, or (with `--strict`) a line too many or in the wrong place; 2 for bad input; 3 when the agent failed or a turn ended with an error; 130 when it is interrupted. Whatever is
not 0 has written no case.
"""

from __future__ import annotations

import argparse
import importlib
import platform
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any, NamedTuple, TextIO

from evalset.cli.terminal_output import BAD_INPUT, escape_output, kept_from_agents
from simulator.base.secret_masking import masked_log
from simulator.base.validation_words import near

PROGRAM = "golden-trace"
BAD_USAGE = 2
_DISTRIBUTIONS = ("golden-trace-studio", "google-adk", "streamlit")


class CliCommand(NamedTuple):
    """A command: what it does in a line, and the function `module:name` that takes its arguments and gives an exit code."""

    about: str
    home: str


COMMANDS: Mapping[str, CliCommand] = {
    "studio": CliCommand("open the studio in the browser", "evalset.cli.studio_command:main"),
    "run": CliCommand(
        "play a script with an agent and write the golden trace", "evalset.cli.run_options:main"
    ),
    "sessions": CliCommand("list the stored sessions", "evalset.cli.sessions_command:sessions"),
    "script": CliCommand("write a session as a script", "evalset.cli.sessions_command:script"),
    "verify": CliCommand(
        "replay an eval set and compare it with its goldens", "evalset.cli.verify_command:main"
    ),
    "compare": CliCommand(
        "compare two kept runs of an eval set, case by case", "evalset.cli.compare_command:main"
    ),
    "eval": CliCommand(
        "run ADK's own `adk eval` with the recorded tool responses", "evalset.cli.eval_command:main"
    ),
    "doctor": CliCommand("find and fix problems in eval sets", "evalset.cli.doctor_command:main"),
    "import": CliCommand(
        "import sessions, tests and eval sets into an eval set", "evalset.cli.import_command:main"
    ),
    "export": CliCommand(
        "export an eval set as pytest, `adk test`, scenarios and more", "evalset.cli.export_command:main"
    ),
    "init": CliCommand(
        "set up continuous integration for the goldens of a project", "evalset.cli.init_command:main"
    ),
}

CODES = """exit codes:
  0 done, or all passed       1 findings, failures, or a script without an answer
  2 bad input or bad usage    3 the agent failed    130 interrupted
  4 `run` wrote the case, but not the recorded tool responses: run it again
`golden-trace COMMAND --help` explains the codes of a command."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command, and return its exit code.

    Args:
        argv: The arguments without the program's name; those of the process by default.
    """
    escape_output()
    given = list(sys.argv[1:] if argv is None else argv)
    name, arguments = (given[0], given[1:]) if given else ("", [])
    if name in {"-h", "--help"}:
        sys.stdout.write(_help())
        return 0
    if name in {"-V", "--version"}:
        sys.stdout.write(_versions())
        return 0
    if name not in COMMANDS:
        wrong = f"{_usage()}{PROGRAM}: unknown command {name!r}; {near(name, COMMANDS)}\n`{PROGRAM} --help` lists the commands.\n"
        sys.stderr.write(wrong if name else _help())
        return BAD_USAGE
    return carried_out(name, arguments)


def carried_out(name: str, arguments: Sequence[str], *, prog: str = PROGRAM, **more: Any) -> int:
    """Run a command, and return its exit code.

    Args:
        name: Its name.
        arguments: Those behind the name.
        prog: The program that it is a command of.
        more: What the command takes besides.
    """
    module, _, function = COMMANDS[name].home.partition(":")
    run: Callable[..., int] = getattr(importlib.import_module(module), function)
    with masked_log(), kept_from_agents(arguments):
        return run(arguments, prog=f"{prog} {name}", **more)


def _usage() -> str:
    return f"usage: {PROGRAM} [--help] [--version] COMMAND ...\n"


def _help() -> str:
    width = max(map(len, COMMANDS))
    lines = [f"  {name:<{width}}  {command.about}" for name, command in COMMANDS.items()]
    about = "Author, replay and verify golden traces of ADK agents."
    return "\n".join((f"{_usage()}\n{about}\n\ncommands:", *lines, f"\n{CODES}\n"))


def _versions() -> str:
    found = [f"{name} {_version(name)}" for name in _DISTRIBUTIONS]
    return f"{', '.join(found)}, Python {platform.python_version()}\n"


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "(not installed)"


_NAMES = {
    "run": "play a script with an agent and write the golden trace into an eval set",
    "script": COMMANDS["script"].about,
    "sessions": COMMANDS["sessions"].about,
}


def simulator_main(
    argv: Sequence[str] | None = None, *, typed: TextIO | None = None, prog: str = "python -m simulator"
) -> int:
    """Run the program and return its exit code.

    Args:
        argv: The arguments without the program's name; those of the process by default.
        typed: Where a person types; the standard input by default.
        prog: What started it, for the help.
    """
    escape_output()
    words = list(sys.argv[1:] if argv is None else argv)
    if words and words[0] in _NAMES:
        return carried_out(words[0], words[1:], prog=prog, typed=typed)
    parser = argparse.ArgumentParser(prog=prog, allow_abbrev=False)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, about in _NAMES.items():
        commands.add_parser(name, help=about)
    parser.parse_args(words)
    return BAD_INPUT
