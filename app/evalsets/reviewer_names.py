"""Remembers the names of who reviews, by the browser in which they were typed; a browser's id is a digest here."""

from __future__ import annotations

import json
import logging
import os
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from simulator.base.atomic_files import LockTimeoutError, lock_path, system_lock, write_whole
from simulator.base.user_data import data_folder, made_folder

MOST_NAMES = 1_000
"""So many are remembered; the one that was typed longest ago goes first."""

_PATIENCE_SECONDS = 2.0
_NAMES = TypeAdapter(dict[str, str])
_LOG = logging.getLogger(__name__)


def reviewer_names() -> dict[str, str]:
    """Return the names; none where they cannot be read, as they are only a convenience."""
    try:
        return _NAMES.validate_json(_file().read_bytes())
    except (OSError, ValidationError):
        return {}


def remember_reviewer(browser: str, name: str) -> None:
    """Remember who reviews in a browser. Where that cannot be written, the log says so."""
    file = _file()
    try:
        made_folder(file.parent)
        with system_lock(lock_path(file), _PATIENCE_SECONDS):
            others = {each: held for each, held in reviewer_names().items() if each != browser}
            kept = dict([*others.items(), (browser, name)][-MOST_NAMES:])
            write_whole(file, [json.dumps(kept, indent=2, ensure_ascii=False).encode()])
    except (OSError, LockTimeoutError, ValueError) as error:
        _LOG.warning("The name of the reviewer was not kept: %s", error)


def _file() -> Path:
    return data_folder(os.environ) / "reviewers.json"
