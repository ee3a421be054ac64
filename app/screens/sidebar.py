"""Beside every page: the list of sessions, and what is asked of them there."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit, urlunsplit

import streamlit as st

from app.live.live_sessions import registry
from app.live.session_store import StoreOfServer, open_in_background, store_if_open
from app.screens.keyboard_panel import keyboard
from app.screens.search import search
from app.screens.session_list import DeleteSession, KeptCommand, carry_out, lines, of_owner
from app.screens.sidebar_panel import (
    CloseSession,
    Keeping,
    NewSession,
    OpenSession,
    OpenSets,
    Search,
    SidebarCommand,
    person,
    sidebar,
)
from app.server.login import visitor
from app.session import page_state
from app.session.document_page import document_link
from app.session.page_fragments import fragment

if TYPE_CHECKING:
    from simulator.store import SessionRecord

_FRESH_SECONDS = 2.0
"""For how long a list that was read from the store is good enough for every page."""

OPENING_LOOK_SECONDS = 0.3
"""How often a page looks whether the stored sessions can be listed yet."""

_MOST_LISTS = 200
"""How many people's lists are held at once."""

_read: dict[tuple[StoreOfServer, str], tuple[float, list[SessionRecord]]] = {}


def side() -> None:
    """Draw the sidebar, and do what was asked for in it."""
    kept, who = store_if_open(), visitor()
    records, trouble = _records(kept, who.owner)
    deleted = page_state.get("deleted_session")
    listed = lines(registry().newest_first(who.owner), records, link_of)
    asked = sidebar(
        listed,
        page_state.session_id() or page_state.shared_token(),
        deleted=str(deleted) if deleted else None,
        keeping=Keeping(kept.store is not None, trouble, kept.caution),
        export=_exporting(kept, who.owner),
        on_sets=page_state.is_on_sets(),
        opening=kept.is_opening,
    )
    if kept.is_opening:
        open_in_background()
        with st.sidebar:
            fragment(_list_when_open, OPENING_LOOK_SECONDS)()
    person(who)
    with st.sidebar:
        document_link()
        keyboard()
    if asked is None or isinstance(asked, Search):
        if asked is not None:
            page_state.put("searching", True)
        search(listed)
        return
    _do(kept, asked, who.owner)
    st.rerun()


def _do(kept: StoreOfServer, asked: SidebarCommand, owner: str) -> None:
    match asked:
        case NewSession():
            page_state.leave()
        case OpenSets():
            page_state.put("problem", None)
            page_state.show_sets()
        case OpenSession(session_id=wanted):
            page_state.go_to(wanted)
        case CloseSession(session_id=ended):
            if page_state.own(ended) is not None:
                registry().close(ended)
            _leave(ended)
        case Search():
            pass  # it is drawn in the same run
        case _:
            _change(kept, asked, owner)


def has_no_sessions() -> bool:
    """Return whether the visitor has no session yet, live or kept; False where that is not known yet."""
    kept, owner = store_if_open(), visitor().owner
    if kept.is_opening or registry().newest_first(owner):
        return False
    records, trouble = _records(kept, owner)
    return not (records or trouble)


def _list_when_open() -> None:
    if not store_if_open().is_opening:
        st.rerun()


def _exporting(kept: StoreOfServer, owner: str) -> Callable[[str], str] | None:
    """Return what writes a session of an owner as a file."""
    store = kept.store
    return None if store is None else lambda session_id: store.export(of_owner(store, session_id, owner))


def _records(kept: StoreOfServer, owner: str) -> tuple[list[SessionRecord], str]:
    """Return what is kept of an owner, the newest first, and why it cannot be read."""
    if kept.store is None:
        return [], kept.problem
    when, records = _read.get((kept, owner), (-_FRESH_SECONDS, []))
    if time.monotonic() - when < _FRESH_SECONDS:
        return records, ""
    try:
        store = kept.store
        records = [
            *store.records(owner),
            *store.records(owner, archived=True),
            *store.records(owner, deleted=True),
        ]
    except ValueError as error:  # a StoreError: the pages go on without the list
        return records, str(error)
    if len(_read) >= _MOST_LISTS or any(server_store != kept for server_store, _ in list(_read)):
        _read.clear()
    _read[kept, owner] = time.monotonic(), records
    return records, ""


def _change(kept: StoreOfServer, asked: KeptCommand, owner: str) -> None:
    if kept.store is None:
        return
    _read.clear()
    try:
        made = carry_out(kept.store, asked, owner)
        if isinstance(asked, DeleteSession) and asked.deleted:
            registry().close(asked.session_id)
            _leave(asked.session_id)
    except ValueError as error:  # a StoreError
        page_state.put("problem", str(error))
        return
    page_state.put(
        "deleted_session", asked.session_id if isinstance(asked, DeleteSession) and asked.deleted else None
    )
    if made is not None:
        page_state.go_to(made)


def forget_lists() -> None:
    """Read the lists of sessions anew: something was changed elsewhere on this server."""
    _read.clear()


def _leave(ended: str) -> None:
    if ended == page_state.session_id():
        page_state.leave()


def link_of(token: str) -> str:
    """Return the link to a session that is shared under a token, as the visitor's own browser reaches this server."""
    here = urlsplit(st.context.url or "/")
    return urlunsplit((here.scheme, here.netloc, here.path or "/", f"shared={quote(token)}", ""))
