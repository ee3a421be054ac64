"""Starts the studio's commands: `python -m simulator run AGENT --script FILE --out SET`."""

import sys

from evalset.command import main
from evalset.commands.ending import end_when_interrupted

if __name__ == "__main__":
    end_when_interrupted()
    sys.exit(main())
