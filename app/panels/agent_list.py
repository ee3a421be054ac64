"""The agents to choose from on the start page; one that failed to load is listed with its error."""

from collections.abc import Sequence
from typing import Literal

import streamlit as st

from app.kept import slug
from app.labels import literal, safe_label
from simulator.agents import AgentEntry

LONG_LIST = 6
LIST_HEIGHT = 640
"""In pixels, where the style sheet does not say how much the window allows; a longer list scrolls inside."""

_SOURCES = {"folder": "Folder", "file": "File", "demo": "Demo"}


def agent_list(entries: Sequence[AgentEntry], chosen: str | None) -> str | None:
    """Draw the agents; give the name of the one that was clicked."""
    clicked: str | None = None
    is_long = len(entries) > LONG_LIST
    height: int | Literal["content"] = LIST_HEIGHT if is_long else "content"
    key = "agent_list_long" if is_long else "agent_list"
    with st.container(gap="xsmall", height=height, key=key, border=False):
        for entry in entries:
            clicked = _card(entry, is_chosen=entry.name == chosen) or clicked
    return clicked


def _card(entry: AgentEntry, *, is_chosen: bool) -> str | None:
    kind = "chosen" if is_chosen else entry.state
    with st.container(border=True, gap="xxsmall", key=f"agent_{kind}_{slug(entry.name)}"):
        with st.container(horizontal=True, vertical_alignment="center", gap="xsmall", wrap=False):
            clicked = st.button(
                safe_label(entry.name, 40),
                key=f"choose_{slug(entry.name)}",
                type="tertiary",
                icon=_icon(entry, is_chosen=is_chosen),
                disabled=entry.state == "failed",
                wrap=False,
            )
            st.space("stretch")
            _badge(entry)
        if entry.description:
            st.text(literal(entry.description))
        if entry.source != "demo":
            st.text(literal(entry.location))
        if entry.error:
            st.code(literal(entry.error), language=None, wrap_lines=True)
    return entry.name if clicked and not is_chosen else None


def _icon(entry: AgentEntry, *, is_chosen: bool) -> str:
    if entry.state == "failed":
        return ":material/error:"
    return ":material/radio_button_checked:" if is_chosen else ":material/radio_button_unchecked:"


def _badge(entry: AgentEntry) -> None:
    if entry.state == "failed":
        st.badge("Failed to load", color="red")
    else:
        st.badge(_SOURCES[entry.source], color="gray")
