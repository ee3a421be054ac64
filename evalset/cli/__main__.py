"""Starts the console command as a module: `python -m evalset.cli`, where no `golden-trace` is installed."""

import sys

from evalset.cli.exit_codes import as_program
from evalset.cli.main import main

if __name__ == "__main__":
    sys.exit(as_program(main))
