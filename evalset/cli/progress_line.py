"""Tells a person on the command line how far a script is: one line that changes on a terminal, plain lines elsewhere."""

from __future__ import annotations

import logging
import re
import shutil
import sys
import warnings
from typing import TYPE_CHECKING, TextIO

from simulator.base.secret_masking import without_secrets

if TYPE_CHECKING:
    from simulator.scripts import ScriptStep

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_CLEAR = "\r\x1b[K"


def plain(text: str) -> str:
    """Mask secrets, and show control characters as question marks: a text from a tool may not command a terminal."""
    return _CONTROL.sub("?", without_secrets(text))


def hush() -> None:
    """Keep ADK's warnings away from the progress line; what an agent is missing is told by its case."""
    logging.basicConfig(level=logging.CRITICAL, format="%(message)s")
    if not sys.warnoptions:
        warnings.simplefilter("ignore")


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
