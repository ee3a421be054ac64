"""Shows what is at work right now, for how long, and the way to stop it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import streamlit as st

from app.forms.safe_labels import literal, safe_label
from app.session.progress_panel import elapsed
from app.session.user_form import USER_PLAYERS
from simulator.seats.requests import RunningCall
from simulator.session.commands import StopTurn

if TYPE_CHECKING:
    from simulator.runtime import SimulationView


_LONGEST_TURN = 3600.0
_WHAT = {"model": "The model of", "tool": "The real tool", "code": "The real code of"}


def running(view: SimulationView, *, alone: bool, may_stop: bool = True) -> StopTurn | None:
    """Draw what is at work; `alone` says that nothing waits for a person meanwhile, `may_stop` that it can be ended."""
    if not (view.running or (alone and view.busy)):
        return None
    with st.container(border=True, gap="xsmall", key="running"):
        if view.running:
            _calls(view.running)
        elif view.user.running:
            speaking(view)
        else:
            _agent(view)
        if not may_stop:
            return None
        stop = st.button("Stop turn", key="stop_running", icon=":material/stop_circle:")
        st.caption("The steps so far stay in the timeline.")
    return StopTurn() if stop else None


def _agent(view: SimulationView) -> None:
    """Draw that the agent's own code is at work, or its process begins, since the last step; a session at another time than now has no clock."""
    with st.container(horizontal=True, gap="xsmall", vertical_alignment="center"):
        st.markdown(":material/progress_activity: The agent is running", width="content")
        since = view.session.history[-1].timestamp.timestamp() if view.session.history else 0.0
        if 0 <= time.time() - since < _LONGEST_TURN:
            elapsed(since, "elapsed_agent")


def _calls(calls: tuple[RunningCall, ...]) -> None:
    for number, call in enumerate(calls):
        with st.container(horizontal=True, gap="xsmall", vertical_alignment="center"):
            st.markdown(f":material/progress_activity: {_words(call)}", width="content")
            elapsed(call.since, f"elapsed_{number}")
        if call.text:
            st.text(literal(call.text))


def _words(call: RunningCall) -> str:
    name = f"**{safe_label(call.name)}**"
    if call.waits_for:
        return f"{name} is waiting for **{safe_label(call.waits_for)}** to end"
    if call.delay != 0:
        how_long = "until the turn is stopped" if call.delay is None else f"{call.delay:.3g} s"
        return f"{name} \u00b7 Waiting {how_long}: **{safe_label(call.by)}**"
    if call.by:
        return f"**{safe_label(call.by)}** is running for {name}"
    return f"{_WHAT[call.kind]} {name} is running"


# Shows that the user's next message is being made, and for how long.


def speaking(view: SimulationView) -> None:
    """Draw that the user's next message is being made."""
    if not view.user.running:
        return
    with st.container(horizontal=True, gap="xsmall", vertical_alignment="center"):
        st.markdown(
            f":material/progress_activity: **{USER_PLAYERS[view.user.seat.player]}** is writing the next message",
            width="content",
        )
        elapsed(view.user.since, "elapsed_user")
    if view.user.progress:
        st.text(literal(view.user.progress))
