"""A session as a script: a look at it, and the download."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

import streamlit as st

from app.kept import Kept
from app.labels import literal
from app.panels.parts import problem

Agent: TypeAlias = Literal["moves", "model"]
_AGENTS: dict[Agent, str] = {"moves": "Its moves, word by word", "model": "Played by its own model"}


def script_export(kept: Kept, name: str, written: Callable[[Agent], str]) -> None:
    """Draw it, once somebody looks.

    Args:
        kept: The inputs of the export.
        name: What the file is called, without its ending.
        written: Gives the script; a ValueError says why there is none.
    """
    body = st.expander(
        "Download as a script", icon=":material/description:", key="export_script", on_change="rerun"
    )
    if not body.open:
        return
    with body:
        st.caption(
            "Change a line and play it again: here on the start page, or with `python -m simulator run AGENT --script FILE "
            "--out SET`."
        )
        chosen = st.segmented_control(
            "The agent",
            list(_AGENTS),
            format_func=_AGENTS.__getitem__,
            required=True,
            key=kept.widget("export_script_agent", "moves"),
        )
        try:
            text = written(chosen or "moves")
        except ValueError as error:  # a ScriptError
            problem("This session cannot be made a script.", str(error))
            return
        st.download_button(
            "Download the script",
            data=text,
            file_name=f"{name or 'session'}.script.yaml",
            mime="application/yaml",
            key="download_script",
            icon=":material/download:",
            on_click="ignore",
        )
        st.code(literal(text), language="yaml", height=360)
