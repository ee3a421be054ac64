"""Keeps texts on the disk until they are written into another file. Nobody sees them, and none outlives its process."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from types import TracebackType
from typing import Self

from evalset.files.json_streams import Span


class SpoolError(Exception):
    """Texts cannot be kept on the disk; the message says where and why."""


class Spool:
    """Texts one after another in a temporary file without a name.

    Raises:
        SpoolError: By each method.
    """

    def __init__(self) -> None:
        with _told():
            self._file = tempfile.TemporaryFile(prefix="golden-trace-")  # noqa: SIM115 - `__exit__` closes it
        self.size, self._is_at_end = 0, True

    def __enter__(self) -> Self:
        """Return the spool; behind the block it is gone."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Remove the texts."""
        with contextlib.suppress(OSError):  # what could not be written is not needed any more
            self._file.close()

    def add(self, text: bytes) -> Span:
        """Keep a text, and return where it stands."""
        with _told():
            if not self._is_at_end:  # each `seek` empties the buffer
                self._file.seek(self.size)
            self._file.write(text)
            self._is_at_end = True
        start, self.size = self.size, self.size + len(text)
        return Span(start, self.size)

    def read(self, span: Span) -> bytes:
        """Return a text."""
        self._is_at_end = False
        with _told():
            self._file.seek(span.start)
            return self._file.read(span.stop - span.start)

    def cut(self, size: int) -> None:
        """Forget what was added since the spool had this size."""
        self._is_at_end = self._is_at_end and size == self.size
        self.size = size


@contextlib.contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise SpoolError(
            f"{tempfile.gettempdir()}: no temporary file can be written: {error.strerror or error}"
        ) from error
