"""Beside every page: the list of sessions, and what is asked of them there."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import streamlit as st

from app import state
from app.commands import CloseSession, DeleteSession, KeptCommand, NewSession, OpenSession
from app.panels.sidebar import sidebar
from app.registry import registry
from app.session_lines import carry_out, lines
from app.shelf import OWNER, Shelf, shelf_if_open

if TYPE_CHECKING:
    from simulator.store import SessionRecord

_FRESH_SECONDS = 2.0
"""For how long a list that was read from the store is good enough for every page."""

_read: dict[Shelf, tuple[float, list[SessionRecord]]] = {}


def side() -> None:
    """Draw the sidebar, and do what was asked for in it."""
    kept = shelf_if_open()
    records, trouble = _records(kept)
    deleted = state.get("deleted_session")
    asked = sidebar(
        lines(registry().newest_first(), records),
        state.session_id(),
        deleted=str(deleted) if deleted else None,
        trouble=trouble,
        export=kept.store.export if kept.store else None,
    )
    match asked:
        case None:
            return
        case NewSession():
            state.leave()
        case OpenSession(session_id=wanted):
            state.go_to(wanted)
        case CloseSession(session_id=ended):
            registry().close(ended)
            _leave(ended)
        case _:
            _change(kept, asked)
    st.rerun()


def _records(kept: Shelf) -> tuple[list[SessionRecord], str]:
    """Give what is kept, the newest first, and why it cannot be read."""
    if kept.store is None:
        return [], kept.problem
    when, records = _read.get(kept, (-_FRESH_SECONDS, []))
    if time.monotonic() - when < _FRESH_SECONDS:
        return records, ""
    try:
        records = [*kept.store.records(OWNER), *kept.store.records(OWNER, archived=True)]
    except ValueError as error:  # a StoreError: the pages go on without the list
        return [], str(error)
    _read.clear()
    _read[kept] = time.monotonic(), records
    return records, ""


def _change(kept: Shelf, asked: KeptCommand) -> None:
    if kept.store is None:
        return
    _read.clear()
    try:
        if isinstance(asked, DeleteSession) and asked.deleted:
            registry().close(asked.session_id)
            _leave(asked.session_id)
        made = carry_out(kept.store, asked, OWNER)
    except ValueError as error:  # a StoreError
        state.put("problem", str(error))
        return
    state.put(
        "deleted_session", asked.session_id if isinstance(asked, DeleteSession) and asked.deleted else None
    )
    if made is not None:
        state.go_to(made)


def _leave(ended: str) -> None:
    if ended == state.session_id():
        state.leave()
