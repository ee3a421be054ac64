"""Starts the studio's commands: `python -m simulator run AGENT --script FILE --out SET`."""

from evalset.cli.simulator_program import start

if __name__ == "__main__":
    start()
