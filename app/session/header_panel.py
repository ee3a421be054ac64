"""The line above the panes: what session this is, how it stands, and what can be done with it as a whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from app.forms.common_panel import badge
from app.forms.safe_labels import Badge, literal, safe_label
from app.live.live_sessions import LiveSession, title
from app.session import page_state
from app.session.context_fold_panel import show_context
from app.session.page_commands import Asked, Show
from app.session.timeline_view import status, step_words, steps_of
from simulator.facts import EVERY
from simulator.session.commands import Redo, SetPlayer, StopTurn, Undo
from simulator.session.model import SessionState

if TYPE_CHECKING:
    from simulator.runtime import SimulationView


def header(view: SimulationView, live: LiveSession, *, has_branches: bool = False) -> Asked | Show | None:
    """Draw the header; return what was clicked. The way to the branches is there where the session has several."""
    with st.container(
        horizontal=True, vertical_alignment="center", gap="xsmall", key="session_header", wrap=False
    ):
        with st.container(key="session_title", width="content"):
            st.text(literal(title(view.session)), wrap=False)
        for shown in _badges(view, live):
            badge(shown)
        _reports(view.problems)
        st.space("stretch")
        asked = _actions(view, has_branches=has_branches)
        show_context(live)
        _about(view)
    return asked


def clicked_step() -> Asked | None:
    """Return the step back or forth that was clicked, before the header is drawn."""
    if st.session_state.get("undo_step"):
        return Undo()
    return Redo() if st.session_state.get("redo_step") else None


def _badges(view: SimulationView, live: LiveSession) -> tuple[Badge, ...]:
    session = view.session
    return (
        status(view, by_script=live.plays_script),
        Badge(text=safe_label(session.agent_name, 28), color="gray", icon=":material/smart_toy:"),
    )


def _about(view: SimulationView) -> None:
    """Draw what one looks up about a session now and then."""
    with st.popover("About this session", icon=":material/more_vert:", type="tertiary", key="session_menu"):
        st.caption(f"{steps_of(view.session)} in the timeline")
        st.caption("Session ID")
        st.text(literal(view.session.session_id))


def _reports(problems: tuple[str, ...]) -> None:
    """Show what parts of the agent reported; every word of it comes from outside."""
    if problems:
        counted = f"{len(problems)} note{'' if len(problems) == 1 else 's'}"
        with st.popover(counted, icon=":material/warning:", type="tertiary", key="notes"):
            for text in problems:
                st.text(literal(text))


def _steps(view: SimulationView) -> Asked | None:
    """Draw the ways back and forth, each with what it takes back or brings back."""
    asked: Asked | None = None
    back, forth = view.undoes, view.redoes
    if st.button(
        "Undo",
        key="undo_step",
        type="tertiary",
        icon=":material/undo:",
        disabled=back is None,
        help=f"Undo {step_words(back)}, and everything that followed from it. Nothing is deleted."
        if back
        else None,
    ):
        asked = Undo()
    if st.button(
        "Redo",
        key="redo_step",
        type="tertiary",
        icon=":material/redo:",
        disabled=forth is None,
        help=f"Redo {step_words(forth)}" if forth else None,
    ):
        asked = Redo()
    return asked


def _actions(view: SimulationView, *, has_branches: bool) -> Asked | Show | None:
    completed = view.session.state is SessionState.COMPLETED
    # What comes and goes stands first: a second click on Undo finds it where it was.
    asked: Asked | Show | None = _auto(view)
    if has_branches and st.button(
        "Branches",
        key="open_branches",
        type="tertiary",
        icon=":material/alt_route:",
        help="View and compare the branches of this session, or switch to another one",
    ):
        asked = Show(view="branches")
    if (view.session.is_running or view.running) and st.button(
        "Stop",
        key="stop_turn",
        icon=":material/stop_circle:",
        help="End this turn here. Its steps stay in the timeline.",
    ):
        asked = StopTurn()
    asked = _steps(view) or asked
    if st.button(
        "Environment",
        key="open_environment",
        icon=":material/tune:",
        help="Configure tool responses: rules, faults and more. The session keeps running.",
    ):
        asked = Show(view="environment")
    if st.button(
        "Export",
        key="open_export",
        icon=":material/download:",
        type="primary" if completed else "secondary",
        disabled=not view.session.turns,
        help=None
        if completed
        else "A golden trace ends with the agent's final response. Until then, you can download the session as a script.",
    ):
        asked = Show(view="export")
    return asked


def _auto(view: SimulationView) -> SetPlayer | None:
    """Draw the switch with which a session goes on by itself; a tool that has a player of its own keeps it."""
    is_on = view.session.seats.of_tool(EVERY) == "auto"
    page_state.follow("auto_switch", is_on)
    wanted = st.toggle(
        "Auto",
        key="auto_switch",
        help="Answers tool calls automatically. Asks you only if a rule says so, on a contradiction, or when a "
        "call is unknown. Tools with their own player under Seats keep it.",
    )
    if wanted == is_on:
        return None
    return SetPlayer(seat="tool", target=EVERY, player="auto" if wanted else "person")
