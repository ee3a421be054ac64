"""An uploader whose file becomes the text of an input, where it can be edited; says why a file cannot be read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from app.forms.common_panel import problem
from app.forms.safe_labels import literal
from app.forms.typed_paths import upload_name
from app.forms.widget_store import KeptInputs
from simulator.base.documents import LIMITS
from simulator.base.json_values import JsonObject
from simulator.session.history import check_sizes, file_part, files_in

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


def attach(key: str) -> list[Any]:
    """Draw the way to attach files to a message; return what was uploaded, and name it in sight of who sends it."""
    menu = st.popover("Attach files", icon=":material/attach_file:", key=f"{key}_menu", type="tertiary")
    uploaded: list[Any] = menu.file_uploader(
        f"Files, {LIMITS['message'] >> 20} MB together", accept_multiple_files=True, key=key
    )
    return uploaded


def attached(uploaded: Sequence[Any]) -> tuple[JsonObject, ...] | None:
    """Name uploaded files, and return them as parts of a message; None where one cannot be sent, which is said."""
    try:
        named = [(upload_name(file.name, "file"), file) for file in uploaded]
        check_sizes((name, file.size) for name, file in named)
    except ValueError as error:
        problem("The files cannot be sent.", str(error))
        return None
    parts = tuple(file_part(name, file.type or "", file.getvalue()) for name, file in named)
    name_files(parts)
    return parts


def name_files(parts: Sequence[JsonObject]) -> None:
    """Draw a line for each file of a message."""
    for file in files_in({"parts": [*parts]}):
        st.text(literal(file.words))


def decoded(content: bytes) -> str | None:
    """Read bytes as UTF-8, with or without a mark at the beginning; None where they are no such text."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
