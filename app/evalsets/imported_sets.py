"""Takes uploads, and makes an eval set of a file that is none, but holds cases: a session, a database, an archive. Work on the server."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from threading import Event
from typing import NamedTuple

from app.evalsets.exchange_jobs import Upload
from app.evalsets.set_discovery import ENDING, check_import, room_for, take_upload
from app.live.background_jobs import Job, JobProgress, Report
from evalset.editing.sidecars import ReviewFileError, add_reviews, brought_reviews
from evalset.files.file_kinds import importable_kind
from simulator.base.documents import open_file

UPLOADED, MADE = "uploaded", "made_set"
"""The names of the works at a workspace."""

_HEAD = 8_000_000
"""A larger file is looked at in the import alone."""


class ImportedSet(NamedTuple):
    """A set to open, and what to say of it in sentences."""

    path: Path
    told: tuple[str, ...] = ()


def taken(owner: str, upload: Upload) -> Job[Path]:
    """Begin to keep an upload, its recording beside it; the result is where it lies."""

    def work(report: Report, stop: Event) -> Path:
        report(JobProgress(words="Reading the upload"))
        with room_for(owner, len(upload.content)):
            text, recorded = apart(upload.content)
        if stop.is_set():
            raise ValueError("The upload was stopped.")
        return take_upload(owner, upload.name, text, recorded)

    return Job(work, "take-upload")


def made_of(path: Path, owner: str) -> Job[ImportedSet]:
    """Begin to import the cases of a file into a new eval set beside it; the result is the set. A set that is not whole is not written."""

    def work(report: Report, stop: Event) -> ImportedSet:
        def goes_on(found: int) -> bool:
            report(JobProgress(words=f"Importing the cases. Cases found: {found:,}"))
            return not stop.is_set()

        made = imported_beside(path, goes_on=goes_on)
        check_import(owner, made.path)
        return made

    return Job(work, "import-as-set")


def apart(content: bytes) -> tuple[bytes, bytes]:
    """Part an uploaded eval set from the recording inside of it; the second is empty where it holds none.

    Raises:
        ValueError: What stands in the place of the recording is none.
    """
    if b'"recorded_environment"' not in content:
        return content, b""
    from evalset.recorded.recording_files import environment_text, parted  # noqa: PLC0415 - most sets hold no recording

    try:
        found = parted("the upload", content.decode("utf-8-sig"))
    except UnicodeDecodeError:
        return content, b""
    if found.environment is None:
        return content, b""
    return found.text.encode(), environment_text(found.environment).encode()


def importable(path: Path) -> str:
    """Return what a file is whose cases can be imported; empty where it is nothing of the kind."""
    try:
        with open_file(path, "cases") as file:
            return importable_kind(file.read(_HEAD))
    except OSError:
        return ""


def imported_beside(path: Path, *, goes_on: Callable[[int], bool] = lambda _: True) -> ImportedSet:
    """Import the cases of a file into a new eval set beside it; return the set, with how many cases it has and what was left out.

    Args:
        path: The file.
        goes_on: Asked with each case, with how many were found before; False ends the import, and nothing is written.

    Raises:
        ValueError: It holds no case, it was stopped, or the set cannot be written; the text says why.
    """
    from evalset.files.json_streams import SpoolError  # noqa: PLC0415 - as above
    from evalset.importing.gathered import Gathered, Harvest, add_to_set, grouped  # noqa: PLC0415 - importing ADK's evaluation takes a second
    from evalset.importing.import_files import take_path  # noqa: PLC0415 - as above

    try:
        brought = brought_reviews(path)
        if brought.problems:
            raise ValueError("\n".join(brought.problems))
        with Gathered() as gathered:
            harvest = Harvest(gathered, goes_on)
            take_path(path, harvest)
            if not goes_on(len(harvest.eval_ids)):
                raise ValueError("The import was stopped. No eval set was written.")
            if not gathered:
                raise ValueError("\n".join(grouped(harvest.problems)) or f"{path.name} contains no cases.")
            added = add_to_set(_free(path), gathered)
            problems = grouped(harvest.problems)
            reviews = brought.of(added.eval_ids, harvest.origins, harvest.rewritten)
    except (OSError, SpoolError) as error:
        why = getattr(error, "strerror", None) or error
        raise ValueError(f"{path.name} cannot be imported: {why}") from error
    written = f"The cases were written to {added.path}."
    try:
        add_reviews(added.path, reviews)
    except (ReviewFileError, OSError) as error:
        raise ValueError(f"{written} Their reviews were not: {error}") from error
    if added.trouble:
        raise ValueError(f"{written} Their recorded responses were not: {added.trouble}")
    count = len(added.eval_ids)
    return ImportedSet(added.path, (f"Imported: {count:,} case{'' if count == 1 else 's'}.", *problems))


def _free(path: Path) -> Path:
    stem, number = path.name.partition(".")[0] or "imported", 1
    target = path.with_name(f"{stem}_imported{ENDING}")
    while target.exists():
        number += 1
        target = path.with_name(f"{stem}_imported_{number}{ENDING}")
    return target
