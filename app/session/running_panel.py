"""Shows what is at work right now, how far it is and for how long, and the way to stop it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import streamlit as st

from app.forms.safe_labels import literal, safe_label
from app.live.background_jobs import Job
from app.session.page_fragments import fragment
from app.session.user_form import USER_PLAYERS
from simulator.seats.requests import RunningCall
from simulator.session.commands import StopTurn

if TYPE_CHECKING:
    from simulator.runtime import SimulationView


LOOK_AGAIN_SECONDS = 0.4
AT_ONCE_SECONDS = 0.35
"""What takes no longer is waited for: the next page shows its outcome, and nobody sees a progress."""

_COUNT = """
const counting = new WeakMap();

export default function ({ data, parentElement }) {
  clearInterval(counting.get(parentElement));
  const shown = parentElement.querySelector("span");
  const from = performance.now() - data.seconds * 1000;
  const count = () => { shown.textContent = `${Math.floor((performance.now() - from) / 1000)} s`; };
  count();
  counting.set(parentElement, setInterval(count, 1000));
  return () => clearInterval(counting.get(parentElement));
}
"""
_STYLE = "span { color: var(--st-orange-text-color); font-family: var(--st-font); font-size: 0.875rem; }"
_clock = st.components.v2.component("studio_elapsed", html="<span></span>", css=_STYLE, js=_COUNT)


def elapsed(since: float, key: str) -> None:
    """Draw for how long something has been at work: the browser counts, and the server has nothing to draw anew meanwhile."""
    _clock(key=key, data={"seconds": max(time.time() - since, 0)}, width="content")


def waiting(job: Job[Any], key: str, *, can_stop: bool = True) -> None:
    """Draw the progress of a work that runs, for how long it has run, and the way to stop it; a write is soon done, and done whole."""

    def look() -> None:
        if job.state != "running":
            st.rerun()
        progress = job.progress
        words = progress.words or "Working"
        st.progress(progress.share, text="Stopping" if job.is_stopping else words)

    with st.container(horizontal=True, vertical_alignment="center", gap="small", key=f"waiting_{key}"):
        with st.container(width="stretch"):
            fragment(look, LOOK_AGAIN_SECONDS)()
        elapsed(job.began_at, f"elapsed_{key}")
        if can_stop:
            st.button(
                "Stop",
                key=f"stop_{key}",
                icon=":material/stop_circle:",
                on_click=job.stop,
                disabled=job.is_stopping,
            )


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
