"""Lets a command write any text to any terminal, and what another program reads alone: nothing that an agent prints is in it.

What the terminal's encoding cannot hold is escaped as in JSON, so that JSON stays JSON. How far a command is stands in one line that changes on
a terminal, and in plain lines elsewhere.
"""

from __future__ import annotations

import codecs
import io
import json
import os
import re
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, TextIO

from simulator.base.secret_masking import without_secrets

if TYPE_CHECKING:
    from simulator.scripts import ScriptStep

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


# ---------------------------------------------------------------- what a person reads


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
