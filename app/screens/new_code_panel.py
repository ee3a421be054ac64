"""Above a session whose agent's files have changed: offers to go on with them."""

from __future__ import annotations

import streamlit as st


def new_code() -> bool:
    """Draw the offer; return whether it was taken."""
    with st.container(key="new_code", border=True, horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown("The agent's files have changed since it was loaded.", width="content")
        return st.button(
            "Restart with new code",
            key="restart_with_new_code",
            icon=":material/restart_alt:",
            help="Restarts the agent's process for all its sessions. No model or tool runs again. If the new code "
            "behaves differently from the recorded steps, the session shows where.",
        )
