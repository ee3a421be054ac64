"""Writes the files that an option of a command names, and overwrites none of another kind: a slip would cost somebody's code."""

from __future__ import annotations

import codecs
import errno
import re
from pathlib import Path
from typing import Literal, TypeAlias

from simulator.base.documents import open_file

Kind: TypeAlias = Literal["JUnit", "CSV", "script", "EvalConfig"]

_BEGINNINGS: dict[Kind, re.Pattern[bytes]] = {
    "JUnit": re.compile(rb"(?:<\?xml[^>]*\?>)?\s*<testsuite"),
    "CSV": re.compile(rb"(?:eval_id|file,line),"),
    "script": re.compile(
        rb"(?:[^\n]*\n)*?(?:format: [\"']?golden-trace-studio/script|turns:)|\{[^{]*?\"(?:format|turns)\""
    ),
    "EvalConfig": re.compile(rb"\{[^{]*?\"(?:criteria|custom_metrics|user_simulator_config)\""),
}
"""How a file of each kind begins, behind a byte order mark and blanks."""
_CODE = ".py"
_LOOKED_AT = 1 << 16


def write_output(path: Path, content: bytes, kind: Kind) -> None:
    """Write a file, also over an earlier one of its kind, and over an empty one.

    Raises:
        FileExistsError: A file of another kind is there; it is as it was.
        OSError: The disk or the folder refused.
    """
    if path.exists():
        with open_file(path, "cases") as file:
            before = file.read(_LOOKED_AT).removeprefix(codecs.BOM_UTF8).lstrip()
        if before and (path.suffix == _CODE or not _BEGINNINGS[kind].match(before)):
            words = f"is there and is no {kind} file, so it was not overwritten. Name another file"
            raise FileExistsError(errno.EEXIST, words, str(path))
    path.write_bytes(content)
