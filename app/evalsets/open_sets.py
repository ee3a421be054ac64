"""Keeps what people have edited in eval sets and not saved, and what they have typed there: on the server, and in its store."""

from __future__ import annotations

import sys
import time
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import RLock
from types import ModuleType
from typing import NamedTuple, TypeVar

from app.live.live_sessions import UnsentTexts
from app.live.session_store import server_store
from evalset.editing.opened_set import OpenedSet, identity_at, open_set
from evalset.editing.set_saving import has_changed_on_disk
from evalset.editing.set_work import KeptWork, RestoreError, SetWork, kept_work, restored_work
from evalset.editing.sidecars import RecordingSidecar, ReviewSidecar, open_beside, open_reviews

MOST_WORKS = 60
MOST_OPENED = 6
MOST_BYTES = 600_000_000
"""So much do the sets hold that people have open; those in which nothing waits to be saved are let go of first."""

Written = TypeVar("Written")
_HOLDER = "golden_trace_studio_sets"


class Restored(NamedTuple):
    """Unsaved work that an earlier server has left.

    Attributes:
        at: When it was changed last, in seconds since the epoch.
        problem: Why it cannot be gone on with; empty where it is.
        body: What cannot be gone on with.
    """

    at: float
    problem: str = ""
    body: str = ""


class EditedSet(NamedTuple):
    """Somebody's work on one set, what they have typed and not taken over, and what was restored of it; `forgot` says that saved edits can no longer be undone."""

    work: SetWork
    drafts: UnsentTexts
    restored: Restored | None = None
    forgot: bool = False


