"""Remembers which eval sets somebody has written or opened, so that one outside of the agents' folders is found again."""

from __future__ import annotations

import hashlib
import json
import logging
import os
from pathlib import Path

from pydantic import ValidationError

from app.server.owners import LOCAL
from simulator.base.atomic_files import LockTimeoutError, lock_path, system_lock, write_whole
from simulator.base.frozen_value import Value
from simulator.base.user_data import data_folder, made_folder

MOST_RECENT = 100
"""So many are remembered; the one that was used longest ago goes first."""

_PATIENCE_SECONDS = 2.0
_LOG = logging.getLogger(__name__)


class RecentSet(Value):
    """An eval set that was used: its path, and the name of the agent that it was used with, where that is known."""

    path: str
    agent: str = ""


class _Remembered(Value):
    """The file of what is remembered of one person, the set that was used last first."""

    format: str = "golden-trace-studio/recent-sets"
    version: int = 1
    sets: tuple[RecentSet, ...] = ()


def recent_sets(owner: str) -> tuple[RecentSet, ...]:
    """Return the eval sets that somebody has used and that are still there, the one that was used last first."""
    return tuple(each for each in _read(_file_of(owner)).sets if Path(each.path).is_file())


def remember_set(owner: str, path: Path, agent: str = "") -> None:
    """Remember that somebody has used a set, and the agent that is known of it unless another one is given.

    Where that cannot be written, the log says so, and nothing else happens.
    """
    file, where = _file_of(owner), str(path.absolute())
    known = next((each.agent for each in _read(file).sets if each.path == where), "")
    used = RecentSet(path=where, agent=agent or known)
    if _read(file).sets[:1] == (used,):
        return
    try:
        made_folder(file.parent)
        with system_lock(lock_path(file), _PATIENCE_SECONDS):
            others = [each for each in _read(file).sets if each.path != used.path]
            kept = _Remembered(sets=(used, *others)[:MOST_RECENT])
            text = json.dumps(kept.model_dump(), indent=2, ensure_ascii=False)
            write_whole(file, [text.encode()])
    except (OSError, LockTimeoutError, ValueError) as error:
        _LOG.warning("The eval set %s was not added to the recent sets: %s", path, error)


def _file_of(owner: str) -> Path:
    name = LOCAL if owner == LOCAL else hashlib.sha256(owner.encode()).hexdigest()[:32]
    return data_folder(os.environ) / "recent_sets" / f"{name}.json"


def _read(file: Path) -> _Remembered:
    """Read what is remembered; nothing where the file is not there, or damaged: it is only a convenience."""
    try:
        return _Remembered.model_validate_json(file.read_bytes())
    except (OSError, ValidationError):
        return _Remembered()
