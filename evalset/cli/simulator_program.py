"""The program `python -m simulator`: plays scripts, makes scripts of sessions, and lists sessions, without the page.

It exits with 0 when all is done; 1 where a script has no answer and nobody gave one, or (with `--strict`) a line too many
or in the wrong place; 2 for bad input; 3 when the agent failed or a turn ended with an error; 130 when it is interrupted.
Whatever is not 0 has written no case.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import TextIO

from evalset.cli.exit_codes import BAD_INPUT
from evalset.cli.main import COMMANDS, carried_out
from evalset.cli.terminal_output import escape_output

_NAMES = {
    "run": "play a script with an agent and write the golden trace into an eval set",
    "script": COMMANDS["script"].about,
    "sessions": COMMANDS["sessions"].about,
}


def main(
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
