"""Says which eval sets there are in the agents' folders, and which files somebody may open."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from pathlib import Path
from threading import Lock

from app.forms.typed_paths import path_in, typed_path, upload_name
from app.live.destinations import own_place, recent_sets
from app.live.upload_quota import check_room, uploads_of
from app.server.owners import LOCAL
from evalset.files.datasets import ENDING as DATASET
from evalset.files.datasets import eval_folders, project_of, project_root
from evalset.files.eval_names import EVAL_SET_ENDINGS, files_below, reviews_path
from evalset.recorded.recording_files import sidecar_of
from simulator.agents import DEMOS_DIR, AgentEntry, demo_eval_set
from simulator.base.frozen_value import Value

ENDING = ".evalset.json"
IMPORTED = (".zip", ".db", ".sqlite", ".sqlite3")
"""The endings of files that are no eval sets, and whose cases can be imported."""
MOST_SETS = 500
_DEEPEST, _SECONDS = 8, 0.5
"""So far each folder is looked through for the list."""
_HEAD = 2_000
"""So many bytes of a `.json` file of another name are looked at."""
_COUNTING = Lock()
"""Held while uploads are counted and one is kept."""
_read: Counter[Path] = Counter()
"""How many bytes are read of uploads that are not kept yet, by their owner's folder."""


class SetLine(Value):
    """An eval set in the list: its file, the agent in whose folder it lies (empty for an upload, and where several agents share the folder), its size and age.

    `is_upload`: somebody uploaded it, and can remove it.
    """

    path: str
    name: str
    agent: str = ""
    size: int = 0
    modified: float = 0.0
    is_upload: bool = False


def folders(entries: Iterable[AgentEntry], owner: str = LOCAL) -> dict[Path, str]:
    """Return the folders of agents, each with the agent's name; those of agents that are not loaded too, where they are known.

    With an agent come the folders of evals of its project: they are of no agent where several share them. The eval sets of a demo agent lie among the user's data, in a folder of the owner's.
    Who has the machine gets the whole projects, too, last and of no agent: others are not to read all `.json` files there.
    """
    entries = [*entries]
    found: dict[Path, str] = {}
    for entry in entries:
        if entry.source == "folder":
            found.setdefault(home := _folder(Path(entry.location)), entry.name)
            if (project := project_of(home)) is not None and project.agent == home:
                found.setdefault(project.datasets, entry.name)
            for place in eval_folders(home):
                found[place] = entry.name if found.get(place, entry.name) == entry.name else ""
        elif entry.source == "demo":
            found.setdefault(own_place(owner, demo_eval_set(entry.name)).parent, entry.name)
            found.setdefault(DEMOS_DIR / entry.name, entry.name)
        if entry.config is not None and entry.source != "demo":
            found.setdefault(entry.config.resolve_eval_set_path().parent, entry.name)
    if owner == LOCAL:
        for entry in entries:
            if entry.source == "folder" and (root := project_root(_folder(Path(entry.location)))) is not None:
                found.setdefault(root, "")
    return {folder: name for folder, name in found.items() if folder.is_dir()}


def _folder(place: Path) -> Path:
    return place if place.is_dir() else place.parent


def found_sets(homes: dict[Path, str], owner: str) -> list[SetLine]:
    """List the eval sets and datasets in these folders, those that somebody has used elsewhere, and uploads; those changed last first."""
    lines: dict[str, SetLine] = {}
    own = uploads_of(owner)
    uploads = ((path, "") for path in _uploads_in(own))
    below = (
        (path, agent)
        for folder, agent in homes.items()
        for path in files_below(folder, deepest=_DEEPEST, seconds=_SECONDS)
        if _is_set(path.name) or _begins_as_set(path)
    )
    for path, agent in islice(chain(uploads, below), MOST_SETS):
        if (line := _line(path, agent, is_upload=path.parent == own)) is not None:
            lines.setdefault(str(path.resolve()), line)
    for used in recent_sets(owner):
        if (line := _line(Path(used.path), used.agent)) is not None:
            lines.setdefault(str(Path(used.path).resolve()), line)
    return sorted(lines.values(), key=lambda line: -line.modified)


def only_set(entries: Iterable[AgentEntry], agent: str) -> str:
    """Return the path of the one eval set that is listed for an agent of a folder; empty where there are none or several."""
    homes = folders(entry for entry in entries if entry.name == agent and entry.source == "folder")
    own = {folder: name for folder, name in homes.items() if name}
    sets = [
        line.path for line in found_sets(own, LOCAL) if line.agent == agent and line.path.endswith(ENDING)
    ]
    return sets[0] if own and len(sets) == 1 else ""


