"""Says where on the server somebody may write an eval set."""

from __future__ import annotations

import hashlib
from pathlib import Path

from app.forms.typed_paths import typed_path
from app.live.live_sessions import LiveSession
from app.server.owners import LOCAL
from evalset.datasets.agent_projects import project_of
from evalset.datasets.dataset_fields import ENDING
from evalset.files.eval_names import EVAL_SET_ENDINGS
from evalset.files.file_kinds import holds_cases, importable_kind
from simulator.agent_config import SimulatedAgentConfig
from simulator.agents import demo_sets_folder
from simulator.base.documents import read_file

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
