"""How a command ends, and what it writes: with which exit code, and any text to any terminal.

`as_program` says how a process ends that runs a command, whatever an agent's code or a library makes of an interrupt. What another program reads has nothing in it that an agent
prints. What the terminal's encoding cannot hold is escaped as in JSON, so that JSON stays JSON. How far a command is stands in one line that changes on a terminal, and in plain lines
elsewhere.
"""

from __future__ import annotations

import codecs
import io
import json
import os
import re
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from types import FrameType
from typing import TYPE_CHECKING, TextIO

from simulator.base.secret_masking import without_secrets

if TYPE_CHECKING:
    from simulator.scripts import ScriptStep


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


_ESCAPES = "golden-trace-escapes"
_STDOUT = 1
_READ_BY_PROGRAMS = frozenset({"--json", "-", "--out=-"})
_own: TextIO | None = None


def escape_output() -> None:
    """Escape from now on what the encoding of the standard output cannot hold; the standard error does so by itself."""
    codecs.register_error(_ESCAPES, _escaped)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors=_ESCAPES)


def _escaped(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return json.dumps(error.object[error.start : error.end])[1:-1], error.end


def output() -> TextIO:
    """Return where a command writes its result: the standard output, also while that is kept from agents."""
    return _own or sys.stdout


@contextmanager
def kept_from_agents(arguments: Sequence[str]) -> Iterator[None]:
    """While a command runs that another program reads, let what an agent, its libraries and its processes print go to the standard error.

    Args:
        arguments: The command's own: `--json`, or a `-` for the standard output, says that a program reads it.
    """
    global _own  # noqa: PLW0603 - the standard output is one for the whole process
    if _own is not None or _READ_BY_PROGRAMS.isdisjoint(arguments):
        yield
        return
    shown, kept = sys.stdout, _descriptor(sys.stdout)
    _own = shown if kept is None else os.fdopen(kept, "w", encoding=shown.encoding, errors=shown.errors)
    sys.stdout = sys.stderr
    try:
        yield
    finally:
        written, _own, sys.stdout = _own, None, shown
        try:
            written.flush()
        finally:
            if kept is not None:
                os.dup2(kept, _STDOUT)
                with suppress(BrokenPipeError):  # it was told by the flush
                    written.close()


def _descriptor(shown: TextIO) -> int | None:
    """Take the standard output's descriptor from all others, who write to the standard error by it; None where there is none, as in tests."""
    try:
        shown.fileno()
        error = sys.stderr.fileno()
    except (OSError, ValueError, AttributeError):
        return None
    shown.flush()
    kept = os.dup(_STDOUT)
    os.dup2(error, _STDOUT)
    return kept


_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_CLEAR = "\r\x1b[K"


def plain(text: str) -> str:
    """Mask secrets, and show control characters as question marks: a text from a tool may not command a terminal."""
    return _CONTROL.sub("?", without_secrets(text))


class ProgressLine:
    """The line of a terminal that says what happens.

    Args:
        stream: Where to; a terminal gets a line that changes, until `say` writes one that stays.
        quiet: Show no steps, only what is said and asked.
    """

    def __init__(self, stream: TextIO, *, quiet: bool = False) -> None:
        self._stream = stream
        self._quiet = quiet
        self._moves = stream.isatty()
        self._shown = False

    def step(self, step: ScriptStep) -> None:
        """Show a step."""
        self.line(f"turn {step.turn} of {step.turns}: {step.words}")

    def line(self, text: str) -> None:
        """Show how far things are, in a line that the next one takes the place of on a terminal."""
        if self._quiet:
            return
        line = plain(text).replace("\n", " ")
        if not self._moves:
            self._stream.write(f"{line}\n")
        else:
            width = max(20, shutil.get_terminal_size().columns - 1)
            self._stream.write(f"{_CLEAR}{line if len(line) <= width else line[: width - 1] + '…'}")
            self._shown = True
        self._stream.flush()

    def say(self, text: str) -> None:
        """Write a text that stays, below what stands there."""
        self.clear()
        self._stream.write(plain(text).rstrip("\n") + "\n")
        self._stream.flush()

    def ask(self, text: str) -> None:
        """Write what a person is to answer on the same line."""
        self.clear()
        self._stream.write(plain(text))
        self._stream.flush()

    def clear(self) -> None:
        """Take the line that changes away."""
        if self._shown:
            self._stream.write(_CLEAR)
            self._stream.flush()
            self._shown = False
