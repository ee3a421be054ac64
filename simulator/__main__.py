"""Starts the studio's commands: `python -m simulator run AGENT --script FILE --out SET`."""

import sys

from evalset.command import main

if __name__ == "__main__":
    sys.exit(main())
