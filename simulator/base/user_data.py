"""Says where a user's data is kept: sessions, the demo agents' eval sets, and what is remembered of files."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Mapping
from pathlib import Path

_PRIVATE, _OF_OTHERS = 0o700, 0o077
FOLDER_NAME = "golden-trace-studio"
DATA_DIR = "GOLDEN_TRACE_DATA_DIR"
"""Names another folder for a user's data."""


def data_folder(env: Mapping[str, str]) -> Path:
    """Return the folder; nothing is created.

    It is the one that GOLDEN_TRACE_DATA_DIR names, else one where the platform keeps a user's data.
    """
    if folder := env.get(DATA_DIR):
        return Path(folder).expanduser()
    # What is no absolute path counts as not set, as the XDG base directory specification says.
    data = Path(env.get("XDG_DATA_HOME", ""))
    home = Path(env["HOME"]) if env.get("HOME") else Path.home()
    return (data if data.is_absolute() else home / ".local" / "share") / FOLDER_NAME


def made_folder(folder: Path, *, private: bool = False) -> Path:
    """Make a folder with those above it; the user's data, and what is private, is for this user alone, whatever the umask.

    What is there with a wider mode is narrowed where it is this user's: an earlier version may have made it.

    Args:
        folder: The folder.
        private: Whether it is for this user alone also outside of their data.

    Raises:
        OSError: It cannot be made.
    """
    inside = [each for each in (folder, *folder.parents) if _is_data(each)]
    for each in reversed([*inside, *([folder] if private else [])]):
        each.mkdir(mode=_PRIVATE, parents=True, exist_ok=True)
        _narrow(each)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def narrow_file(path: Path) -> None:
    """Take a file of the user's data from all others, where it is there; one elsewhere keeps its mode."""
    if _is_data(path) and path.is_file():
        _narrow(path)


def _is_data(path: Path) -> bool:
    data = data_folder(os.environ).absolute()
    return path == data or data in path.parents


def _narrow(folder: Path) -> None:
    if not hasattr(os, "getuid"):
        return
    with contextlib.suppress(OSError):  # a file system without modes
        status = folder.stat()
        # One with a sticky bit is everybody's, as /tmp is: somebody has named it for the data all the same.
        if (
            status.st_uid == os.getuid()
            and status.st_mode & _OF_OTHERS
            and not status.st_mode & stat.S_ISVTX
            and folder.resolve() != Path.home().resolve()
        ):
            folder.chmod(stat.S_IMODE(status.st_mode) & ~_OF_OTHERS)
