"""Reads a JSON file from front to back through a window, so that a file of any length takes little memory.

`JsonStream` gives values one by one; a `Spool` keeps texts on the disk until they are written. In a text that is held, `simulator.base.json_text` finds single
places without reading what lies between.
"""

from __future__ import annotations

import codecs
import contextlib
import json
import re
import tempfile
from collections.abc import Iterator
from types import TracebackType
from typing import Any, BinaryIO, NamedTuple, Self

from simulator.base.json_text import (
    MOST_LEVELS,
    JsonSyntaxError,
    JsonTextError,
    check_values,
    read_json,
)
from simulator.base.json_values import is_deep

_CHUNK = 1 << 18
_MOST_STEPS = 5_000_000
"""So many entries and members are stepped through, each in a microsecond or two."""
_FEW = 1 << 20
"""A value of so many characters cannot hold more than may be held."""
MOST_HELD = 64 << 20
"""The longest value that is read whole, in characters: one case, one session."""
MOST_VALUES = 500_000
"""Of one value that is read whole. Of each, what ADK makes of it takes about a kilobyte."""
_BLANKS = re.compile(r"[ \t\r\n]*+")
_LONGEST_WORD = len("-Infinity")
_NUMBER_GOES_ON = len("e+")
"""So many characters behind a number may be the beginning of its rest."""


class Span(NamedTuple):
    """Where a value stands in a file, in bytes."""

    start: int
    stop: int


class NotUtf8Error(ValueError):
    """A file is no text in UTF-8.

    Attributes:
        byte: The place of the first byte that cannot be read.
    """

    def __init__(self, byte: int) -> None:
        super().__init__(f"byte {byte} is not UTF-8")
        self.byte = byte


