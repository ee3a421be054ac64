"""Draws that a person came back to what waits, and who would answer it by themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from app.decisions import GoOn
from app.labels import literal
from app.step_words import would_answer

if TYPE_CHECKING:
    from simulator.runtime import SimulationView


def came_back(view: SimulationView) -> GoOn | None:
    """Draw it where somebody would answer; give the wish that they do."""
    names = dict.fromkeys(filter(None, map(would_answer, view.pending)))
    if not names:
        return None
    with st.container(
        border=True, horizontal=True, vertical_alignment="center", gap="small", key="came_back"
    ):
        with st.container(width="stretch", gap=None):
            st.badge("You came back to here", icon=":material/history:", color="blue")
            st.text(
                literal(f"{', '.join(names)} would answer. Answer another way, or let it go on as it was.")
            )
        asked = st.button("Go on", key="go_on", icon=":material/play_arrow:")
    return GoOn() if asked else None
