"""The list of sessions, live and kept, with the way back to each."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import streamlit as st

from app.commands import (
    ArchiveSession,
    CloseSession,
    DeleteSession,
    DescribeSession,
    DuplicateSession,
    ImportSession,
    KeptCommand,
    NewSession,
    OpenSession,
    PurgeSession,
    SidebarCommand,
)
from app.kept import slug
from app.labels import literal, safe_label
from app.overview import short_id
from app.panels.parts import problem
from app.panels.sharing import sharing
from app.panels.uploads import decoded
from app.session_lines import SessionLine

SHOWN_SESSIONS = 15
"""How many sessions are listed at once; those before them are a click away."""

OLDER_HEIGHT = 320
"""In pixels; the list of the older sessions scrolls inside."""

FEWEST_TO_SEARCH = 6
_SHORT = 34
_NONE = "None yet. A session stays here until it is closed or the server ends."
_NONE_KEPT = "None yet. What you play is kept here, also when the studio is closed."


def sidebar(
    sessions: Sequence[SessionLine],
    current_id: str | None,
    *,
    deleted: str | None,
    trouble: str,
    export: Callable[[str], str] | None = None,
) -> SidebarCommand | None:
    """Draw the sidebar; give what was clicked.

    Args:
        sessions: Those to list, the newest first.
        current_id: The one on the screen.
        deleted: The one that was deleted last and can be restored.
        trouble: Why sessions are not kept; empty where they are, or were not meant to be.
        export: Gives a kept session as a file; None where none is kept.
    """
    asked: SidebarCommand | None = None
    with st.sidebar:
        with st.container(key="brand"):
            st.markdown(":material/movie: **Golden Trace Studio**")
        if st.button(
            "New session",
            key="new_session",
            icon=":material/add:",
            width="stretch",
            disabled=current_id is None,
        ):
            asked = NewSession()
        _trouble(trouble)
        st.caption("Sessions")
        asked = _undo(deleted) or asked
        asked = _list(sessions, current_id, export) or asked
        if export is not None:
            asked = _import() or asked
    return asked


def _list(
    sessions: Sequence[SessionLine], current_id: str | None, export: Callable[[str], str] | None
) -> SidebarCommand | None:
    if not sessions:
        st.caption(_NONE if export is None else _NONE_KEPT)
    shown = _found([line for line in sessions if not line.deleted])
    asked = _lines(shown[:SHOWN_SESSIONS], current_id, export)
    older = shown[SHOWN_SESSIONS:]
    if older and st.toggle(f"Show {len(older)} older", key="older_sessions"):
        with st.container(height=OLDER_HEIGHT, border=False, gap="xsmall", key="older_list"):
            asked = _lines(older, current_id, export) or asked
    return _deleted([line for line in sessions if line.deleted]) or asked


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


def _trouble(trouble: str) -> None:
    if trouble:
        st.warning("Sessions are not kept: they end with the server.", icon=":material/cloud_off:")
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


def _lines(
    sessions: Sequence[SessionLine], current_id: str | None, export: Callable[[str], str] | None
) -> SidebarCommand | None:
    asked: SidebarCommand | None = None
    for line in sessions:
        asked = _line(line, export, is_current=line.session_id == current_id) or asked
    return asked


def _line(
    line: SessionLine, export: Callable[[str], str] | None, *, is_current: bool
) -> SidebarCommand | None:
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
        asked = _kept_menu(line, name, export) if line.is_kept else _close_menu(line, name)
    if asked is not None:
        return asked
    return OpenSession(session_id=line.session_id) if opened and not is_current else None


def _icon(line: SessionLine) -> str:
    if line.link:
        return ":material/group:"
    return ":material/chat:" if line.is_live else ":material/chat_bubble_outline:"


def _close_menu(line: SessionLine, name: str) -> CloseSession | None:
    menu = st.popover(
        ":material/close:",
        key=f"close_menu_{name}",
        type="tertiary",
        help="End this session; what was not exported is lost",
        on_change="rerun",
    )
    if not menu.open:
        return None
    with menu:
        st.text("Close this session? It cannot be brought back.")
        closed = st.button("Close", key=f"close_{name}", icon=":material/delete:")
    return CloseSession(session_id=line.session_id) if closed else None


def _kept_menu(line: SessionLine, name: str, export: Callable[[str], str] | None) -> KeptCommand | None:
    """Draw a session's menu; what is in it is drawn only while it is open, because a list of them would cost most of the page."""
    asked: KeptCommand | None = None
    menu = st.popover(
        ":material/more_vert:",
        key=f"kept_menu_{name}",
        type="tertiary",
        help="Name, tags, notes; share, copy, download, archive, delete",
        on_change="rerun",
    )
    if not menu.open:
        return None
    with menu:
        asked = _description(line, name)
        asked = sharing(line, name) or asked
        if st.button("Duplicate", key=f"duplicate_{name}", icon=":material/content_copy:"):
            asked = DuplicateSession(session_id=line.session_id)
        if export is not None:
            st.download_button(
                "Download as a file",
                lambda: export(line.session_id),
                f"{line.session_id}.session.json",
                key=f"download_{name}",
                icon=":material/download:",
                on_click="ignore",
            )
        word = "Take out of the archive" if line.archived else "Archive"
        if st.button(word, key=f"archive_{name}", icon=":material/archive:"):
            asked = ArchiveSession(session_id=line.session_id, archived=not line.archived)
        if st.button("Delete", key=f"delete_{name}", icon=":material/delete:"):
            asked = DeleteSession(session_id=line.session_id)
    return asked


def _description(line: SessionLine, name: str) -> DescribeSession | None:
    called = st.text_input("Name", value=line.title, key=f"name_{name}", max_chars=120, on_change="ignore")
    tags = st.text_input(
        "Tags",
        value=", ".join(line.tags),
        key=f"tags_{name}",
        placeholder="refunds, smoke test",
        on_change="ignore",
    )
    notes = st.text_area("Notes", value=line.notes, key=f"notes_{name}", height=80, on_change="ignore")
    if not st.button("Save", key=f"describe_{name}", icon=":material/check:"):
        return None
    words = tuple(filter(None, (tag.strip() for tag in tags.split(","))))
    return DescribeSession(session_id=line.session_id, name=called.strip(), tags=words, notes=notes)


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
