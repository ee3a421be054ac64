"""Loads and saves the criteria that lie beside an eval set, where `adk eval` finds them by itself: whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

from evalset.eval_config.config_edits import ConfigError
from simulator.base.atomic_files import LockTimeoutError, lock_path, sync_folder, system_lock, write_whole
from simulator.base.documents import read_file

NAME = "test_config.json"
"""`adk eval` takes this file where it is given the path of a set in the same folder, and no other criteria."""

_PATIENCE_SECONDS = 10.0


def config_of(eval_set: Path | str) -> Path:
    """Return the path of the criteria that belong to an eval set."""
    return Path(eval_set).with_name(NAME)


def load(path: Path) -> str | None:
    """Return the text of a file of criteria, a byte order mark included, which ADK cannot read; None where there is no file.

    Raises:
        ConfigError: It cannot be read, or is no text.
    """
    try:
        return read_file(path, "settings").decode("utf-8")
    except FileNotFoundError:
        return None
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: not valid UTF-8 at byte {error.start}") from error
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror or error}") from error


def save(path: Path, text: str, *, before: str | None) -> None:
    """Write a file of criteria whole, unless somebody else has changed it.

    Args:
        path: The file.
        text: What shall stand there.
        before: What stood there when it was loaded; None where nothing did.

    Raises:
        ConfigError: It holds something else by now, or cannot be written; it is as it was.
    """
    target = Path(os.path.realpath(path))
    try:
        with system_lock(lock_path(target), _PATIENCE_SECONDS):
            _check_unchanged(target, before)
            write_whole(target, [text.encode()], before_replace=lambda: _check_unchanged(target, before))
            sync_folder(target.parent)
    except LockTimeoutError as error:
        raise ConfigError(f"{path}: another program is writing it; nothing was written") from error
    except OSError as error:
        raise ConfigError(f"{path}: cannot be written: {error.strerror or error}") from error


def _check_unchanged(target: Path, before: str | None) -> None:
    if load(target) != before:
        raise ConfigError(f"{target}: changed on disk since it was loaded; nothing was written. Reload it")
