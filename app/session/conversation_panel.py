"""Draws the conversation of a session: messages, calls and responses with their values, and a search in them."""

from __future__ import annotations

from typing import NamedTuple

import streamlit as st

from app.forms.common_panel import shown_file
from app.forms.safe_labels import DetailBlock, literal
from app.forms.value_editor_widgets import shown_value
from app.session import page_state
from app.session.conversation_view import ConversationEntry, conversation
from simulator.session.history import HistoryEntry

PAGE_ENTRIES = 20
"""How many entries are drawn at first, and how many more with each click."""

MOST_ENTRIES = 100
"""How many entries are drawn at most; a search finds the others."""

_MOST_LINES = 12
_TALL = 240


class ConversationLine(NamedTuple):
    """What the conversation is searched for, and whether its values are shown as JSON."""

    search: str = ""
    as_json: bool = False


def conversation_line() -> ConversationLine:
    """Draw what stands above the conversation; return what was typed and chosen there."""
    search = st.text_input(
        "Search conversation",
        key="conversation_search",
        placeholder="Search texts, names, values",
        icon=":material/search:",
        label_visibility="collapsed",
    )
    as_json = st.toggle("JSON", key="conversation_json", persist_state="session")
    return ConversationLine(search, as_json)


def conversation_entries(history: tuple[HistoryEntry, ...], line: ConversationLine) -> None:
    """Draw the newest entries that contain what is searched for."""
    search = line.search
    count = min(PAGE_ENTRIES * (1 + int(page_state.get("earlier") or 0)), MOST_ENTRIES)
    shown = conversation(history, search, count)
    if search.strip():
        st.caption(f"{shown.total} of {len(history)} steps match" if shown.total else "No step matches.")
    hidden = shown.total - len(shown.said)
    if hidden == 1:  # a button for one entry is as high as the entry
        shown, hidden = conversation(history, search, count + 1), 0
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
        _entry(said, as_json=line.as_json)


def _entry(said: ConversationEntry, *, as_json: bool) -> None:
    with st.container(gap=None, key=f"said_{said.index}"):
        st.markdown(f"{said.icon} {said.label}")
        if said.found:
            st.caption(said.found)
        for number, part in enumerate(said.parts):
            _part(part, f"said_{said.index}_{number}", as_json=as_json)


def _part(part: DetailBlock, key: str, *, as_json: bool) -> None:
    if part.title:
        st.caption(part.title)
    if part.file is not None:
        shown_file(part.file, key)
        return
    if part.language == "json" and not as_json:
        shown_value(part.value, key)
        return
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
