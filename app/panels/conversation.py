"""Where a person says that the conversation is over, and where they go back on it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from app.decisions import Complete
from app.labels import literal
from app.panels.parts import pane, pane_head
from simulator.session.history import FinalResponse
from simulator.session.model import SessionState

if TYPE_CHECKING:
    from simulator.runtime import SimulationView


def complete(view: SimulationView) -> Complete | None:
    """Draw the way to end the conversation, where the agent has given its final response."""
    if view.session.state is not SessionState.COMPLETED:
        return None
    ended = st.button(
        "Complete",
        key="complete",
        icon=":material/task_alt:",
        help="Say that the conversation is over: nobody speaks for the user any more. You can go back on it.",
    )
    return Complete(over=True) if ended else None


def over(view: SimulationView) -> Complete | None:
    """Draw what stands where the user would speak, when the conversation is over."""
    pane_head("Query", ("Over",), "query_over")
    with pane("decision"):
        turns = len(view.session.turns)
        st.success(
            f"The conversation is over, after {turns} turn{'' if turns == 1 else 's'}. Export the trace.",
            icon=":material/task_alt:",
        )
        final = view.session.history[-1]
        if isinstance(final, FinalResponse):
            st.text(literal(final.content))
        again = st.button(
            "Go on after all",
            key="go_on_after_all",
            icon=":material/chat:",
            help="The user speaks again, whoever sits there",
        )
    return Complete(over=False) if again else None
