"""What the tables of the environment share: editors whose changes are carried out once, tables to look at, and the one use of the library behind them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import streamlit as st

from app.forms.safe_labels import literal
from app.session import page_state
from simulator.base.json_values import canonical, digest

TEXT, YES_OR_NO = "object", "boolean"
"""The types of columns, each of which has room for what is missing."""


def frame(columns: Mapping[str, Sequence[Any]], types: Mapping[str, str] | None = None) -> Any:
    """Make a frame of columns; those without a type in `types` hold texts."""
    import pandas as pd  # type: ignore[import-untyped]  # noqa: PLC0415 - its import takes a quarter of a second; its stubs are a package of their own

    kinds = types or {}
    return pd.DataFrame(
        {name: pd.Series([*cells], dtype=kinds.get(name, TEXT)) for name, cells in columns.items()}
    )


def rows_of(edited: Any) -> list[dict[str, Any]]:
    """Return the rows of a frame; what is missing is None."""
    import pandas as pd  # noqa: PLC0415 - as above

    return [
        {str(name): None if pd.isna(cell) else cell for name, cell in row.items()}
        for row in edited.to_dict("records")
    ]


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
