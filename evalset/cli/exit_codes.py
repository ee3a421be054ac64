"""Says how a command ends: with which exit code, and with which words."""

from __future__ import annotations

import os
import signal
import sys
import threading
from types import FrameType

DONE, NO_ANSWER, BAD_INPUT, FAILED, NOT_RECORDED, INTERRUPTED = 0, 1, 2, 3, 4, 130
"""The exit codes."""

CODES = (
    "Exit codes: 0 done; 1 the script has no answer for a request, or with --strict a line that does not fit; 2 bad input; "
    "3 the agent failed; 4 the case was written, but not its recorded tool responses: run the command again, it adds no "
    "second case; 130 interrupted. Except for 0 and 4, no case was written."
)
"""The exit codes in words, for the help of a command."""


class Ends(Exception):  # noqa: N818 - it ends the command, in one of its ways
    """The command ends here; the text is for the person who called it."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code


# Lets an interrupt end the program in any case, whatever an agent's code or a library makes of it.


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
