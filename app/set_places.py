"""Says which eval sets there are in the agents' folders, and which files somebody may open."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from app.people import LOCAL
from simulator.agents import DEMOS_DIR, AgentEntry
from simulator.facts import Value

ENDING = ".evalset.json"
MOST_SETS = 500
_DEEPEST = 3
_SKIPPED = frozenset({"node_modules", "__pycache__", "site-packages"})


class SetLine(Value):
    """An eval set in the list: its file, the agent in whose folder it lies (empty for an upload), its size and age."""

    path: str
    name: str
    agent: str = ""
    size: int = 0
    modified: float = 0.0


def folders(entries: Iterable[AgentEntry]) -> dict[Path, str]:
    """Give the folders of agents, each with the agent's name; those of agents that are not loaded too, where they are known."""
    found: dict[Path, str] = {}
    for entry in entries:
        if entry.source == "folder":
            found.setdefault(_folder(Path(entry.location)), entry.name)
        elif entry.source == "demo":
            found.setdefault(DEMOS_DIR / entry.name, entry.name)
        if entry.config is not None:
            found.setdefault(entry.config.resolve_eval_set_path().parent, entry.name)
    return {folder: name for folder, name in found.items() if folder.is_dir()}


def _folder(place: Path) -> Path:
    return place if place.is_dir() else place.parent


def found_sets(homes: dict[Path, str], owner: str) -> list[SetLine]:
    """List the eval sets in these folders and what somebody has uploaded, those changed last first."""
    lines: dict[str, SetLine] = {}
    own = uploads_of(owner)
    for folder, agent in ((own, ""), *homes.items()):
        for path in _sets_below(folder):
            if len(lines) >= MOST_SETS:
                break
            if (line := _line(path, agent)) is not None:
                lines.setdefault(str(path.resolve()), line)
    return sorted(lines.values(), key=lambda line: -line.modified)


def _sets_below(folder: Path) -> Iterator[Path]:
    depth = len(folder.parts)
    for base, names, files in os.walk(folder):
        names[:] = sorted(
            name
            for name in names
            if not name.startswith(".") and name not in _SKIPPED and len(Path(base).parts) - depth < _DEEPEST
        )
        yield from (Path(base, name) for name in sorted(files) if _is_set(name))


def _is_set(name: str) -> bool:
    return not name.startswith(".") and name.endswith((ENDING, ".test.json"))


def _line(path: Path, agent: str) -> SetLine | None:
    try:
        status = path.stat()
    except OSError:
        return None
    name = path.name.removesuffix(ENDING)
    return SetLine(path=str(path), name=name, agent=agent, size=status.st_size, modified=status.st_mtime)


def check_set(path: str, owner: str, homes: Iterable[Path]) -> Path:
    """Give the file behind a path that was typed, or stands in the address.

    Whose the machine is may open any file. Where others use the server too, they open what lies in an agent's folder,
    and what they have uploaded.

    Raises:
        ValueError: It is no path, or not for them; the text says what is.
    """
    try:
        wanted = Path(path.strip()).expanduser().absolute()
        real = wanted.resolve()
    except (RuntimeError, OSError, ValueError) as error:
        raise ValueError(f"{path!r} is no path of a file: {error}") from error
    if not path.strip():
        raise ValueError("There is no file to open; give the path of an eval-set file.")
    if owner == LOCAL:
        return wanted
    allowed = [uploads_of(owner), *homes]
    if real.suffix == ".json" and any(real.is_relative_to(folder.resolve()) for folder in allowed):
        return wanted
    raise ValueError(
        "Several people use this server, so what can be opened are the .json files in the agents' folders, and what you upload."
    )


def uploads_of(owner: str) -> Path:
    """Give the folder in which what somebody uploads is kept as long as the server runs; it need not be there."""
    return Path(_uploads().name) / hashlib.sha256(owner.encode()).hexdigest()[:32]


@cache
def _uploads() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="golden-trace-sets-")


def take_upload(owner: str, name: str, content: bytes) -> Path:
    """Keep an uploaded eval set where its owner alone finds it; one of the same name is not written over.

    Raises:
        OSError: The disk refused.
    """
    folder = uploads_of(owner)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    stem = Path(name).name.removesuffix(".json").removesuffix(".evalset") or "uploaded"
    number = 1
    path = folder / f"{stem}{ENDING}"
    while path.exists() and path.read_bytes() != content:
        number += 1
        path = folder / f"{stem}_{number}{ENDING}"
    path.write_bytes(content)
    return path
