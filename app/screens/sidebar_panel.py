"""Beside every page: the list of sessions, live and kept, the way back to each, and what is asked of them there."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple, Protocol, TypeAlias
from urllib.parse import quote, urlsplit, urlunsplit

import streamlit as st
from pydantic import Field, TypeAdapter

from app.forms.common_panel import place, problem
from app.forms.safe_labels import literal, safe_label
from app.forms.upload_panel import decoded
from app.forms.widget_store import slug
from app.live.live_sessions import registry
from app.live.session_store import StoreOfServer, open_in_background, store_if_open
from app.screens.keyboard_panel import keyboard
from app.screens.search import search, search_button
from app.screens.session_list import (
    ArchiveSession,
    DeleteSession,
    DescribeSession,
    DuplicateSession,
    ImportSession,
    KeptCommand,
    PurgeSession,
    SessionLine,
    ShareSession,
    carry_out,
    lines,
    of_owner,
)
from app.server.login import visitor
from app.server.owners import Visitor, is_loopback
from app.session import page_state
from app.session.document_page import document_link
from app.session.page_fragments import fragment
from app.session.timeline_view import short_id
from simulator.base.frozen_value import Value

if TYPE_CHECKING:
    from simulator.store import SessionRecord


class NewSession(Value):
    """Leave this session, which goes on living, and show the start page."""


class OpenSession(Value):
    """Show another live session."""

    session_id: str


class OpenSets(Value):
    """Show the eval sets."""


class Search(Value):
    """Open the search."""


class CloseSession(Value):
    """End a session and drop it from the server."""

    kind: Literal["close_session"] = "close_session"
    session_id: str


MenuCommand: TypeAlias = (
    CloseSession | DescribeSession | DuplicateSession | ArchiveSession | DeleteSession | ShareSession
)
"""What is asked for in the menu of a session in the list."""

SidebarCommand: TypeAlias = NewSession | OpenSets | Search | OpenSession | CloseSession | KeptCommand
"""What is asked for beside every page."""

# The menu of each session in the list: drawn only while it is open, and by itself, as a list of them would cost most of the page.


_COMMAND: TypeAdapter[MenuCommand] = TypeAdapter(Annotated[MenuCommand, Field(discriminator="kind")])

Export = Callable[[str], str]
"""Gives a kept session as a file."""


def asked_in_menu() -> MenuCommand | None:
    """Return what was asked for in a menu, once; call it before the menus are drawn."""
    asked = page_state.get("menu_asked")
    page_state.put("menu_asked", None)
    return None if asked is None else _COMMAND.validate_python(asked)


def session_menu(line: SessionLine, export: Export | None) -> None:
    """Draw the menu of a session: of a kept one, or the way to end another.

    To open and to close it draws nothing else anew: a click next to it closes it without a wait, and what
    they click there is heard.
    """
    fragment(_kept_menu if line.is_kept else _close_menu)(line, export)


def _ask(label: str, command: MenuCommand, key: str, icon: str, help_: str | None = None) -> None:
    """Draw a button that asks for something; a callback, as that is run whatever else is drawn in the same moment."""
    st.button(label, key=key, icon=icon, help=help_, on_click=_asked, args=(command,))


def _asked(command: MenuCommand) -> None:
    page_state.put("menu_asked", command.model_dump(mode="json"))


def _close_menu(line: SessionLine, export: Export | None) -> None:
    del export
    name = slug(line.session_id)
    menu = st.popover(
        ":material/close:",
        key=f"close_menu_{name}",
        type="tertiary",
        help="Close this session. Anything not exported is lost.",
        on_change="rerun",
    )
    if menu.open:
        with menu:
            st.text("Close this session? It cannot be restored.")
            ended = CloseSession(session_id=line.session_id)
            _ask("Close", ended, f"close_{name}", ":material/delete:")
    _carry_on()


def _kept_menu(line: SessionLine, export: Export | None) -> None:
    name = slug(line.session_id)
    menu = st.popover(
        ":material/more_vert:",
        key=f"kept_menu_{name}",
        type="tertiary",
        help="Name, tags, notes, share, copy, download, archive, delete",
        on_change="rerun",
    )
    if menu.open:
        with menu:
            _within(line, name, export)
    _carry_on()


def _within(line: SessionLine, name: str, export: Export | None) -> None:
    this = line.session_id
    _description(line, name)
    sharing(line, name, _ask)
    _ask("Duplicate", DuplicateSession(session_id=this), f"duplicate_{name}", ":material/content_copy:")
    if export is not None:
        st.download_button(
            "Download as file",
            lambda: export(this),
            f"{this}.session.json",
            key=f"download_{name}",
            icon=":material/download:",
            on_click="ignore",
        )
    word = "Unarchive" if line.archived else "Archive"
    archived = ArchiveSession(session_id=this, archived=not line.archived)
    _ask(word, archived, f"archive_{name}", ":material/archive:")
    _ask("Delete", DeleteSession(session_id=this), f"delete_{name}", ":material/delete:")


def _description(line: SessionLine, name: str) -> None:
    st.text_input("Name", value=line.title, key=f"name_{name}", max_chars=120, on_change="ignore")
    st.text_input(
        "Tags",
        value=", ".join(line.tags),
        key=f"tags_{name}",
        placeholder="refunds, smoke test",
        on_change="ignore",
    )
    st.text_area("Notes", value=line.notes, key=f"notes_{name}", height=80, on_change="ignore")
    st.button("Save", key=f"describe_{name}", icon=":material/check:", on_click=_describe, args=(line, name))


def _describe(line: SessionLine, name: str) -> None:
    called, tags, notes = (str(st.session_state[f"{field}_{name}"]) for field in ("name", "tags", "notes"))
    words = tuple(filter(None, (tag.strip() for tag in tags.split(","))))
    _asked(DescribeSession(session_id=line.session_id, name=called.strip(), tags=words, notes=notes))


def _carry_on() -> None:
    """Draw the page anew where something was asked for: what it does is no part of the menu."""
    if page_state.get("menu_asked") is not None:
        st.rerun()


# The list of sessions, live and kept, with the way back to each.


SHOWN_SESSIONS = 15
"""How many sessions are listed at once; those before them are a click away."""

OLDER_HEIGHT = 320
"""In pixels; the list of the older sessions scrolls inside."""

FEWEST_TO_SEARCH = 6
_LONGEST = 120
"""The style sheet ends a title where the line does; its tooltip has all of it."""

_NONE = "No sessions yet. A session stays here until you close it or the server stops."
_OPENING = "Loading stored sessions."
_NONE_KEPT = "No sessions yet. Sessions are stored here and survive a restart."


class Keeping(NamedTuple):
    """How sessions are kept.

    Attributes:
        is_kept: There is a store.
        trouble: Why sessions are not kept or cannot be listed; empty where they are, or were not meant to be.
        caution: What of the store is not durable.
    """

    is_kept: bool
    trouble: str
    caution: str


def sidebar(
    sessions: Sequence[SessionLine],
    current_id: str | None,
    *,
    deleted: str | None,
    keeping: Keeping,
    export: Export | None = None,
    on_sets: bool = False,
    opening: bool = False,
) -> SidebarCommand | None:
    """Draw the sidebar; return what was clicked.

    Args:
        sessions: Those to list, the newest first.
        current_id: The one on the screen.
        deleted: The one that was deleted last and can be restored.
        keeping: What is to be said of the store.
        export: Gives a kept session as a file; None where none is kept.
        on_sets: The eval sets are on the screen.
        opening: The stored sessions are not known yet.
    """
    asked: SidebarCommand | None = asked_in_menu()
    with st.sidebar:
        with st.container(key="brand"):
            st.markdown(":material/movie: **Golden Trace Studio**")
        asked = _places(at_start=current_id is None and not on_sets, on_sets=on_sets) or asked
        with place():
            _keeping(keeping)
        st.caption("Sessions")
        with place():
            asked = _undo(deleted) or asked
            if opening:
                st.caption(f":material/hourglass_top: {_OPENING}")
        asked = (
            _list(sessions, current_id, "" if opening else _NONE if export is None else _NONE_KEPT, export)
            or asked
        )
        with place():
            asked = (_import() if export is not None else None) or asked
    return asked


def _places(*, at_start: bool, on_sets: bool) -> SidebarCommand | None:
    """Draw the ways to the start page and to the eval sets."""
    asked: SidebarCommand | None = None
    if st.button("New session", key="new_session", icon=":material/add:", width="stretch", disabled=at_start):
        asked = NewSession()
    if st.button(
        "Eval sets",
        key="open_sets",
        icon=":material/checklist:",
        width="content",
        type="secondary" if on_sets else "tertiary",
    ):
        asked = OpenSets()
    if search_button():
        asked = Search()
    return asked


def _list(
    sessions: Sequence[SessionLine], current_id: str | None, none: str, export: Export | None
) -> SidebarCommand | None:
    with place():
        if not sessions and none:
            st.caption(none)
        shown = _found([line for line in sessions if not line.deleted])
    with place():
        opened = _lines(shown[:SHOWN_SESSIONS], current_id, export)
    older = shown[SHOWN_SESSIONS:]
    with place():
        if older and st.toggle(f"Show {len(older)} older", key="older_sessions"):
            with st.container(height=OLDER_HEIGHT, border=False, gap="xsmall", key="older_list"):
                opened = _lines(older, current_id, export) or opened
    with place():
        asked = _deleted([line for line in sessions if line.deleted])
    return asked or (OpenSession(session_id=opened) if opened else None)


def _deleted(sessions: Sequence[SessionLine]) -> KeptCommand | None:
    """Draw those that were deleted, which can be restored or deleted for good."""
    asked: KeptCommand | None = None
    if not sessions or not st.toggle(f"Deleted ({len(sessions)})", key="session_bin"):
        return None
    for line in sessions[:SHOWN_SESSIONS]:
        name = slug(line.session_id)
        with st.container(
            horizontal=True, gap="xxsmall", vertical_alignment="center", wrap=False, key=f"bin_line_{name}"
        ):
            with st.container(key=f"bin_title_{name}", width="stretch"):
                st.text(literal(line.title), wrap=False)
            if st.button(":material/undo:", key=f"restore_{name}", type="tertiary", help="Restore"):
                asked = DeleteSession(session_id=line.session_id, deleted=False)
            with st.popover(
                ":material/delete_forever:",
                key=f"purge_menu_{name}",
                type="tertiary",
                help="Delete permanently",
            ):
                st.text("Delete this session and all its branches permanently?")
                if st.button("Delete permanently", key=f"purge_{name}", icon=":material/delete_forever:"):
                    asked = PurgeSession(session_id=line.session_id)
    if len(sessions) > SHOWN_SESSIONS:
        st.caption(f"and {len(sessions) - SHOWN_SESSIONS} older ones")
    return asked


def _keeping(keeping: Keeping) -> None:
    is_kept, trouble, caution = keeping
    if caution:
        st.caption(literal(caution))
    if trouble:
        said = (
            "The list of stored sessions is not up to date."
            if is_kept
            else "Sessions are not stored. They end with the server."
        )
        st.warning(said, icon=":material/cloud_off:")
        st.text(literal(trouble))


def _undo(deleted: str | None) -> DeleteSession | None:
    if deleted is None:
        return None
    with st.container(horizontal=True, gap="xsmall", vertical_alignment="center", key="deleted_line"):
        st.caption("Session deleted", width="content")
        undone = st.button("Undo", key="undelete", type="tertiary", icon=":material/undo:")
    return DeleteSession(session_id=deleted, deleted=False) if undone else None


def _found(sessions: Sequence[SessionLine]) -> list[SessionLine]:
    """Narrow the list by words, and by the archive; a short one needs neither."""
    words = ""
    if len(sessions) >= FEWEST_TO_SEARCH:
        words = st.text_input(
            "Search sessions",
            key="session_search",
            live=True,
            placeholder="Search",
            icon=":material/search:",
            label_visibility="collapsed",
        )
    archive = any(line.archived for line in sessions) and st.toggle("Archive", key="session_archive")
    wanted = words.casefold().split()
    return [line for line in sessions if line.archived == archive and line.holds(wanted)]


def _lines(sessions: Sequence[SessionLine], current_id: str | None, export: Export | None) -> str | None:
    """Draw lines; return the id of the session that was clicked."""
    opened: str | None = None
    for line in sessions:
        is_current = line.session_id == current_id
        if _line(line, export, is_current=is_current) and not is_current:
            opened = line.session_id
    return opened


def _line(line: SessionLine, export: Export | None, *, is_current: bool) -> bool:
    name = slug(line.session_id)
    with st.container(
        horizontal=True, gap="xxsmall", vertical_alignment="center", wrap=False, key=f"recent_line_{name}"
    ):
        with st.container(gap=None, key=f"recent_name_{name}", width="stretch"):
            opened = st.button(
                safe_label(line.title, _LONGEST),
                key=f"recent_{name}",
                type="secondary" if is_current else "tertiary",
                icon=_icon(line),
                width="stretch",
                wrap=False,
                help=f"{safe_label(line.title, _LONGEST)} ({safe_label(short_id(line.session_id))})",
            )
            st.text(literal(line.about), wrap=False)
        session_menu(line, export)
    return opened


def _icon(line: SessionLine) -> str:
    if line.link:
        return ":material/group:"
    return ":material/chat:" if line.is_live else ":material/chat_bubble_outline:"


def _import() -> ImportSession | None:
    """Draw the way in for a session that was downloaded elsewhere."""
    with st.popover("Import", icon=":material/upload:", type="tertiary", key="import_menu"):
        uploaded = st.file_uploader("Session file", type=["json"], key="session_file")
        if uploaded is None:
            st.caption("A session downloaded from this or another studio, with all its branches.")
            return None
        text = decoded(uploaded.getvalue())
        if text is None:
            problem("This file cannot be read.", "It is not UTF-8 text.")
            return None
        taken = st.button("Import", key="session_import", type="primary", icon=":material/check:")
    return ImportSession(text=text) if taken else None


# The way to share a session read-only, and to end that, in its menu.


_WHAT = (
    "Anyone with the link can watch this session: its steps, world, branches and golden trace. They "
    "cannot change it, but they can copy it. Text that you have not sent stays private."
)
_HERE_ALONE = "This server listens on this machine only, so the link does not work from other machines."


class Ask(Protocol):
    """Draws a button that asks for something."""

    def __call__(
        self, label: str, command: ShareSession, key: str, icon: str, help_: str | None = None
    ) -> None:
        """Draw it."""


def sharing(line: SessionLine, name: str, ask: Ask) -> None:
    """Draw it; `name` ends the keys, and `ask` draws the buttons."""
    if not line.link:
        share = ShareSession(session_id=line.session_id)
        ask("Share read-only", share, f"share_{name}", ":material/share:", _WHAT)
        return
    with st.container(border=True, gap="xsmall", key=f"shared_{name}"):
        st.caption("Shared read-only with anyone who has this link")
        st.code(literal(line.link), language=None, wrap_lines=True)
        if is_loopback(urlsplit(line.link).hostname or ""):
            st.caption(_HERE_ALONE)
        end = ShareSession(session_id=line.session_id, shared=False)
        ask("Stop sharing", end, f"unshare_{name}", ":material/link_off:")


# Says in the sidebar who is logged in, with the way out.


def person(who: Visitor) -> None:
    """Draw it; nothing where nobody logs in. The names come from outside."""
    if not who.has_logged_in:
        return
    with st.sidebar, st.container(key="person", gap="xxsmall"):
        st.caption("Logged in")
        for said in dict.fromkeys(filter(None, (who.name, who.email))):
            st.text(literal(said))
        if st.button("Log out", key="log_out", type="tertiary", icon=":material/logout:"):
            st.logout()
            st.stop()  # what would be drawn now is nobody's


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
    with st.sidebar, place():
        if kept.is_opening:
            open_in_background()
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
