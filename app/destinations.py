"""Says where on the server somebody may write an eval set."""

from __future__ import annotations

from pathlib import Path

from app.people import LOCAL
from app.registry import LiveSession
from simulator.agent_config import SimulatedAgentConfig


def check_destination(path: str, live: LiveSession) -> None:
    """Refuse a file that is not for the person of a session to read or write. As `check_place`.

    Raises:
        ValueError: It is not theirs.
    """
    check_place(path, live.owner, live.config)


def check_place(path: str, owner: str, config: SimulatedAgentConfig) -> None:
    """Refuse a file that is not for somebody to read or write, where others use the server too.

    Whose the machine is may write anywhere. Others write beside the eval set of the agent, or below.

    Raises:
        ValueError: It is not theirs; the text says where they may write. An empty path is no destination.
    """
    if owner == LOCAL or not path.strip():
        return
    folder = config.resolve_eval_set_path().parent.resolve()
    try:
        wanted = Path(path.strip()).expanduser().absolute().resolve()
    except (RuntimeError, OSError) as error:  # no such user, or a loop of links
        raise ValueError(f"{path!r} is no path of a file: {error}") from error
    if wanted.suffix != ".json" or not wanted.is_relative_to(folder):
        raise ValueError(
            f"Several people use this server, so eval sets are written into the agent's folder, as .json files: {folder}"
        )
