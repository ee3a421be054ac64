"""Starts the studio's commands: `python -m simulator run AGENT --script FILE --out SET`."""

import sys

from evalset.cli.exit_codes import end_when_interrupted
from evalset.cli.simulator_program import main

if __name__ == "__main__":
    end_when_interrupted()
    sys.exit(main())
