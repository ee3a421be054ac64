"""Shows the lines of Python with which an agent is replayed without its world, to be copied."""

from __future__ import annotations

import streamlit as st

from app.forms.safe_labels import literal


def replay_lines(lines: str, key: str) -> None:
    """Draw them, folded.

    Args:
        lines: What `evalset.recorded.recording_export.replay_lines` gives; it may name a file that somebody else named.
        key: The key of the folded part.
    """
    with st.expander("Replay it without the real tools", key=key, icon=":material/replay:"):
        st.caption(
            "Put these lines into the agent's module: `adk eval`, `adk web` and pytest then get the recorded answers, and no "
            'real tool runs. With `models="recorded"` as well, no model is asked either.'
        )
        st.code(literal(lines), language="python", wrap_lines=True)
