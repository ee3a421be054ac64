"""Remembers the outlines of eval-set files, so that only the first append to a large file reads all of it."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from io import FileIO
from pathlib import Path
from typing import NamedTuple

from evalset.files.set_outline import Outline

_FILES = 16


class Identity(NamedTuple):
    """Tells one state of a file from another: a write changes it, save one of the same size in the same clock tick."""

    device: int
    inode: int
    size: int
    modified_ns: int
    changed_ns: int


def identity_of(status: os.stat_result) -> Identity:
    """Return the identity that a file's status stands for."""
    return Identity(status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


class KnownFiles:
    """The outlines of the files used last; safe for threads.

    A file is known as long as its identity is unchanged and it still reads the same around the place where the
    next case goes.
    """

    def __init__(self, files: int = _FILES) -> None:
        self._files = files
        self._guard = threading.Lock()
        self._known: OrderedDict[str, tuple[Identity, Outline]] = OrderedDict()

    def outline(self, path: Path, identity: Identity, file: FileIO) -> Outline | None:
        """Return the outline of a file; None where it is another one now."""
        with self._guard:
            known, outline = self._known.get(str(path), (None, None))
        if outline is None or known != identity:
            return None
        wanted = outline.before + outline.tail
        file.seek(outline.layout.insert_at - len(outline.before))
        return outline if file.read(len(wanted) + 1) == wanted else None

    def remember(self, path: Path, identity: Identity, outline: Outline) -> None:
        """Keep the outline of a file, and forget the one that was kept longest if there are too many."""
        with self._guard:
            self._known[str(path)] = (identity, outline)
            self._known.move_to_end(str(path))
            while len(self._known) > self._files:
                self._known.popitem(last=False)


shared = KnownFiles()
"""What all writers of this process know."""
