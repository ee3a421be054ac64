"""Draws a choice between views that stands in the address, so that a reload, a copied link and the browser's way back lead to it."""

from __future__ import annotations

import re
from collections.abc import Sequence

import streamlit as st

from app.forms.common_panel import Option, views
from app.forms.widget_store import set_input
from app.session import page_state


def named_views(label: str, options: Sequence[Option], key: str, name: page_state.Part = "tab") -> Option:
    """Draw the choice; return the chosen view. The address names any but the first one, as its `name`."""
    follow_address(options, key, name)
    chosen = views(label, options, key)
    tell_address(options, chosen, name)
    return chosen


def named_toggle(label: str, key: str, name: page_state.Part) -> bool:
    """Draw a switch to another view; return whether it is on. The address says so, as its `name`."""
    options = {False: "off", True: "on"}
    if page_state.has_moved():
        set_input(key, page_state.part(name) == options[True])
    is_on = st.toggle(label, key=key, persist_state="session")
    tell_address([*options.values()], options[is_on], name)
    return is_on


def named_page(key: str, name: page_state.Part) -> None:
    """Let the choice of a page, which is drawn later with this key, show the page in the address, and the address name it."""
    if page_state.has_moved():
        word = page_state.part(name) or ""
        set_input(key, int(word) if word.isdecimal() else 1)
    page = st.session_state.get(key, 1)
    page_state.name_part(name, str(page) if page > 1 else None)


def page_choice(pages: int, key: str) -> int:
    """Draw the choice of a page, where there are several; return the chosen one."""
    if not 1 <= st.session_state.get(key, 1) <= pages:
        st.session_state[key] = 1
    return int(st.pagination(pages, key=key, width="content") or 1) if pages > 1 else 1


def follow_address(options: Sequence[str], key: str, name: page_state.Part) -> None:
    """Let the choice that is drawn next show the view that the address names, where it has changed by itself."""
    if page_state.has_moved():
        named = page_state.part(name)
        there = next((each for each in options if _word(each) == named), options[0])
        if st.session_state.get(key, options[0]) != there:
            set_input(key, there)


def tell_address(options: Sequence[str], chosen: str, name: page_state.Part) -> None:
    """Let the address name the view that was chosen."""
    page_state.name_part(name, None if chosen == options[0] else _word(chosen))


def _word(option: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", option.lower()).strip("-")
