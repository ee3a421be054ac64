"""Takes an agent and a file of cases in whichever order a person writes them, and checks that the file is there."""

from __future__ import annotations

from pathlib import Path

from evalset.verify.errors import VerifyError
from simulator.base.documents import open_file

_DATA = frozenset({".json", ".jsonl", ".yaml", ".yml", ".zip"})


def agent_and_file(first: str, second: str) -> tuple[str, Path]:
    """Return the agent and the file: an agent's name never ends like a file of data where the other word does."""
    if _is_data(first) and not _is_data(second):
        first, second = second, first
    return first, Path(second)


def _is_data(word: str) -> bool:
    return Path(word).suffix.lower() in _DATA


def check_readable(path: Path) -> None:
    """Check that a file can be read, before ADK is imported to read it.

    Raises:
        VerifyError: It cannot; the text says why.
    """
    try:
        open_file(path).close()
    except OSError as error:
        raise VerifyError(f"{path}: cannot be read: {error.strerror or error}") from error
