"""Keeps on the server what people have edited in eval sets and not saved, and what they have typed there."""

from __future__ import annotations

import sys
from collections import OrderedDict
from pathlib import Path
from threading import RLock
from types import ModuleType
from typing import NamedTuple

from app.drafts import Drafts
from evalset.editing.beside import Beside, open_beside
from evalset.editing.opened import OpenedSet, identity_at, open_set
from evalset.editing.saving import has_changed_on_disk
from evalset.editing.work import SetWork

MOST_WORKS = 60
MOST_OPENED = 6
MOST_BYTES = 600_000_000
"""So much do the sets hold that people have open; those in which nothing waits to be saved are let go of first."""

_HOLDER = "golden_trace_studio_sets"


class Desk(NamedTuple):
    """Somebody's work on one set, and what they have typed and not taken over."""

    work: SetWork
    drafts: Drafts


class Desks:
    """The work of everybody. Safe to use from several threads.

    A set that nobody has edited is opened anew when its file has changed; one that somebody edits stays as they opened it.
    """

    def __init__(self) -> None:
        self._lock = RLock()
        self._desks: OrderedDict[tuple[str, str], Desk] = OrderedDict()
        self._opened: OrderedDict[str, tuple[OpenedSet, Beside]] = OrderedDict()

    def of(self, owner: str, path: Path) -> Desk:
        """Give somebody's desk for a set; the set is opened where it is not yet.

        Raises:
            evalset.errors.EvalSetError: It cannot be opened; the text says why and where.
        """
        key = owner, str(path)
        with self._lock:
            desk = self._desks.get(key)
            if desk is None or self._is_stale(desk):
                drafts = desk.drafts if desk is not None else Drafts()
                desk = self._desks[key] = Desk(SetWork(*self._open(path)), drafts)
            self._desks.move_to_end(key)
            self._make_room()
        return desk

    def put(self, owner: str, path: Path, work: SetWork) -> None:
        """Put another work in the place of somebody's."""
        with self._lock:
            self._desks[owner, str(path)] = Desk(work, Drafts())

    def drafts(self, owner: str, path: str) -> Drafts:
        """Give what somebody has typed on the page of a set; drafts that nobody keeps where it is not open."""
        with self._lock:
            desk = self._desks.get((owner, path))
        return desk.drafts if desk is not None else Drafts()

    def reload(self, owner: str, path: Path) -> None:
        """Drop what somebody has edited, and open the set anew when it is asked for."""
        with self._lock:
            self._desks.pop((owner, str(path)), None)

    def clear(self) -> None:
        """Drop everything."""
        with self._lock:
            self._desks.clear()
            self._opened.clear()

    def _is_stale(self, desk: Desk) -> bool:
        work = desk.work
        if work.is_changed or work.edits or work.undone:
            return False
        return has_changed_on_disk(work) or identity_at(work.beside.path) != work.beside_identity

    def _open(self, path: Path) -> tuple[OpenedSet, Beside]:
        known = self._opened.get(str(path))
        opened = known[0] if known and known[0].identity == identity_at(path) else open_set(path)
        beside = known[1] if known and known[1].identity == identity_at(known[1].path) else open_beside(path)
        self._opened[str(path)] = opened, beside
        self._opened.move_to_end(str(path))
        while len(self._opened) > MOST_OPENED:
            self._opened.popitem(last=False)
        return opened, beside

    def _make_room(self) -> None:
        """Let go of what was looked at longest ago: first of sets in which nothing waits to be saved."""
        while len(self._desks) > MOST_WORKS or (len(self._desks) > 1 and self._bytes() > MOST_BYTES):
            *before, _ = self._desks.items()  # the last one is looked at now
            idle = [key for key, desk in before if not desk.work.is_changed]
            if not idle and len(self._desks) <= MOST_WORKS:
                return
            del self._desks[idle[0] if idle else before[0][0]]

    def _bytes(self) -> int:
        opened = {id(desk.work.opened): len(desk.work.opened.text) for desk in self._desks.values()}
        return sum(opened.values())


def desks() -> Desks:
    """Give the desks of this process; a reload of the code does not touch them."""
    holder = sys.modules.setdefault(_HOLDER, ModuleType(_HOLDER))
    found: Desks = holder.__dict__.setdefault("desks", Desks())
    return found
