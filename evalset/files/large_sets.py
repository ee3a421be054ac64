"""Reads the outline of a large eval set in parts, so that an append to it does not hold all of its text."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

from pydantic_core import SchemaValidator, ValidationError

from evalset.errors import EvalSetError
from evalset.files.json_streams import JsonStream, NotUtf8Error
from evalset.files.set_outline import CASES, SEAM, Outline, cases_schema, outline_of
from simulator.base.json_text import JsonTextError

LARGE = 1 << 25
"""A file of at most so many bytes is read at once, which is faster."""

_BATCH = 1 << 20
_ids = SchemaValidator(cases_schema())


def outline_in_parts(path: Path, file: BinaryIO) -> Outline | None:
    """Return the outline of an eval set; None where its whole text has to be looked at: for what is wrong, or as it holds few cases.

    Args:
        path: Where the file is; for errors.
        file: The file.
    """
    try:
        batches = _batches(file)
        if not batches or batches[-1].last_but_one < 0:
            return None
        ids = frozenset(eval_id for batch in batches for eval_id in _ids_in(file, batch))
        # The last two cases are enough: they show how a case is written, and what stands between two.
        rest = batches[-1].last_but_one
        outline = outline_of(path, _read(file, 0, batches[0].start) + _read(file, rest))
    except (JsonTextError, NotUtf8Error, ValidationError, EvalSetError):
        return None
    layout = outline.layout.moved(rest - batches[0].start)
    before = _read(file, max(0, layout.insert_at - SEAM), layout.insert_at)
    return Outline(ids, layout, before, outline.tail)


class _Batch(NamedTuple):
    """Cases that stand together in a file.

    Attributes:
        start: Where the first of them begins.
        stop: Where the last of them ends.
        last_but_one: Where the case before the last of them begins, in this batch or the one before; -1 where there is none.
    """

    start: int
    stop: int
    last_but_one: int


def _batches(file: BinaryIO) -> list[_Batch]:
    """Find the cases of an eval set; none where it has two lists of them.

    Raises:
        JsonTextError: It is no JSON.
        NotUtf8Error: It is no text.
    """
    found: list[_Batch] = []
    stream = JsonStream(file)
    for name in stream.members():
        if name != CASES or stream.peek() != "[":
            stream.skip()
        elif found:
            return []
        else:
            found = list(_batches_here(stream))
    stream.end()
    return found


def _batches_here(stream: JsonStream) -> Iterator[_Batch]:
    begin = before = last = stop = -1
    for _ in stream.entries():
        stream.peek()
        before, last = last, stream.place
        begin = last if begin < 0 else begin
        stream.skip()
        stop = stream.place
        if stop - begin > _BATCH:
            yield _Batch(begin, stop, before)
            begin = -1
    if begin >= 0:
        yield _Batch(begin, stop, before)


def _read(file: BinaryIO, start: int, stop: int | None = None) -> bytes:
    file.seek(start)
    return file.read(-1 if stop is None else stop - start)


def _ids_in(file: BinaryIO, batch: _Batch) -> Iterator[str]:
    cases = _ids.validate_json(b"[" + _read(file, batch.start, batch.stop) + b"]")
    return (case["eval_id"] for case in cases)
