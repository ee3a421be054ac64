"""Finds the files of a project in its folders: one rule for the doctor, the list of eval sets and the setup of continuous integration."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

_PASSED_OVER = frozenset({"node_modules", "venv", "__pycache__", "site-packages"})


def files_below(folder: Path, refused: Callable[[OSError], None] | None = None) -> Iterator[Path]:
    """Yield the files in a folder and in those below it, in order, save what is hidden, cached or installed there.

    Args:
        folder: The folder.
        refused: Is told of each folder that cannot be read.
    """
    for base, folders, names in os.walk(folder, onerror=refused):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in _PASSED_OVER)
        yield from (Path(base, name) for name in sorted(names) if not name.startswith("."))
