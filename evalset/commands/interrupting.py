"""Lets an interrupt end the program in any case, whatever an agent's code or a library makes of it."""

from __future__ import annotations

import os
import signal
import sys
import threading
from types import FrameType

from evalset.commands.ending import INTERRUPTED

WORDS = "interrupted; nothing was written"

_PATIENCE = 5.0
"""Seconds that the program has to end by itself; a case is written at once, and last of all."""


def end_when_interrupted() -> None:
    """Let each interrupt raise `KeyboardInterrupt` as it does, and end the process when that came to nothing."""
    signal.signal(signal.SIGINT, _interrupt)


def _interrupt(_: int, __: FrameType | None) -> None:
    end = threading.Timer(_PATIENCE, _end)
    end.daemon = True
    end.start()
    raise KeyboardInterrupt


def _end() -> None:
    sys.stderr.write(f"\n{WORDS}\n")
    sys.stderr.flush()
    os._exit(INTERRUPTED)
