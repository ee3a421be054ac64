"""Says where a user's data is kept: sessions, the demo agents' eval sets, and what is remembered of files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

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
