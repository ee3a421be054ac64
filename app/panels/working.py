"""The middle pane while the agent works by itself: what is at work, for how long, and what it has said so far."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import streamlit as st

from app.labels import safe_label
from app.panels.parts import pane, pane_head

if TYPE_CHECKING:
    from app.live import LiveSimulation
    from simulator.runtime import SimulationView

LOOK_AGAIN_SECONDS = 0.5
_DOES = {"model": "thinks", "tool": "runs for real", "code": "runs for real"}


def working(view: SimulationView, simulation: LiveSimulation) -> None:
    """Draw the pane; its times and texts go on by themselves."""
    pane_head("Decision", ("Progress",), "working_view")
    with pane("decision"):
        st.info("The agent is at work. Nothing waits for you.", icon=":material/progress_activity:")
        follow = st.fragment(_calls, run_every=LOOK_AGAIN_SECONDS)
        follow(view, simulation)
        st.caption("Stop, above, ends the turn; what has happened so far stays in the timeline.")


def _calls(view: SimulationView, simulation: LiveSimulation) -> None:
    now = simulation.view() if view.running else view
    if not now.running:
        st.skeleton(height=48)
    for call in now.running:
        with st.container(border=True, gap="xsmall", key=f"working_{call.key}"):
            with st.container(horizontal=True, vertical_alignment="center", gap="xsmall"):
                st.markdown(f"**{safe_label(call.name)}** {_DOES[call.kind]}", width="content")
                st.badge(
                    f"{max(0, round(time.time() - call.since))} s", color="blue", icon=":material/timer:"
                )
            if call.text:
                st.text(call.text)