def _uploads_in(folder: Path) -> Iterator[Path]:
    """Yield what was uploaded: sets, and archives and databases too, as they take room."""
    if folder.is_dir():
        yield from (
            path for path in sorted(folder.iterdir()) if _is_set(path.name) or path.suffix in IMPORTED
        )


def _is_set(name: str) -> bool:
    return not name.startswith(".") and name.endswith((*EVAL_SET_ENDINGS, DATASET))


def _begins_as_set(path: Path) -> bool:
    """Return whether a file of another name begins as ADK writes an eval set."""
    if path.suffix != ".json":
        return False
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD)
    except OSError:
        return False
    return b'"eval_set_id"' in head and b'"eval_cases"' in head


def _line(path: Path, agent: str, *, is_upload: bool = False) -> SetLine | None:
    try:
        status = path.stat()
    except OSError:
        return None
    name = path.name.removesuffix(ENDING)
    return SetLine(
        path=str(path),
        name=name,
        agent=agent,
        size=status.st_size,
        modified=status.st_mtime,
        is_upload=is_upload,
    )


def check_set(path: str, owner: str, homes: Iterable[Path]) -> Path:
    """Return the file behind a path that was typed, or stands in the address; a relative one starts at an agent's folder where the file is there.

    Whose the machine is may open any file. Where others use the server too, they open what lies in an agent's folder,
    and what they have uploaded.

    Raises:
        ValueError: It is no path, or not for them; the text says what is.
    """
    homes = [*homes]
    try:
        wanted = path_in(homes, path, typed_path(path))
        real = wanted.resolve()
    except (RuntimeError, OSError) as error:
        raise ValueError(f"{path!r} is not a file path: {error}") from error
    if not path.strip():
        raise ValueError("No file given. Enter the path of an eval set file.")
    if owner == LOCAL:
        return wanted
    if real.is_relative_to(uploads_of(owner).resolve()):
        return wanted
    if any(real == Path(used.path).resolve() for used in recent_sets(owner)):
        return wanted
    if real.suffix == ".json" and any(real.is_relative_to(folder.resolve()) for folder in homes):
        return wanted
    raise ValueError(
        "Several people use this server. You can open the .json files in the agents' folders and your own uploads."
    )


def take_upload(owner: str, name: str, content: bytes, recorded: bytes = b"") -> Path:
    """Keep an uploaded eval set, or an archive or a database of cases, where its owner alone finds it; none is written over.

    Args:
        owner: Who uploads it.
        name: What the file is called there.
        content: The file.
        recorded: What is recorded beside the set.

    Raises:
        OSError: The disk refused.
        ValueError: No file can have that name, or the owner's uploads would take more than `UPLOAD_MB` allows; says which.
    """
    plain = upload_name(name, "uploaded")
    folder = uploads_of(owner)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    suffix = Path(plain).suffix if Path(plain).suffix in IMPORTED else ""
    stem = plain.removesuffix(suffix or ".json").removesuffix(".evalset") or "uploaded"
    number, ending = 1, suffix or ENDING
    path = folder / f"{stem}{ending}"
    with _COUNTING:
        while path.exists() and path.read_bytes() != content:
            number += 1
            path = folder / f"{stem}_{number}{ending}"
        is_kept = path.exists()
        if not is_kept or recorded:
            check_room(folder, (0 if is_kept else len(content)) + len(recorded))
        if not is_kept:
            path.write_bytes(content)
        if recorded:
            sidecar_of(path).write_bytes(recorded)
    return path


@contextlib.contextmanager
def room_for(owner: str, size: int) -> Iterator[None]:
    """Count a file among somebody's uploads while it is read, before it is kept.

    One alone is counted once it is kept: it may be kept already.

    Raises:
        ValueError: With what else is read at the same time, the owner's uploads would take more than `UPLOAD_MB` allows.
    """
    folder = uploads_of(owner)
    with _COUNTING:
        if _read[folder]:
            check_room(folder, size + _read[folder])
        _read[folder] += size
    try:
        yield
    finally:
        with _COUNTING:
            _read[folder] -= size


def check_import(owner: str, made: Path) -> None:
    """Take an imported set away again where it lies among the owner's uploads, and they take too much with it.

    Raises:
        ValueError: They do.
    """
    folder = uploads_of(owner)
    if made.parent.resolve() != folder.resolve():
        return
    with _COUNTING:
        try:
            check_room(folder, 0)
        except ValueError:
            remove_upload(owner, made)
            raise


def remove_upload(owner: str, path: Path) -> None:
    """Delete an upload, and what lies beside it.

    Raises:
        OSError: The disk refused.
        ValueError: It is no upload of theirs.
    """
    if path.resolve().parent != uploads_of(owner).resolve():
        raise ValueError(f"{path.name} is not one of your uploads")
    for each in (path, sidecar_of(path), reviews_path(path)):
        each.unlink(missing_ok=True)
