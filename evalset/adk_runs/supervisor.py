"""Runs a command, and ends it with all that it started when the process that wanted it is gone, even by a SIGKILL.

That process holds the other end of our standard input: whichever way it ends, the system closes it. Run as a script, with the command
behind it; it needs nothing but the standard library, so that it starts at once.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from types import FrameType

GRACE_SECONDS = 1.0
"""How long the command has to end by itself when nobody wants it any more."""

_CANNOT_START = 127


def main(command: list[str]) -> int:
    """Run the command to its end, and return its exit code."""
    # A handler, where ignoring would be passed on to the command: it is asked to end with its group, and we end after it.
    signal.signal(signal.SIGTERM, _stay)
    try:
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL)  # noqa: S603 - as we were told
    except OSError as error:
        print(f"{command[0]} cannot be started: {error.strerror or error}", flush=True)  # noqa: T201 - into the log
        return _CANNOT_START
    is_unwanted = threading.Event()
    ending = threading.Thread(target=_end_with_parent, args=(child, is_unwanted), daemon=True)
    ending.start()
    code = child.wait()
    if is_unwanted.is_set():  # what it started may still be there
        ending.join()
    return code


def _stay(_signal: int, _frame: FrameType | None) -> None:
    """Do nothing."""


def _end_with_parent(child: subprocess.Popen[bytes], is_unwanted: threading.Event) -> None:
    while os.read(0, 1):
        pass
    is_unwanted.set()
    if not hasattr(os, "killpg"):  # pragma: no cover - where the system knows no groups
        child.kill()
        return
    os.killpg(0, signal.SIGTERM)
    time.sleep(GRACE_SECONDS)
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    code = main(sys.argv[1:])
    if code < 0:  # ended by a signal, as we do then
        if -code == signal.SIGTERM:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)  # whatever still reads our standard input
