"""The dialog of the search: a field, and below it what its words find. It is used without a mouse, too."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from app.forms.safe_labels import safe_label
from app.screens.keyboard_panel import SEARCH_OPENED
from app.screens.search_targets import Kind, Searchable, Target
from app.session import page_state

WORDS_KEY = "search_words"
_ICONS: dict[Kind, str] = {
    "command": ":material/bolt:",
    "agent": ":material/smart_toy:",
    "session": ":material/chat:",
    "case": ":material/checklist:",
    "step": ":material/timeline:",
}
_LABEL, _ABOUT = 70, 50

_KEYS = f"""
const search = {{ words: null, waits: null }};
const field = () => document.querySelector(".st-key-{WORDS_KEY} input");
const results = () => [...document.querySelectorAll('[class*="st-key-found_"] button')];

// A list that is chosen from by the keyboard: the arrows go through it, Enter in the field takes its first line.
function pressed(event) {{
  const typing = field();
  const lines = [typing, ...results()];
  const at = lines.indexOf(event.target);
  if (!typing || at < 0) return;
  const by = {{ ArrowDown: 1, ArrowUp: -1 }}[event.key];
  if (by) {{
    event.preventDefault();
    lines[Math.min(Math.max(at + by, 0), lines.length - 1)].focus();
  }}
  if (event.key === "Enter" && event.target === typing && !event.isComposing) {{
    // What is listed may be of fewer words than were typed.
    if (search.words === typing.value) results()[0]?.click();
    else search.waits = typing.value;
  }}
}}

function begin(frames) {{
  const typing = field();
  if (typing) {{
    typing.focus();
    document.dispatchEvent(new Event("{SEARCH_OPENED}"));
  }} else if (frames) requestAnimationFrame(() => begin(frames - 1));
}}

export default function ({{ data }}) {{
  const isNew = search.words === null;
  search.words = data.words;
  const isListed = search.waits === data.words;
  if (isListed) requestAnimationFrame(() => results()[0]?.click());
  if (isListed || search.waits !== field()?.value) search.waits = null;
  if (isNew) {{
    document.addEventListener("keydown", pressed, true);
    begin(60);
  }}
  return () => {{
    search.words = null;
    document.removeEventListener("keydown", pressed, true);
  }};
}}
"""
_keys = st.components.v2.component("studio_search_keys", html="<span></span>", js=_KEYS)


def search_button() -> bool:
    """Draw the way in; True when it was taken, by a click or its keys."""
    return st.button(
        "Search", key="search", icon=":material/search:", width="content", type="tertiary", shortcut="Mod+K"
    )


def search_dialog(prepared: Callable[[], Searchable]) -> None:
    """Draw the dialog. A target that is chosen is kept as `found`, and the page is drawn again."""
    targets = prepared()

    def within() -> None:
        words = st.text_input(
            "Search",
            key=WORDS_KEY,
            type="search",
            live=True,
            placeholder="Sessions, cases, steps, agents and commands",
            label_visibility="collapsed",
        )
        found = targets.found(words or "")
        with st.container(gap=None, key="search_found"):
            for number, target in enumerate(found):
                _line(number, target)
        if not found:
            st.caption("No matches. Search by a name, a message, a tool or an ID.")
        st.caption("Arrow keys choose. Enter opens.")
        with st.container(key="search_unseen"):
            _keys(data={"words": words or ""}, key="search_keys")
        if page_state.get("found") is not None:
            st.rerun()

    st.dialog("Search", width="medium", icon=":material/search:", on_dismiss=_closed)(within)()


def _line(number: int, target: Target) -> None:
    about = f" \u00b7 {safe_label(target.about, _ABOUT)}" if target.about else ""
    st.button(
        f"{safe_label(target.label, _LABEL)}{about}",
        key=f"found_{number}",
        type="tertiary",
        icon=_ICONS[target.kind],
        width="stretch",
        wrap=False,
        on_click=_chosen,
        args=(target,),
    )


def _chosen(target: Target) -> None:
    page_state.put("found", target.model_dump(mode="json"))


def _closed() -> None:
    page_state.put("searching", None)
