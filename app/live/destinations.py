"""Says where on the server somebody may write an eval set, and remembers which ones they have used, also outside of the agents' folders."""

from __future__ import annotations

import hashlib
import json
import logging
import os
from contextlib import suppress
from pathlib import Path

from pydantic import ValidationError

from app.forms.typed_paths import path_in, typed_path
from app.live.live_sessions import LiveSession
from app.server.owners import LOCAL
from evalset.files.datasets import ENDING, project_of
from evalset.files.eval_names import EVAL_SET_ENDINGS, holds_cases, importable_kind
from simulator.agent_config import SimulatedAgentConfig
from simulator.agents import demo_sets_folder
from simulator.base.documents import read_file
from simulator.base.frozen_value import Value
from simulator.base.user_files import (
    LockTimeoutError,
    data_folder,
    lock_path,
    made_folder,
    system_lock,
    write_whole,
)

CASES_ENDINGS = (*EVAL_SET_ENDINGS, ENDING)
"""What the names of new eval sets and datasets end with."""


def default_destination(owner: str, config: SimulatedAgentConfig) -> Path:
    """Return the eval set that an agent's golden traces go into by default.

    Those of a demo agent lie among the user's data; where several people use the server, each has a folder of their own there.
    """
    return own_place(owner, config.resolve_eval_set_path())


def own_place(owner: str, path: Path) -> Path:
    """Return the place of somebody's own for an eval set of a demo agent; that of any other agent stays."""
    folder = demo_sets_folder()
    if owner == LOCAL or not path.is_relative_to(folder):
        return path
    person = hashlib.sha256(owner.encode()).hexdigest()[:32]
    return folder / "people" / person / path.relative_to(folder)


def agent_path(path: str, owner: str, config: SimulatedAgentConfig) -> Path:
    """Return the file behind a path that was typed for an agent; a relative one starts at the folder of its eval set.

    Raises:
        ValueError: It is no path.
    """
    folder, whole = default_destination(owner, config).parent, typed_path(path)
    is_whole = Path(path.strip()).expanduser().is_absolute()
    return path_in([folder], path, whole if is_whole else folder / path.strip())


def whole_path(path: str, live: LiveSession) -> str:
    """Return a path that was typed in a session in full; as it was typed where it is none, which is said when it is used."""
    with suppress(ValueError):
        return os.path.normpath(agent_path(path, live.owner, live.config)) if path.strip() else path
    return path


def is_among_data(path: str) -> bool:
    """Return whether an eval set is one of those among the user's data."""
    return bool(path.strip()) and Path(path).is_relative_to(demo_sets_folder())


def check_destination(path: str, live: LiveSession) -> None:
    """Refuse a file that a person of a session may not write cases to: who the page is served to names no other files.

    A new file has the name of an eval set, or of a dataset. One that is there is an eval set, or a dataset, whatever its name.

    Raises:
        ValueError: It is not theirs, as for `check_place`, or it is or would be a file of another kind.
    """
    check_place(path, live.owner, live.config)
    if not path.strip():
        return
    wanted = typed_path(path)
    if wanted.name.endswith(CASES_ENDINGS) or wanted == default_destination(live.owner, live.config):
        return
    if wanted.is_file() and not _holds_cases(wanted):
        raise ValueError(f"{wanted} is not an eval set, so it is not overwritten. Enter another name")
    project = project_of(wanted.parent)
    if not wanted.exists() and not (
        project and wanted.parent == project.datasets and wanted.suffix == ".json"
    ):
        raise ValueError(
            f"{wanted.name} is not the name of an eval set. New files end with {' or '.join(CASES_ENDINGS)}"
        )


def _holds_cases(path: Path) -> bool:
    try:
        text = read_file(path).decode("utf-8-sig")
        return holds_cases(text) or bool(importable_kind(text.encode()))
    except (OSError, UnicodeDecodeError):
        return False


def check_place(path: str, owner: str, config: SimulatedAgentConfig) -> None:
    """Refuse a file that is not for somebody to read or write, where others use the server too.

    Whose the machine is may write anywhere. Others write beside the eval set of the agent, or below.

    Raises:
        ValueError: It is not theirs; the text says where they may write. An empty path is no destination.
    """
    if not path.strip():
        return
    if owner == LOCAL:
        typed_path(path)
        return
    folder = default_destination(owner, config).parent.resolve()
    try:
        wanted = typed_path(path).resolve()
    except (RuntimeError, OSError) as error:  # no such user, or a loop of links
        raise ValueError(f"{path!r} is not a valid file path: {error}") from error
    if wanted.suffix != ".json" or not wanted.is_relative_to(folder):
        raise ValueError(
            f"Several people use this server, so eval sets can only be written to the agent's folder, as .json files: {folder}"
        )


# ---------------------------------------------------------------- sets that were used


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
