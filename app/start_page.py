"""The page without a session: gathers what the start panel shows, and carries out what it gives back."""

from __future__ import annotations

import logging

import streamlit as st

from app import state
from app.agents import catalogue, load_in_background
from app.cast import cast_of
from app.commands import ChooseAgent, StartSession, TryAgain
from app.opening import open_session, unreachable
from app.panels.parts import problem
from app.panels.start import Choice, start
from simulator.agents import AgentCatalogue, AgentEntry, AgentSettingsError

LOOK_AGAIN_SECONDS = 0.4
LOOKS_BEFORE_LOADING = 4
_LOG = logging.getLogger(__name__)


def start_page() -> None:
    """Draw the start page."""
    if state.session_id():
        st.info("That session is no longer on this server. Open another one, or start anew.")
    try:
        agents = catalogue()
    except AgentSettingsError as error:
        problem("The studio was started with an option that it does not know.", str(error))
        return
    entries = tuple(sorted(agents.entries(), key=lambda entry: entry.state == "failed"))
    chosen = _chosen(entries)
    failed = state.get("problem")
    match start(entries, chosen, _choice(chosen), str(failed) if failed else None):
        case ChooseAgent(name=name):
            state.put("agent", name)
            state.put("problem", None)
            st.rerun()
        case TryAgain():
            agents.refresh()
            st.rerun()
        case StartSession() as asked:
            _open(agents, asked)
    unread = sum(entry.state == "unread" for entry in entries)
    if unread:
        st.fragment(_look_again, run_every=LOOK_AGAIN_SECONDS)(agents, unread)


def _look_again(agents: AgentCatalogue, unread_before: int) -> None:
    """Begin to load the agents, and draw the page anew when another one was loaded, or failed to.

    At first the browser has not drawn the page yet, and importing ADK would keep its parts from it for seconds.
    """
    looked = int(state.get("looked") or 0)
    if looked >= LOOKS_BEFORE_LOADING:
        load_in_background(agents)
    state.put("looked", looked + 1)
    if sum(entry.state == "unread" for entry in agents.entries()) != unread_before:
        st.rerun()


def _chosen(entries: tuple[AgentEntry, ...]) -> AgentEntry | None:
    usable = [entry for entry in entries if entry.state != "failed"]
    wanted = state.get("agent")
    return next((entry for entry in usable if entry.name == wanted), next(iter(usable), None))


def _choice(chosen: AgentEntry | None) -> Choice:
    if chosen is None or chosen.config is None:
        return Choice()
    return Choice(cast=cast_of(chosen.config.root_agent), without_model=unreachable(chosen.config))


def _open(agents: AgentCatalogue, asked: StartSession) -> None:
    """Open the session and go to it; keep what went wrong for the next run."""
    try:
        with st.spinner("Opening the session"):
            live = open_session(asked.form, agents.config(asked.form.agent))
    except ValueError as error:  # a field, the agent or the registry; nothing was opened
        state.put("problem", str(error))
    except Exception as error:  # noqa: BLE001 - the page's edge: an agent's own code may raise anything
        _LOG.exception("A session was not opened")
        state.put("problem", f"{type(error).__name__}: {error}")
    else:
        state.put("agent", asked.form.agent)
        state.go_to(live.session_id)
    st.rerun()
