"""Draws the conversation of a session: messages, calls and responses with their values, and a search in them."""

from __future__ import annotations

import streamlit as st

from app.forms.safe_labels import DetailBlock, literal
from app.session import page_state
from app.session.conversation_view import ConversationEntry, conversation
from simulator.session.history import HistoryEntry

PAGE_ENTRIES = 20
"""How many entries are drawn at first, and how many more with each click."""

MOST_ENTRIES = 100
"""How many entries are drawn at most; a search finds the others."""

_MOST_LINES = 12
_TALL = 240


def search_line() -> str:
    """Draw the search; return what is searched for."""
    return st.text_input(
        "Search conversation",
        key="conversation_search",
        placeholder="Search texts, names, values",
        icon=":material/search:",
        label_visibility="collapsed",
    )


def conversation_entries(history: tuple[HistoryEntry, ...], search: str) -> None:
    """Draw the newest entries that contain what is searched for."""
    count = min(PAGE_ENTRIES * (1 + int(page_state.get("earlier") or 0)), MOST_ENTRIES)
    shown = conversation(history, search, count)
    if search.strip():
        st.caption(f"{shown.total} of {len(history)} steps match" if shown.total else "No step matches.")
    hidden = shown.total - len(shown.said)
    if hidden and count < MOST_ENTRIES:
        if st.button(
            f"Show earlier \u00b7 {hidden} more",
            key="show_earlier_said",
            type="tertiary",
            icon=":material/expand_less:",
        ):
            page_state.put("earlier", int(page_state.get("earlier") or 0) + 1)
            st.rerun()
    elif hidden:
        st.caption(f"{hidden} earlier steps are not shown. Search to find them.")
    for said in shown.said:
        _entry(said)


def _entry(said: ConversationEntry) -> None:
    with st.container(gap=None, key=f"said_{said.index}"):
        st.markdown(f"{said.icon} {said.label}")
        if said.found:
            st.caption(said.found)
        for part in said.parts:
            _part(part)


def _part(part: DetailBlock) -> None:
    if part.title:
        st.caption(part.title)
    if part.language is None:
        st.text(literal(part.text))
        return
    is_tall = part.text.count("\n") >= _MOST_LINES
    st.code(
        literal(part.text),
        language=None if part.language == "text" else part.language,
        wrap_lines=True,
        height=_TALL if is_tall else "content",
    )