class EditedSets:
    """The work of everybody. Safe to use from several threads.

    A set in which nothing is unsaved is opened anew when its file has changed; one that somebody edits stays as they opened it.
    """

    def __init__(self) -> None:
        self._lock = RLock()
        self._desks: OrderedDict[tuple[str, str], EditedSet] = OrderedDict()
        self._opened: OrderedDict[str, tuple[OpenedSet, RecordingSidecar, ReviewSidecar]] = OrderedDict()
        self._kept: dict[tuple[str, str], object] = {}

    def of(self, owner: str, path: Path) -> EditedSet:
        """Return somebody's work on a set; the set is opened where it is not yet.

        Raises:
            evalset.errors.EvalSetError: It cannot be opened; the text says why and where.
        """
        key = owner, str(path)
        with self._lock:
            edited = self._desks.get(key)
            if edited is None:
                edited = self._desks[key] = self._restored(owner, path)
            elif self._is_stale(edited):
                forgot = edited.forgot or bool(edited.work.edits)
                edited = self._desks[key] = EditedSet(
                    SetWork(*self._open(path)), edited.drafts, forgot=forgot
                )
            self._desks.move_to_end(key)
            self._make_room()
        return edited

    def unsaved(self, owner: str) -> frozenset[str]:
        """Return the paths of the sets in which somebody has edits that are not saved, of those that they have open."""
        with self._lock:
            return frozenset(
                path
                for (whose, path), edited in self._desks.items()
                if whose == owner and edited.work.is_changed
            )

    def keep(self, owner: str, path: Path) -> None:
        """Keep somebody's unsaved work in the store, where it has changed; `app.live.click_waits` waits for it."""
        store, key = server_store().store, (owner, str(path))
        with self._lock:
            edited = self._desks.get(key)
            if store is None or edited is None:
                return
            mark = (
                id(edited.work),
                edited.work.state,
                edited.work.saved,
                edited.work.undone,
                dict(edited.drafts),
            )
            before = self._kept.get(key)
            if before == mark:
                return
            kept = kept_work(edited.work, edited.drafts)
            if kept is None and edited.restored is not None and edited.restored.problem:
                return  # it stays until somebody drops it, or edits anew
            if kept is not None:
                store.put_unsaved(*key, kept.body, kept.base, kept.beside)
            elif before is not None or edited.restored is not None:
                store.drop_unsaved(*key)
            self._kept[key] = mark

    def put_tolerances(self, owner: str, path: Path, put: Callable[[], object]) -> None:
        """Write tolerances into a recording. Somebody's work on the set goes on, with its edits: a save reads the tolerances that are written then."""
        with self._lock:
            edited = self._desks.get((owner, str(path)))
        work = edited.work if edited is not None else None
        goes_on = work is not None and identity_at(work.beside.path) == work.beside_identity
        put()
        if work is not None and goes_on:
            work.beside_identity = identity_at(work.beside.path)

    def write(self, owner: str, path: Path, put: Callable[[], Written], words: str = "") -> Written:
        """Write a set in another way than by a save. Somebody's work on it goes on, and what was written can be undone there under these words."""
        with self._lock:
            edited = self._desks.get((owner, str(path)))
            goes_on = edited is not None and not edited.work.is_changed and not self._is_stale(edited)
        written = put()
        with self._lock, suppress(ValueError, OSError):  # the set is opened anew then
            if edited is not None and goes_on:
                edited.work.follow(SetWork(*self._open(path)), words)
        return written

    def put(self, owner: str, path: Path, work: SetWork) -> None:
        """Put another work in the place of somebody's."""
        with self._lock:
            self._desks[owner, str(path)] = EditedSet(work, UnsentTexts())

    def drafts(self, owner: str, path: str) -> UnsentTexts:
        """Return what somebody has typed on the page of a set; drafts that nobody keeps where it is not open."""
        with self._lock:
            edited = self._desks.get((owner, path))
        return edited.drafts if edited is not None else UnsentTexts()

    def reload(self, owner: str, path: Path) -> None:
        """Drop what somebody has edited, and open the set anew when it is asked for."""
        with self._lock:
            self._desks.pop((owner, str(path)), None)
            self._kept.pop((owner, str(path)), None)
        if (store := server_store().store) is not None:
            store.drop_unsaved(owner, str(path))

    def clear(self) -> None:
        """Drop everything."""
        with self._lock:
            self._desks.clear()
            self._kept.clear()
            self._opened.clear()

    def _restored(self, owner: str, path: Path) -> EditedSet:
        """Return the work as an earlier server has left it, or a new one."""
        store = server_store().store
        try:
            left = store.unsaved(owner, str(path)) if store is not None else None
        except ValueError as error:  # a StoreError: what is kept comes to light once it answers
            return EditedSet(SetWork(*self._open(path)), UnsentTexts(), Restored(time.time(), str(error)))
        if left is None:
            return EditedSet(SetWork(*self._open(path)), UnsentTexts())
        try:
            work, texts = restored_work(path, KeptWork(left.body, left.base, left.beside))
        except RestoreError as error:
            return EditedSet(
                SetWork(*self._open(path)), UnsentTexts(), Restored(left.at, str(error), left.body)
            )
        if work is None:
            return EditedSet(SetWork(*self._open(path)), UnsentTexts(before=texts), None)
        return EditedSet(work, UnsentTexts(before=texts), Restored(left.at))

    def _is_stale(self, edited: EditedSet) -> bool:
        work = edited.work
        # Edits that were saved, or undone, hold nothing up: what others saved since is shown.
        if work.is_changed:
            return False
        beside = (work.beside.path, work.beside_identity), (work.reviews.path, work.reviews_identity)
        return has_changed_on_disk(work) or any(identity_at(path) != identity for path, identity in beside)

    def _open(self, path: Path) -> tuple[OpenedSet, RecordingSidecar, ReviewSidecar]:
        known = self._opened.get(str(path))
        opened = known[0] if known and known[0].identity == identity_at(path) else open_set(path)
        beside = known[1] if known and known[1].identity == identity_at(known[1].path) else open_beside(path)
        known_reviews = known[2] if known and known[2].identity == identity_at(known[2].path) else None
        reviews = known_reviews or open_reviews(path)
        self._opened[str(path)] = opened, beside, reviews
        self._opened.move_to_end(str(path))
        while len(self._opened) > MOST_OPENED:
            self._opened.popitem(last=False)
        return opened, beside, reviews

    def _make_room(self) -> None:
        """Let go of what was looked at longest ago: first of sets in which nothing waits to be saved."""
        while len(self._desks) > MOST_WORKS or (len(self._desks) > 1 and self._bytes() > MOST_BYTES):
            *before, _ = self._desks.items()  # the last one is looked at now
            idle = [key for key, edited in before if not edited.work.is_changed]
            if not idle and len(self._desks) <= MOST_WORKS:
                return
            del self._desks[idle[0] if idle else before[0][0]]

    def _bytes(self) -> int:
        opened = {id(edited.work.opened): len(edited.work.opened.text) for edited in self._desks.values()}
        return sum(opened.values())


def edited_sets() -> EditedSets:
    """Return the desks of this process; a reload of the code does not touch them."""
    holder = sys.modules.setdefault(_HOLDER, ModuleType(_HOLDER))
    found: EditedSets = holder.__dict__.setdefault("desks", EditedSets())
    return found
