"""Opens an eval-set file that is there: in today's form with its outline, in ADK's old form converted."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from io import FileIO
from pathlib import Path
from typing import NamedTuple, cast

from google.adk.evaluation.eval_set import EvalSet

from evalset.errors import EvalSetError
from evalset.files.large_sets import LARGE, outline_in_parts
from evalset.files.legacy_format import convert_old_form
from evalset.files.outline_cache import Identity, KnownFiles, identity_of
from evalset.files.set_outline import Outline, outline_of
from simulator.base.documents import open_file


class ChangedMeanwhileError(Exception):
    """Somebody who takes no lock wrote the file while we worked on it."""


class Today(NamedTuple):
    """An eval set in the form of today."""

    file: FileIO
    identity: Identity
    outline: Outline


class Old(NamedTuple):
    """Eval data in ADK's old form: its text, and what ADK's converter makes of it."""

    identity: Identity
    text: bytes
    converted: EvalSet


@contextmanager
def opened(path: Path, target: Path, known: KnownFiles) -> Iterator[Today | Old | None]:
    """Open the file `target`, which people know as `path`; None where it is not there.

    Raises:
        EvalSetError: It is no file, is broken, or is no eval set.
        ChangedMeanwhileError: It was written while it was read.
        OSError: It cannot be read.
    """
    status = status_of(target)
    if status is None:
        yield None
        return
    if not stat.S_ISREG(status.st_mode):
        raise EvalSetError(
            path, "is a folder, not a file" if stat.S_ISDIR(status.st_mode) else "is not a file"
        )
    with cast("FileIO", open_file(target, "cases", buffering=0)) as file:
        identity = identity_of(os.fstat(file.fileno()))
        outline = known.outline(target, identity, file)
        if outline is not None:
            yield Today(file, identity, outline)
            return
        found = _read(path, file, identity)
        if isinstance(found, Today):
            known.remember(target, identity, found.outline)
        yield found


def _read(path: Path, file: FileIO, identity: Identity) -> Today | Old:
    outline = outline_in_parts(path, file) if identity.size > LARGE else None
    file.seek(0)
    text = file.readall() if outline is None else b""
    if identity_of(os.fstat(file.fileno())) != identity:
        raise ChangedMeanwhileError
    if outline is not None:
        return Today(file, identity, outline)
    try:
        return Today(file, identity, outline_of(path, text))
    except EvalSetError:
        converted = convert_old_form(path, text)
        if converted is None:
            raise
        return Old(identity, text, converted)


def status_of(target: Path) -> os.stat_result | None:
    """Return a file's status; None where nothing is there."""
    try:
        return target.stat()
    except FileNotFoundError:
        return None
