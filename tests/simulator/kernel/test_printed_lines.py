"""What an agent prints takes no more memory of the studio than a bound, whatever it prints."""

from __future__ import annotations

import io
import tracemalloc

import pytest

from simulator.kernel.printed_lines import LONGEST_LINE, printed_lines


class Endless(io.BufferedIOBase):
    """Prints 64 MB without the end of a line, and then some words."""

    def __init__(self) -> None:
        self._left = 1024

    def read1(self, size: int = -1) -> bytes:
        """Return the next bytes."""
        assert size > 0
        self._left -= 1
        return b"x" * (1 << 16) if self._left > 0 else b"\rlast words\n" if self._left == 0 else b""


@pytest.mark.long
def test_a_line_without_an_end_takes_no_memory() -> None:
    """Its beginning is kept, and what comes after it is heard."""
    tracemalloc.start()
    try:
        first, last = printed_lines(Endless())
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (first, last) == (f"{'x' * LONGEST_LINE}...", "last words")
    assert peak < 4 << 20


def test_lines_end_as_terminals_end_them() -> None:
    """Also where a progress bar begins its line again, and at the end of the output."""
    printed = io.BytesIO("one\r\ntwo\n\n10 %\r20 %\rdöne".encode())
    assert [*printed_lines(printed)] == ["one", "two", "", "10 %", "20 %", "döne"]
