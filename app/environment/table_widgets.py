"""What the tables of the environment share: editors whose changes are carried out once, and tables to look at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import streamlit as st

from app.forms.safe_labels import literal
from app.session import page_state
from simulator.base.json_values import canonical, digest

MOST_ROWS = 9
MOST_PIXELS = 440


def height(rows: int) -> int | Literal["auto"]:
    """Return the height of a table: that of its rows where they are few, else one in pixels, in which it scrolls."""
    return "auto" if rows <= MOST_ROWS else MOST_PIXELS


def editor_state(key: str) -> Mapping[str, Any]:
    """Return what was done in the data editor with this key."""
    found: Mapping[str, Any] = st.session_state.get(key) or {}
    return found


def is_new(key: str, done: Mapping[str, Any], version: int) -> bool:
    """Return whether what was done in an editor is to be carried out: once, so that a refusal is not asked for anew."""
    signature = f"{key} {version} {digest(canonical(_plain(done)))}"
    if page_state.get("tried") == signature:
        return False
    page_state.put("tried", signature)
    return True


def _plain(value: Any) -> Any:
    """Return what JSON can hold: the places of edited rows are numbers, its keys are texts."""
    if isinstance(value, Mapping):
        return {str(name): _plain(inner) for name, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, (list, tuple)) else value


def look_at(rows: Sequence[Mapping[str, Any]], key: str, name: str) -> None:
    """Draw a table of texts to look at; every cell is shown as it is."""
    shown = [
        {head: literal(cell) if isinstance(cell, str) else cell for head, cell in row.items()} for row in rows
    ]
    st.dataframe(shown, hide_index=True, key=key, height=height(len(rows)), alt=name)


def problems(said: Sequence[str]) -> None:
    """Say what in a table cannot be read; any of it may come from outside."""
    if said:
        st.warning("Not saved yet. Fix it in the table.", icon=":material/edit:")
        st.code(literal("\n".join(said)), language=None, wrap_lines=True)
