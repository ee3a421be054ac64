"""Above a session whose agent's files have changed: offers to go on with them."""

from __future__ import annotations

import streamlit as st


def new_code() -> bool:
    """Draw the offer; return whether it was taken."""
    with st.container(key="new_code", border=True, horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown("The agent's files have changed since it was loaded.", width="content")
        return st.button(
            "Restart with the new code",
            key="restart_with_new_code",
            icon=":material/restart_alt:",
            help="Starts the agent's process anew, for all sessions in it. No model and no tool is asked again. "
            "If the new code does something else than what happened so far, the session says where.",
        )
