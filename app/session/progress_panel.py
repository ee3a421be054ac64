"""Shows how far a long work is, and draws the page anew when it is over."""

from __future__ import annotations

from typing import Any

import streamlit as st

from app.live.background_jobs import Job
from app.session.page_fragments import fragment

LOOK_AGAIN_SECONDS = 0.4
AT_ONCE_SECONDS = 0.35
"""What takes no longer is waited for: the next page shows its outcome, and nobody sees a progress."""


def waiting(job: Job[Any], key: str, *, can_stop: bool = True) -> None:
    """Draw the progress of a work that runs, with the way to stop it; a write is soon done, and done whole."""

    def look() -> None:
        if job.state != "running":
            st.rerun()
        progress = job.progress
        words = progress.words or "Working"
        st.progress(progress.share, text="Stopping" if job.is_stopping else words)

    with st.container(horizontal=True, vertical_alignment="center", gap="small", key=f"waiting_{key}"):
        with st.container(width="stretch"):
            fragment(look, LOOK_AGAIN_SECONDS)()
        if can_stop:
            st.button(
                "Stop",
                key=f"stop_{key}",
                icon=":material/stop_circle:",
                on_click=job.stop,
                disabled=job.is_stopping,
            )
