"""Starts the studio's commands: `python -m simulator run AGENT --script FILE --out SET`."""

import sys

from evalset.cli.terminal_output import as_program


def main() -> int:
    """Run a command, and return its exit code."""
    from evalset.cli.main import simulator_main as run  # noqa: PLC0415 - it imports much

    return run()


if __name__ == "__main__":
    sys.exit(as_program(main))
