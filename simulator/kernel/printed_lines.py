"""Reads what a process prints, line by line, without holding more of it than a bound."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from io import BufferedIOBase

LONGEST_LINE = 4096
"""Of how many bytes of a line is told; the rest of it is passed over."""
_CHUNK = 1 << 16
_PAUSE_SECONDS = 0.01
"""How long what is printed is gathered at least: a line at a time, each would wake its reader."""
_PAUSES = 9
_END = re.compile(rb"\r\n|\r|\n")  # a progress bar returns to the start of its line


def printed_lines(
    output: BufferedIOBase,
    *,
    pause: Callable[[float], object] = time.sleep,
    clock: Callable[[], float] = time.thread_time,
) -> Iterator[str]:
    """Yield each line without its end, soon after it has ended.

    What prints without end waits for its reader: reading and what is done with the lines take a tenth of a processor at most.

    Args:
        output: What is printed.
        pause: Waits for so many seconds.
        clock: Gives the processor's time that this thread has taken, in seconds.
    """
    line = bytearray()
    while chunk := output.read1(_CHUNK):
        began = clock()
        *ended, last = _END.split(chunk)
        for part in ended:
            line += part[: LONGEST_LINE + 1 - len(line)]
            yield _text(line)
            line.clear()
        line += last[: LONGEST_LINE + 1 - len(line)]
        pause(max(_PAUSE_SECONDS, _PAUSES * (clock() - began)))
    if line:
        yield _text(line)


def _text(line: bytearray) -> str:
    text = line[:LONGEST_LINE].decode(errors="replace").rstrip()
    return f"{text}..." if len(line) > LONGEST_LINE else text
