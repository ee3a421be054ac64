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


class Chunks(io.BufferedIOBase):
    """Prints pieces, each of which is read at once."""

    def __init__(self, pieces: list[bytes]) -> None:
        self._pieces = iter(pieces)

    def read1(self, size: int = -1) -> bytes:
        """Return the next piece."""
        assert size > 0
        return next(self._pieces, b"")


@pytest.mark.long
def test_a_line_without_an_end_takes_no_memory() -> None:
    """Its beginning is kept, and what comes after it is heard."""
    tracemalloc.start()
    try:
        first, last = printed_lines(Endless(), pause=float)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (first, last) == (f"{'x' * LONGEST_LINE}...", "last words")
    assert peak < 4 << 20


def test_lines_end_as_terminals_end_them() -> None:
    """Also where a progress bar begins its line again, and at the end of the output."""
    printed = io.BytesIO("one\r\ntwo\n\n10 %\r20 %\rdöne".encode())
    assert [*printed_lines(printed)] == ["one", "two", "", "10 %", "20 %", "döne"]


def test_what_is_printed_without_end_takes_a_tenth_of_a_processor() -> None:
    """The time that the lines take is waited nine times before more is read, and a hundredth of a second at least."""
    now, pauses = iter([0.0, 0.5, 10.0, 10.0]), list[float]()
    printed = Chunks([b"one\ntwo\n", b"three\n"])
    assert [*printed_lines(printed, pause=pauses.append, clock=lambda: next(now))] == ["one", "two", "three"]
    assert pauses == [4.5, 0.01]
