"""Starts the console command as a module: `python -m evalset.cli`, where no `golden-trace` is installed."""

import sys

from evalset.cli.main import main
from evalset.cli.terminal_output import as_program

if __name__ == "__main__":
    sys.exit(as_program(main))
