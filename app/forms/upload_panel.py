"""An uploader whose file becomes the text of an input, where it can be edited; says why a file cannot be read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from app.forms.common_panel import problem
from app.forms.widget_store import KeptInputs
from simulator.base.documents import LIMITS

_MOST = LIMITS["data"]


def upload(
    kept: KeptInputs, into: str, label: str, types: Sequence[str], *, name_into: str | None = None
) -> None:
    """Draw an uploader whose file is put into the input `into`, and its name without the ending into `name_into`."""
    key = kept.key("upload")

    def take() -> None:
        uploaded: Any = st.session_state.get(key)
        text = decoded(uploaded.getvalue()) if uploaded is not None and uploaded.size <= _MOST else None
        if text is not None:
            kept.put(into, text)
            if name_into:
                kept.put(name_into, str(uploaded.name).rpartition(".")[0] or str(uploaded.name))

    uploaded: Any = st.file_uploader(label, type=list(types), key=key, on_change=take)
    if uploaded is not None and uploaded.size > _MOST:
        problem("This file cannot be read.", f"It is larger than {_MOST >> 20} MB.")
    elif uploaded is not None and decoded(uploaded.getvalue()) is None:
        problem("This file cannot be read.", "It is not UTF-8 text.")


def decoded(content: bytes) -> str | None:
    """Read bytes as UTF-8, with or without a mark at the beginning; None where they are no such text."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
