"""The list of sessions, live and kept, with the way back to each."""

from collections.abc import Sequence
from typing import NamedTuple

import streamlit as st

from app.commands import (
    DeleteSession,
    ImportSession,
    KeptCommand,
    NewSession,
    OpenSession,
    OpenSets,
    PurgeSession,
    SidebarCommand,
)
from app.kept import slug
from app.labels import literal, safe_label
from app.overview import short_id
from app.panels.parts import problem
from app.panels.session_menu import Export, asked_in_menu, session_menu
from app.panels.uploads import decoded
from app.session_lines import SessionLine

SHOWN_SESSIONS = 15
"""How many sessions are listed at once; those before them are a click away."""

OLDER_HEIGHT = 320
"""In pixels; the list of the older sessions scrolls inside."""

FEWEST_TO_SEARCH = 6
_SHORT = 34
_NONE = "None yet. A session stays here until it is closed or the server ends."
_OPENING = "Opening the stored sessions."
_NONE_KEPT = "None yet. What you play is kept here, also when the studio is closed."


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
    """Draw the sidebar; give what was clicked.

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
        _keeping(keeping)
        st.caption("Sessions")
        asked = _undo(deleted) or asked
        if opening:
            st.caption(f":material/hourglass_top: {_OPENING}")
        asked = (
            _list(sessions, current_id, "" if opening else _NONE if export is None else _NONE_KEPT, export)
            or asked
        )
        if export is not None:
            asked = _import() or asked
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
        width="stretch",
        type="secondary" if on_sets else "tertiary",
    ):
        asked = OpenSets()
    return asked


def _list(
    sessions: Sequence[SessionLine], current_id: str | None, none: str, export: Export | None
) -> SidebarCommand | None:
    if not sessions and none:
        st.caption(none)
    shown = _found([line for line in sessions if not line.deleted])
    opened = _lines(shown[:SHOWN_SESSIONS], current_id, export)
    older = shown[SHOWN_SESSIONS:]
    if older and st.toggle(f"Show {len(older)} older", key="older_sessions"):
        with st.container(height=OLDER_HEIGHT, border=False, gap="xsmall", key="older_list"):
            opened = _lines(older, current_id, export) or opened
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
            if st.button(":material/undo:", key=f"restore_{name}", type="tertiary", help="Restore it"):
                asked = DeleteSession(session_id=line.session_id, deleted=False)
            with st.popover(
                ":material/delete_forever:",
                key=f"purge_menu_{name}",
                type="tertiary",
                help="Delete it for good",
            ):
                st.text("Delete this session for good, with all its branches?")
                if st.button("Delete for good", key=f"purge_{name}", icon=":material/delete_forever:"):
                    asked = PurgeSession(session_id=line.session_id)
    if len(sessions) > SHOWN_SESSIONS:
        st.caption(f"and {len(sessions) - SHOWN_SESSIONS} more that were changed before these")
    return asked


def _keeping(keeping: Keeping) -> None:
    is_kept, trouble, caution = keeping
    if caution:
        st.caption(literal(caution))
    if trouble:
        said = (
            "The list of kept sessions is not up to date."
            if is_kept
            else "Sessions are not kept: they end with the server."
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
            placeholder="Search",
            icon=":material/search:",
            label_visibility="collapsed",
        )
    archive = any(line.archived for line in sessions) and st.toggle("Archive", key="session_archive")
    wanted = words.casefold().split()
    return [line for line in sessions if line.archived == archive and line.holds(wanted)]


def _lines(sessions: Sequence[SessionLine], current_id: str | None, export: Export | None) -> str | None:
    """Draw lines; give the id of the session that was clicked."""
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
        opened = st.button(
            safe_label(line.title, _SHORT),
            key=f"recent_{name}",
            type="secondary" if is_current else "tertiary",
            icon=_icon(line),
            width="stretch",
            wrap=False,
            help=f"{safe_label(line.agent, 40)}, {safe_label(short_id(line.session_id))}",
        )
        session_menu(line, export)
    return opened


def _icon(line: SessionLine) -> str:
    if line.link:
        return ":material/group:"
    return ":material/chat:" if line.is_live else ":material/chat_bubble_outline:"


def _import() -> ImportSession | None:
    """Draw the way in for a session that was downloaded elsewhere."""
    with st.popover("Import", icon=":material/upload:", type="tertiary", key="import_menu"):
        uploaded = st.file_uploader("A session as a file", type=["json"], key="session_file")
        if uploaded is None:
            st.caption("One that was downloaded here or elsewhere, with all its branches.")
            return None
        text = decoded(uploaded.getvalue())
        if text is None:
            problem("This file cannot be read.", "It is no text in UTF-8.")
            return None
        taken = st.button("Take it in", key="session_import", type="primary", icon=":material/check:")
    return ImportSession(text=text) if taken else None
