"""Which processes of agents run and which Python runs an agent, on the start page: each can be started anew, or by another Python, which is kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import streamlit as st

from app.forms.safe_labels import literal, safe_label
from app.forms.widget_store import slug
from simulator.agents import AgentEntry
from simulator.base.frozen_value import Value
from simulator.kernel.kernel_processes import IDLE_SECONDS, AgentProcess


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
            use = st.button("Use this Python", key=f"python_use_{name}")
            if use and wanted:
                return ChoosePython(name=entry.name, python=wanted)
            if choice.is_chosen and st.button(
                "Use project Python", key=f"python_own_{name}", type="tertiary"
            ):
                return ChoosePython(name=entry.name)
        if use:
            st.caption("Enter the path of a Python or a virtual environment.")
    return None


_MEGABYTE = 1_000_000


class RestartProcess(Value):
    """Start the process of an agent anew; `key` is that of an `AgentProcess`."""

    key: str


def agent_processes_panel(processes: Callable[[], Sequence[AgentProcess]]) -> RestartProcess | None:
    """Draw them, once somebody looks; return which one shall be started anew."""
    body = st.expander("Agent processes", type="compact", key="agent_processes", on_change="rerun")
    if not body.open:
        return None
    with body:
        found = processes()
        st.caption(
            f"Each agent runs in its own process. A process that is unused for {IDLE_SECONDS / 60:.0f} minutes "
            "stops, or earlier if memory is low. Its sessions continue in a new process at their next step."
        )
        if not found:
            st.caption(
                "No processes running. One starts when an agent is loaded, or when a session needs it."
            )
            return None
        return next((asked for one in found if (asked := _row(one)) is not None), None)


def _row(one: AgentProcess) -> RestartProcess | None:
    with st.container(border=True, key=f"agent_process_{slug(one.agent)}_{one.process_id}", gap="xxsmall"):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(f"**{safe_label(one.agent)}**", width="content")
            st.space("stretch")
            clicked = st.button(
                "Restart with new code" if one.new_code else "Restart",
                type="primary" if one.new_code else "secondary",
                key=f"restart_process_{one.key}",
                icon=":material/restart_alt:",
                help="Restarts the process with the agent's current code. Its sessions continue there. No model or tool runs again.",
            )
        if one.new_code:
            st.caption("The agent's files have changed since it was loaded.")
        st.caption(f"{_doing(one)} · {_sessions(one.sessions)} · {one.memory / _MEGABYTE:,.0f} MB")
        st.caption(
            f"Python {safe_label(one.python_version)} · google-adk {safe_label(one.adk)} · process {one.process_id}"
        )
        st.code(literal(one.python), language=None, wrap_lines=True)
    return RestartProcess(key=one.key) if clicked else None


def _doing(one: AgentProcess) -> str:
    if one.busy:
        return "Busy"
    minutes = int(one.idle // 60)
    return "Idle" if not minutes else f"Idle for {minutes} min"


def _sessions(number: int) -> str:
    return "1 session" if number == 1 else f"{number or 'no'} sessions"
