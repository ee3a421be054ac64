"""Starts the commands for eval sets: `python -m evalset doctor PATH...`, `python -m evalset verify SET`."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from evalset.cli.main import carried_out
from evalset.cli.terminal_output import BAD_INPUT, DONE, as_program, escape_output

_COMMANDS = ("doctor", "verify")


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
        return DONE
    if name not in _COMMANDS:
        sys.stderr.write(usage if not name else f"{usage}unknown command {name!r}\n")
        return BAD_INPUT
    return carried_out(name, rest[:-1], prog="python -m evalset")


if __name__ == "__main__":
    sys.exit(as_program(main))
