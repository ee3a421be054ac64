"""Reads what a process prints, line by line, without holding more of it than a bound."""

from __future__ import annotations

import re
from collections.abc import Iterator
from io import BufferedIOBase

LONGEST_LINE = 4096
"""Of how many bytes of a line is told; the rest of it is passed over."""
_CHUNK = 1 << 16
_END = re.compile(rb"\r\n|\r|\n")  # a progress bar returns to the start of its line


def printed_lines(output: BufferedIOBase) -> Iterator[str]:
    """Yield each line without its end, as soon as it has ended."""
    line = bytearray()
    while chunk := output.read1(_CHUNK):
        *ended, last = _END.split(chunk)
        for part in ended:
            line += part[: LONGEST_LINE + 1 - len(line)]
            yield _text(line)
            line.clear()
        line += last[: LONGEST_LINE + 1 - len(line)]
    if line:
        yield _text(line)


def _text(line: bytearray) -> str:
    text = line[:LONGEST_LINE].decode(errors="replace").rstrip()
    return f"{text}..." if len(line) > LONGEST_LINE else text
