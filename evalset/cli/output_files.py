"""Writes the files that an option of a command names, and overwrites none of another kind: a slip would cost somebody's code."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["JUnit", "CSV", "script", "EvalConfig"]

_MARKS: dict[Kind, tuple[bytes, ...]] = {
    "JUnit": (b"<testsuite",),
    "CSV": (b"eval_id,", b"file,line,"),
    "script": (b"golden-trace-studio/script", b"turns"),
    "EvalConfig": (b'"criteria"',),
}
"""What a file of each kind has near its beginning."""
_LOOKED_AT = 1 << 16


def write_output(path: Path, content: bytes, kind: Kind) -> None:
    """Write a file, also over an earlier one of its kind, and over an empty one.

    Raises:
        FileExistsError: A file of another kind is there; it is as it was.
        OSError: The disk or the folder refused.
    """
    if path.is_file():
        with path.open("rb") as file:
            before = file.read(_LOOKED_AT)
        if before.strip() and not any(mark in before for mark in _MARKS[kind]):
            words = f"is there and is no {kind} file, so it was not overwritten. Name another file"
            raise FileExistsError(errno.EEXIST, words, str(path))
    path.write_bytes(content)
