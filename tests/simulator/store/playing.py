"""A process of its own that plays a session of a database, a step for each line that it is given."""

from __future__ import annotations

import subprocess
import sys

from tests.harness.processes import REPOSITORY, quiet_environment
from tests.simulator.store.databases import Kept

_PLAY = """
import os, signal, sys
sys.path.insert(0, {root!r})
from simulator.store import HeadMovedError, JournalStore
from tests.simulator.store.databases import seat
store = JournalStore.open({url!r})
journal = store.load("session")
if {claims}:
    journal.claim()
print("ready", flush=True)
for line in sys.stdin:
    store.leases.renew()
    journal.append(seat({name!r} + line.strip()))
    try:
        journal.keep()
    except HeadMovedError:
        journal.refresh()
        print("moved", flush=True)
    else:
        print("kept", flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


class PlayingProcess:
    """The process. At the end of its input it is killed."""

    def __init__(self, kept: Kept, name: str, *, claims: bool = False) -> None:
        code = _PLAY.format(root=str(REPOSITORY), url=str(kept.url), name=name, claims=claims)
        self.process = subprocess.Popen(
            [sys.executable, "-c", code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=quiet_environment(),
        )
        assert self.said() == "ready"

    def begin(self, step: str = "") -> None:
        """Let it append a seat whose target is its name and these letters."""
        assert self.process.stdin
        self.process.stdin.write(f"{step}\n")
        self.process.stdin.flush()

    def said(self) -> str:
        """Wait until it says whether its step was `kept`, or the head was `moved`."""
        assert self.process.stdout
        return self.process.stdout.readline().strip()

    def step(self) -> str:
        """Let it append, and return what became of it."""
        self.begin()
        return self.said()
