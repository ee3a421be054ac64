"""Lets a command write any text to any terminal, and what another program reads alone: nothing that an agent prints is in it.

What the terminal's encoding cannot hold is escaped as in JSON, so that JSON stays JSON.
"""

from __future__ import annotations

import codecs
import io
import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TextIO

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
