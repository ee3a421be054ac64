"""Starts the commands for eval sets: `python -m evalset doctor PATH...`, `python -m evalset verify SET`."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping, Sequence

from evalset.cli.exit_codes import as_program
from evalset.cli.terminal_output import escape_output, kept_from_agents

_COMMANDS: Mapping[str, str] = {
    "doctor": "evalset.cli.doctor_command",
    "verify": "evalset.cli.verify_command",
}
"""The module of each command; it has a `main` that takes the arguments and gives an exit code."""

_BAD_USAGE = 2


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command, and return its exit code.

    Args:
        argv: The arguments without the program's name; those of the process by default.
    """
    escape_output()
    name, *rest = [*(sys.argv[1:] if argv is None else argv), ""]
    usage = f"usage: python -m evalset {{{','.join(_COMMANDS)}}} ...\n"
    if name in {"-h", "--help"}:
        sys.stdout.write(usage)
        return 0
    if name not in _COMMANDS:
        sys.stderr.write(usage if not name else f"{usage}unknown command {name!r}\n")
        return _BAD_USAGE
    run: Callable[[Sequence[str]], int] = importlib.import_module(_COMMANDS[name]).main
    with kept_from_agents(rest):
        return run(rest[:-1])


if __name__ == "__main__":
    sys.exit(as_program(main))
