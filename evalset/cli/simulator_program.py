"""The program `python -m simulator`: plays scripts, makes scripts of sessions, and lists sessions, without the page.

It exits with 0 when all is done; 1 where a script has no answer and nobody gave one, or (with `--strict`) a line too many
or in the wrong place; 2 for bad input; 3 when the agent failed or a turn ended with an error; 130 when it is interrupted.
Whatever is not 0 has written no case.
"""

from __future__ import annotations

import argparse
import logging
import sys
import warnings
from collections.abc import Sequence
from typing import TextIO

from evalset.cli.exit_codes import DONE, INTERRUPTED, WORDS, Ends
from evalset.cli.progress_line import ProgressLine
from evalset.cli.sessions_command import add_script, add_sessions
from evalset.cli.terminal_output import escape_output, kept_from_agents, output
from simulator.base.masked_log import masked_log

_RUN = "play a script with an agent and write the golden trace into an eval set"


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
    words = sys.argv[1:] if argv is None else argv
    given = _parser(prog, plays=words[:1] == ["run"]).parse_args(words)
    if not getattr(given, "verbose", False):
        _hush()
    progress = ProgressLine(sys.stderr, quiet=getattr(given, "quiet", False))
    try:
        with masked_log(), kept_from_agents(words):
            given.work(given, typed or sys.stdin, progress, output())
    except Ends as end:
        if str(end):
            progress.say(str(end))
        return end.code
    except KeyboardInterrupt:
        progress.say(WORDS)
        return INTERRUPTED
    return DONE


def _parser(prog: str, *, plays: bool) -> argparse.ArgumentParser:
    """Make the parser; where nothing is played, `run` is only named: what its options import takes half a second."""
    parser = argparse.ArgumentParser(prog=prog, allow_abbrev=False)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    if plays:
        from evalset.cli.run_options import add_run  # noqa: PLC0415 - as above

        add_run(commands, _RUN)
    else:
        commands.add_parser("run", help=_RUN)
    add_script(commands)
    add_sessions(commands)
    return parser


def _hush() -> None:
    """Keep ADK's warnings, which come with each request, away from the progress line."""
    logging.basicConfig(level=logging.ERROR, format="%(message)s")
    if not sys.warnoptions:
        warnings.simplefilter("ignore")
