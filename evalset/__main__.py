"""Starts the commands of this package: `python -m evalset doctor PATH...`."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence

_COMMANDS = {"doctor": "evalset.doctor.command"}
"""The module of each command, which is imported only when it is asked for; its `main` takes the arguments behind the name."""

_BAD_INPUT = 2


def main(argv: Sequence[str]) -> int:
    """Run the command that is named first, and give its exit code."""
    name = argv[0] if argv else ""
    home = _COMMANDS.get(name)
    if home is None:
        asked = name in {"-h", "--help"}
        stream = sys.stdout if asked else sys.stderr
        stream.write(f"usage: python -m evalset {{{','.join(_COMMANDS)}}} ...  (each with --help)\n")
        return 0 if asked else _BAD_INPUT
    code: int = importlib.import_module(home).main(argv[1:])
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
