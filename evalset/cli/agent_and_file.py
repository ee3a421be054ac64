"""Takes an agent and a file of cases in whichever order a person writes them."""

from __future__ import annotations

from pathlib import Path

_DATA = frozenset({".json", ".jsonl", ".yaml", ".yml", ".zip"})


def agent_and_file(first: str, second: str) -> tuple[str, Path]:
    """Return the agent and the file: an agent's name never ends like a file of data where the other word does."""
    if _is_data(first) and not _is_data(second):
        first, second = second, first
    return first, Path(second)


def _is_data(word: str) -> bool:
    return Path(word).suffix.lower() in _DATA
