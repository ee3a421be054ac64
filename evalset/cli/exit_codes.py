"""Says how a command ends: with which exit code, and with which words."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from types import FrameType

DONE, NO_ANSWER, BAD_INPUT, FAILED, NOT_RECORDED, INTERRUPTED, BROKEN_PIPE = 0, 1, 2, 3, 4, 130, 141
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


# How a process ends that runs a command, whatever an agent's code or a library makes of an interrupt.


WORDS = "interrupted; nothing was written"
_WORDS = "\ninterrupted\n"
"""Behind what a terminal's line shows of the progress."""
_BY_A_SIGNAL = 128
"""What a shell adds to the number of the signal that ended a command."""
_PATIENCE = 5.0
"""Seconds that the program has to end by itself; a case is written at once, and last of all."""
_ends_by = 0


def as_program(run: Callable[[], int]) -> int:
    """Run a command as all that this process does, and return its exit code.

    An interrupt, a closed terminal and an output that nobody reads any more end it without a traceback, with the exit code that shells know
    for it. What `run` imports may take long, so it imports that itself.

    Args:
        run: Runs the command and returns its exit code; `sys.exit` will do as well.
    """
    _end_when_interrupted()
    try:
        code = _ended(run)
    except KeyboardInterrupt:
        with suppress(OSError):
            sys.stderr.write(_WORDS)
        code = INTERRUPTED
    except BrokenPipeError:  # the reader, `head` for one, has seen enough
        code = BROKEN_PIPE
        _write_nowhere()
    except (OSError, EOFError):  # of a terminal that is closed, whose signal may come a moment later
        with suppress(KeyboardInterrupt):
            time.sleep(0)
        if not _ends_by:
            raise
        code = INTERRUPTED
        _write_nowhere()
    if signal.getsignal(signal.SIGINT) is _interrupt:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # Python's own end is not worth a traceback either
    return _BY_A_SIGNAL + _ends_by if code == INTERRUPTED and _ends_by else code


def _ended(run: Callable[[], int]) -> int:
    """Run a command, write all its output, and return its exit code."""
    try:
        return run()
    except SystemExit as end:
        if not isinstance(end.code, int | None):
            raise
        return end.code or DONE
    finally:
        sys.stdout.flush()


def _write_nowhere() -> None:
    """Let what Python still wants to write at the end go nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        os.dup2(nowhere, stream.fileno())


def _end_when_interrupted() -> None:
    """Let an interrupt and a closed terminal raise `KeyboardInterrupt`, and end the process when that came to nothing."""
    for name in ("SIGINT", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:  # as `nohup` wants it
            signal.signal(number, _interrupt)
    sys.unraisablehook = _told_of


def _told_of(lost: sys.UnraisableHookArgs) -> None:
    """Say what a destructor could not raise; of an interrupt the end of the process tells enough."""
    if not isinstance(lost.exc_value, KeyboardInterrupt):
        sys.__unraisablehook__(lost)


def _interrupt(number: int, _: FrameType | None) -> None:
    global _ends_by  # noqa: PLW0603 - a process ends once
    _ends_by = number
    end = threading.Timer(_PATIENCE, _end)
    end.daemon = True
    end.start()
    raise KeyboardInterrupt


def _end() -> None:
    with suppress(OSError):
        sys.stderr.write(_WORDS)
        sys.stderr.flush()
    os._exit(_BY_A_SIGNAL + _ends_by)