class JsonStream:
    """A cursor in a JSON file. What lies behind it is forgotten.

    Each step checks what it passes; `end` checks that nothing follows. A byte order mark is passed over.

    Args:
        file: The file, opened in binary mode.
        constants: Let NaN and Infinity pass, which JSON cannot represent.

    Raises:
        JsonTextError: By each method: the file is no JSON; with line and column.
        NotUtf8Error: By each method: the file is no text.
    """

    def __init__(self, file: BinaryIO, *, constants: bool = False) -> None:
        file.seek(0)
        start = len(codecs.BOM_UTF8) if file.read(len(codecs.BOM_UTF8)) == codecs.BOM_UTF8 else 0
        file.seek(start)
        self._file, self._constants = file, constants
        self._decode = json.JSONDecoder(parse_constant=None if constants else _refused).raw_decode
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._text, self._at, self._is_last = "", 0, False
        self._read = start  # bytes of the file
        self._steps = 0
        self._counted, self._bytes = 0, start  # so many bytes stand before this character of the window
        self._line, self._column = 1, 1  # of the first character of the window

    def peek(self) -> str:
        """Return the first character of what comes next; empty at the end of the file."""
        sign = self._text[self._at : self._at + 1]
        if sign > " ":
            return sign
        while True:
            self._at = _end_of_blanks(self._text, self._at)
            if self._at < len(self._text) or not self._grow():
                return self._text[self._at : self._at + 1]

    @property
    def place(self) -> int:
        """The place of the cursor in bytes: behind `peek`, where the next value begins; behind `value` or `skip`, where it ends."""
        self._bytes += len(self._text[self._counted : self._at].encode())
        self._counted = self._at
        return self._bytes

    def value(self) -> Any:
        """Read the next value."""
        self.peek()
        while True:
            try:
                found, self._at = self._decoded()
            except _CutError:
                self._grow()
            else:
                return found

    def skip(self) -> None:
        """Pass over the next value. One that is larger than the window is stepped through, and never held."""
        sign = self.peek()
        for _ in range(2):
            try:
                _, self._at = self._decoded()
            except _CutError:
                self._grow()
            else:
                return
        if sign not in {"{", "["}:
            self.value()
            return
        try:
            for _ in self.members() if sign == "{" else self.entries():
                self.skip()
        except RecursionError:
            raise self._error("it is nested too deeply", self._at) from None

    def passed(self) -> Span:
        """Pass over the next value, and return where it stands."""
        self.peek()
        start = self.place
        self.skip()
        return Span(start, self.place)

    def hollow(self) -> Any:
        """Pass over the next value, and return it as far as it is small: an empty one for a list or an object."""
        sign = self.peek()
        if sign not in {"{", "["}:
            return self.value()
        self.skip()
        return {} if sign == "{" else []

    def members(self) -> Iterator[str]:
        """Step into an object and return the names of its members; before the next one, read or pass over the value."""
        self._take("{", "Expecting value")
        if self._passes("}"):
            return
        while True:
            if self.peek() != '"':
                raise self._error("Expecting property name enclosed in double quotes", self._at)
            name = self.value()
            self._take(":", "Expecting ':' delimiter")
            self._step()
            yield name
            if self._passes("}"):
                return
            self._take(",", "Expecting ',' delimiter")

    def entries(self) -> Iterator[int]:
        """Step into a list and return the numbers of its entries; before the next one, read or pass over the entry."""
        self._take("[", "Expecting value")
        if self._passes("]"):
            return
        number = 0
        while True:
            self._step()
            yield number
            number += 1
            if self._passes("]"):
                return
            self._take(",", "Expecting ',' delimiter")

    def end(self) -> None:
        """Check that nothing follows."""
        if self.peek():
            raise self._error("Extra data", self._at)

    def _decoded(self) -> tuple[Any, int]:
        """Read a value as far as the window shows it.

        Raises:
            _CutError: It goes on behind the window, or is none.
        """
        if len(self._text) - self._at > _FEW:
            self._check_size()
        try:
            found, stop = self._decode(self._text, self._at)
        except json.JSONDecodeError as error:
            is_near = error.pos + _LONGEST_WORD >= len(self._text) or error.msg.startswith("Unterminated")
            if is_near and not self._is_last:
                raise _CutError from None
            raise self._error(error.msg, error.pos) from None
        except (RecursionError, ValueError) as error:
            self._explain()
            raise self._error(str(error), self._at) from error
        is_long = stop - self._at > MOST_LEVELS
        if (
            is_long
            and sum(self._text.count(sign, self._at, stop) for sign in "[{") > MOST_LEVELS
            and is_deep(found, MOST_LEVELS)
        ):
            raise self._error("nested too deeply", self._at)
        is_number = isinstance(found, (int, float))
        if is_number and stop + _NUMBER_GOES_ON >= len(self._text) and not self._is_last:
            raise _CutError
        return found, stop

    def _step(self) -> None:
        self._steps += 1
        if self._steps > _MOST_STEPS:
            raise self._error(f"more than {_MOST_STEPS:,} entries and members, which is the limit", self._at)

    def _check_size(self) -> None:
        """Refuse a value that would take too much memory, before it is made."""
        if len(self._text) - self._at > MOST_HELD + _CHUNK:
            raise self._error(f"one value has more than {MOST_HELD >> 20} MB, which is the limit", self._at)
        if self._text[self._at] in "[{":
            try:
                check_values(self._text, self._at, MOST_VALUES)
            except JsonTextError as error:
                raise self._error(error.reason.replace("the text", "one value"), self._at) from None

    def _grow(self) -> bool:
        """Read on, and forget what lies behind the cursor; False at the end of the file."""
        kept = len(self._text) - self._at
        data = self._file.read(max(_CHUNK, kept)) if not self._is_last else b""
        more = self._characters(data)
        if not data:
            self._is_last = True
            return False
        self._line, self._column = self._position(self._at)
        self._bytes = self.place
        self._text, self._at, self._counted = self._text[self._at :] + more, 0, 0
        return True

    def _characters(self, data: bytes) -> str:
        before = self._read - len(self._decoder.getstate()[0])
        self._read += len(data)
        try:
            return self._decoder.decode(data, final=not data)
        except UnicodeDecodeError as error:
            raise NotUtf8Error(before + error.start) from None

    def _take(self, sign: str, reason: str) -> None:
        if not self._passes(sign):
            raise self._error(reason, self._at)

    def _passes(self, sign: str) -> bool:
        is_there = self.peek() == sign
        self._at += is_there
        return is_there

    def _position(self, at: int) -> tuple[int, int]:
        """Return the line and column of a character of the window."""
        breaks = self._text.count("\n", 0, at)
        if not breaks:
            return self._line, self._column + at
        return self._line + breaks, at - self._text.rindex("\n", 0, at)

    def _error(self, reason: str, at: int) -> JsonSyntaxError:
        return JsonSyntaxError(reason, *self._position(at))

    def _explain(self) -> None:
        """Raise what is wrong with the next value, where the decoder gives up for another reason than its syntax."""
        try:
            read_json(self._text[self._at :], constants=self._constants)
        except JsonTextError as error:
            line, column = self._position(self._at)
            moved = column + error.column - 1 if error.line == 1 else error.column
            raise JsonTextError(error.reason, line + error.line - 1, moved) from None


class _CutError(Exception):
    """The window ends within a value."""


def _refused(word: str) -> None:
    raise ValueError(word)


def _end_of_blanks(text: str, start: int) -> int:
    found = _BLANKS.match(text, start)
    return found.end() if found else start


def head_of(file: BinaryIO, *, constants: bool = False) -> dict[str, Any]:
    """Return the object in a file as far as it is small: lists and objects inside of it are empty. What is no object has no members.

    Raises:
        JsonTextError: The file is no JSON, in whatever place.
        NotUtf8Error: The file is no text.
    """
    stream = JsonStream(file, constants=constants)
    if stream.peek() == "{":
        found = {name: stream.hollow() for name in stream.members()}
    else:
        found = {}
        stream.skip()
    stream.end()
    return found


def contains(file: BinaryIO, word: bytes) -> bool:
    """Return whether a word stands anywhere in a file."""
    file.seek(0)
    end = b""
    while data := file.read(_CHUNK):
        window = end + data
        if word in window:
            return True
        end = window[-len(word) :]
    return False


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
