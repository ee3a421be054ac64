"""Shows a session that is kept and cannot be played now: why, and what has happened in it, to read."""

from __future__ import annotations

from typing import Literal

import streamlit as st

from app.forms.common_panel import problem
from app.forms.safe_labels import safe_label
from app.session.timeline_view import rows
from simulator.journal import Journal

_HEIGHT = 420
_NAME = 40


def unopened(
    session_id: str, reason: str, journal: Journal | None, renamed_to: str = ""
) -> Literal["again", "renamed"] | None:
    """Draw it, and return what was clicked: to try again, or to continue with the agent that its own may be called now."""
    problem("This session cannot be opened now. It is stored unchanged, and nothing is lost.", reason)
    clicked: Literal["again", "renamed"] | None = None
    if renamed_to:
        label = f"Continue with {safe_label(renamed_to, _NAME)}"
        if st.button(label, key="continue_renamed", type="primary", icon=":material/play_arrow:"):
            clicked = "renamed"
    if st.button("Try again", key="reopen", icon=":material/refresh:"):
        clicked = "again"
    if journal is not None:
        _steps(journal)
        st.download_button(
            "Download journal",
            journal.to_json(),
            f"{session_id}.journal.json",
            icon=":material/download:",
        )
    return clicked


def unreadable(reason: str, journal: Journal | None) -> None:
    """Draw a session that is shared and cannot be shown in full now, for somebody who may only look at it."""
    problem("Part of this session cannot be shown now.", reason)
    if journal is not None:
        _steps(journal)


def _steps(journal: Journal) -> None:
    session = journal.session()
    st.caption("Steps so far")
    st.dataframe(
        [row.model_dump() for row in rows(session)],
        hide_index=True,
        height=_HEIGHT,
        alt="All steps of the session",
    )
