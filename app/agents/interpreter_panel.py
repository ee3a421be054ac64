"""Which Python runs an agent, on the start page: that of its project, or another one that is chosen here and kept."""

from __future__ import annotations

import streamlit as st

from app.forms.safe_labels import literal
from app.forms.widget_store import slug
from simulator.agents import AgentEntry
from simulator.base.frozen_value import Value


class ChoosePython(Value):
    """Run an agent with another Python from now on; an empty path for that of its project."""

    name: str
    python: str = ""


class PythonChoice(Value):
    """What is known of an agent's Python.

    Attributes:
        used: The interpreter's path; empty where the agent was not loaded.
        is_chosen: Whether somebody has chosen it here.
        failed: Why the last choice could not be taken.
    """

    used: str = ""
    is_chosen: bool = False
    failed: str = ""


def interpreter(entry: AgentEntry, choice: PythonChoice) -> ChoosePython | None:
    """Draw it, folded, for an agent; return what was chosen."""
    name = slug(entry.name)
    body = st.expander("Python", type="compact", key=f"python_of_{name}", on_change="rerun")
    if not (body.open or choice.failed):
        return None
    with body:
        if choice.used:
            st.caption("Selected:" if choice.is_chosen else "In use:")
            st.code(literal(choice.used), language=None, wrap_lines=True)
        wanted = st.text_input(
            "Another Python",
            key=f"python_path_{name}",
            placeholder="Path to a Python or a virtual environment",
            help="The agent then runs with this Python, its packages and its google-adk. The choice is saved on this machine.",
        )
        if choice.failed:
            st.error("This Python cannot be used.")
            st.code(literal(choice.failed), language=None, wrap_lines=True)
        with st.container(horizontal=True, gap="xsmall"):
            if st.button("Use this Python", key=f"python_use_{name}", disabled=not wanted):
                return ChoosePython(name=entry.name, python=wanted or "")
            if choice.is_chosen and st.button(
                "Use project Python", key=f"python_own_{name}", type="tertiary"
            ):
                return ChoosePython(name=entry.name)
    return None
