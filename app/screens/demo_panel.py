"""The way into a first session: what a demo consists of, and one button for each that begins it with its first example."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from app.forms.safe_labels import literal, safe_label
from app.forms.widget_store import slug
from app.live.session_opening import StartForm
from simulator.agents import AgentEntry

_COLUMNS = (1, 1.3)
_STEPS = """
1. **Start a demo.** Its agent gets the message next to the button.
2. **Answer the tool calls.** Each has a draft. Use it, edit it or fail the call.
3. **Export the session.** It becomes a golden case, and is verified at once.
"""


def try_demo(entries: Sequence[AgentEntry]) -> StartForm | None:
    """Draw the demos among some agents; return the session that was asked for. Without a demo nothing is drawn."""
    demos = [entry for entry in entries if _is_demo(entry)]
    if not demos:
        return None
    started: StartForm | None = None
    with st.container(border=True, key="try_demo"):
        left, right = st.columns(_COLUMNS, gap="medium")
        with left:
            st.markdown(f"**Try a demo**\n{_STEPS}")
        with right, st.container(key="demos", gap="xsmall"):
            for entry in demos:
                started = _demo(entry) or started
    return started


def _is_demo(entry: AgentEntry) -> bool:
    return entry.source == "demo" and entry.state != "failed" and bool(entry.example_queries)


def _demo(entry: AgentEntry) -> StartForm | None:
    name, query = slug(entry.name), entry.example_queries[0]
    with st.container(
        horizontal=True, vertical_alignment="center", gap="small", wrap=False, key=f"demo_{name}"
    ):
        clicked = st.button(
            f"Try {safe_label(entry.name, 40)}",
            key=f"try_{name}",
            icon=":material/play_arrow:",
            width=190,
            help="Starts a session with this message",
        )
        with st.container(key=f"demo_query_{name}", width="stretch"):
            st.text(literal(query))
    return StartForm(agent=entry.name, query=query) if clicked else None
