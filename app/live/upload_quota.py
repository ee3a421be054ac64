"""Says how much each person may have on the server of what they bring, eval sets and files of messages, and for how long."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import tempfile
import time
from functools import cache
from pathlib import Path

from app.live.live_sessions import registry
from app.server.browser_tabs import drawn_page, is_open
from app.server.owners import LOCAL
from simulator.base.json_values import JsonObject
from simulator.facts import AgentSelected, Fact, TurnStarted
from simulator.session.history import check_sizes, files_in

UPLOAD_MB = "GOLDEN_TRACE_UPLOAD_MB"
"""The environment variable that says how many megabytes of uploads each person has on the server."""
_UPLOAD_MB = 256
_MB = 1 << 20
_KEPT_SECONDS = 60 * 60.0
"""So long after their owner's last tab has closed or lost its line uploads stay: nobody tells a closed browser from a laptop that sleeps through a meeting."""

_owners: dict[str, str] = {}
"""Whose the open pages are, by their ids."""


def uploads_of(owner: str) -> Path:
    """Return the folder in which what somebody uploads is kept as long as the server runs; it need not be there."""
    return Path(_uploads().name) / hashlib.sha256(owner.encode()).hexdigest()[:32]


@cache
def _uploads() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="golden-trace-sets-")


def note_page(owner: str) -> None:
    """Note that a page of somebody is drawn: their uploads stay as long as it is open."""
    _owners[drawn_page()] = owner
    _note_visit(owner)


def _note_visit(owner: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.utime(uploads_of(owner))


def remove_unvisited() -> None:
    """Remove the uploads of those who have had no page open for some time; those of the one person of a machine stay."""
    for page_id, owner in _owners.copy().items():
        if is_open(page_id):
            _note_visit(owner)
        else:  # one that comes back is drawn, and noted again
            _owners.pop(page_id, None)
    before, local = time.time() - _KEPT_SECONDS, uploads_of(LOCAL)
    for folder in local.parent.iterdir():
        with contextlib.suppress(FileNotFoundError):
            if folder != local and folder.stat().st_mtime < before:
                shutil.rmtree(folder, ignore_errors=True)


def check_room(folder: Path, size: int) -> None:
    """Check that somebody may have so much more than what is in their folder of uploads.

    Raises:
        ValueError: It would be more than `UPLOAD_MB` allows; says how much, and what to do.
    """
    most = _most_uploaded()
    taken = sum(each.stat().st_size for each in folder.glob("*") if each.is_file())
    if taken + size > most:
        raise ValueError(
            f"Your uploads would take {(taken + size) / _MB:,.1f} MB; the limit is {most // _MB:,} MB. Remove an upload from the "
            f"list of eval sets first. The server's owner can raise the limit with {UPLOAD_MB}."
        )


def _most_uploaded() -> int:
    written = os.environ.get(UPLOAD_MB, "").strip()
    return (int(written) if written.isdecimal() else _UPLOAD_MB) * _MB


def check_attached(owner: str, message: str | JsonObject) -> None:
    """Check the files of a message that somebody sends: they count among the uploads, with those in the sessions that are open.

    Raises:
        ValueError: They are larger than a message may have, or than `UPLOAD_MB` allows; the text names the limit.
    """
    files = [] if isinstance(message, str) else [*files_in(message)]
    if not (size := check_sizes((file.name, file.size) for file in files)):
        return
    open_now = [live.simulation.journal for live in registry().newest_first(owner)]
    kept = sum(
        file.size
        for journal in open_now
        for _, fact in journal.path()
        for file in files_in(_with_files(fact))
    )
    check_room(uploads_of(owner), size + kept)


def _with_files(fact: Fact) -> JsonObject:
    """Return what of a fact holds files that somebody has brought."""
    match fact:
        case TurnStarted(message=message):
            return message
        case AgentSelected(earlier=earlier):
            return {"parts": [each.part for each in earlier.artifacts]}
        case _:
            return {}
