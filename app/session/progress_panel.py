"""Shows how far a long work is and for how long it has been at it, and draws the page anew when it is over."""

from __future__ import annotations

import time
from typing import Any

import streamlit as st

from app.live.background_jobs import Job
from app.session.page_fragments import fragment

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
