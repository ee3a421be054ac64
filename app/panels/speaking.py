"""Shows that the user's next message is being made, and for how long."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import streamlit as st

from app.fragments import fragment
from app.labels import literal
from app.user_form import USER_PLAYERS

if TYPE_CHECKING:
    from simulator.runtime import SimulationView

TICK_SECONDS = 1.0
"""How often what is at work is drawn anew."""


def speaking(view: SimulationView) -> None:
    """Draw that the user's next message is being made."""
    if view.user.running:
        fragment(_speaking, TICK_SECONDS)(view)


def _speaking(view: SimulationView) -> None:
    with st.container(horizontal=True, gap="xsmall", vertical_alignment="center"):
        st.markdown(f":material/progress_activity: **{USER_PLAYERS[view.user.seat.player]}** speaks")
        st.badge(f"{max(time.time() - view.user.since, 0):.0f} s", color="orange")
    if view.user.progress:
        st.text(literal(view.user.progress))
