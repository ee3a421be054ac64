"""A session as a script: a look at it, and the download."""

from collections.abc import Callable
from typing import Literal, TypeAlias

import streamlit as st

from app.kept import Kept
from app.labels import literal
from app.panels.parts import pane, problem

Agent: TypeAlias = Literal["moves", "model"]
_AGENTS: dict[Agent, str] = {"moves": "Its moves, word by word", "model": "Played by its own model"}
_COLUMNS = (1.35, 1)
_PLAY_IT = (
    "Change a line and play it again: here on the start page, or with `golden-trace run AGENT --script FILE "
    "--out SET`."
)
_NO_TRACE_YET = "There is no golden trace yet: it ends with the agent's final answer, and this session has not come to one."
_SO_FAR = (
    "You can download what was done so far as a script: a file that plays these steps again, the same answers included, "
    "and then asks you what comes next. Keep it beside a bug report, try other answers in it, or go on from it another day."
)


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
        st.caption(_PLAY_IT)
        text = _text(_whose_moves(kept), written)
        if text is not None:
            _download(name, text, is_main=False)
            st.code(literal(text), language="yaml", height=360)


def script_so_far(kept: Kept, name: str, written: Callable[[Agent], str]) -> None:
    """Draw what there is to take along of a session that has no golden trace yet: its script. As `script_export`."""
    left, right = st.columns(_COLUMNS, gap="small")
    with right:
        _head("export_ways", "Destination")
        with pane("export_ways"):
            st.info(_NO_TRACE_YET, icon=":material/hourglass_empty:")
            st.caption(_SO_FAR)
            text = _text(_whose_moves(kept), written)
            if text is not None:
                with st.container(horizontal=True, gap="xsmall", key="export_buttons"):
                    _download(name, text, is_main=True)
                st.caption(_PLAY_IT)
    with left:
        _head("export_script", "The session so far, as a script")
        with pane("export_case"):
            if text is not None:
                st.code(literal(text), language="yaml", wrap_lines=True)


def _head(key: str, title: str) -> None:
    with st.container(
        horizontal=True, vertical_alignment="center", gap="xsmall", wrap=False, key=f"head_{key}"
    ):
        st.markdown(f"**{title}**", width="content")


def _whose_moves(kept: Kept) -> Agent:
    chosen = st.segmented_control(
        "The agent",
        list(_AGENTS),
        format_func=_AGENTS.__getitem__,
        required=True,
        key=kept.widget("export_script_agent", "moves"),
    )
    return chosen or "moves"


def _text(agent: Agent, written: Callable[[Agent], str]) -> str | None:
    """Give the script, or say why there is none."""
    try:
        return written(agent)
    except ValueError as error:  # a ScriptError
        problem("This session cannot be made a script.", str(error))
        return None


def _download(name: str, text: str, *, is_main: bool) -> None:
    st.download_button(
        "Download the script",
        data=text,
        file_name=f"{name or 'session'}.script.yaml",
        mime="application/yaml",
        key="download_script",
        type="primary" if is_main else "secondary",
        icon=":material/download:",
        on_click="ignore",
    )
