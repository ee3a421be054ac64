"""Draws the held message of the user's player, or why there is none, with the ways to continue or to read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from app.forms.safe_labels import literal
from app.forms.typed_json import show_json
from app.session.user_form import seat_words, text_and_files
from simulator.session.adk_event_fields import message_text
from simulator.session.commands import GoOn, SetUser

if TYPE_CHECKING:
    from simulator.runtime import SimulationView

_STATUSES = {
    "success": ("Held for you", "orange"),
    "turn_limit_reached": ("Limit reached", "gray"),
    "stop_signal_detected": ("Finished", "green"),
    "no_message_generated": ("No message", "gray"),
    "failed": ("Failed", "red"),
    "stopped": ("Stopped", "gray"),
}


def held_message(view: SimulationView) -> GoOn | SetUser | None:
    """Draw it where somebody else speaks for the user; return the wish that they go on, or that a person takes over."""
    seat = view.user.seat
    if seat.player == "person":
        return None
    with st.container(border=True, gap="xsmall", key="user_speaks"):
        proposed = seat.proposed
        if proposed is not None:
            text, color = _STATUSES[proposed.status]
            st.badge(text, color=color, icon=":material/record_voice_over:")  # type: ignore[arg-type] # from the table above
        st.caption(seat_words(seat))
        if view.user.words:
            st.text(literal(view.user.words))
        plan = str((seat.scenario or {}).get("conversation_plan") or "")
        if plan:
            st.caption("Plan")
            st.text(literal(plan))
        with st.container(horizontal=True, gap="xsmall"):
            goes_on = view.user.may_go_on and st.button(
                "Continue", key="user_go_on", icon=":material/play_arrow:"
            )
            takes = st.button(
                "Take over",
                key="user_take_over",
                type="tertiary",
                icon=":material/front_hand:",
                help="You play the user from now on. You can change this under Seats.",
            )
    if goes_on:
        return GoOn()
    return SetUser(player="person") if takes else None


def held_to_read(view: SimulationView) -> bool:
    """Draw the same for somebody who may only look, with the message that waits; False where there is nothing to see."""
    seat = view.user.seat
    if seat.ended:
        st.success("The conversation has ended.", icon=":material/task_alt:")
        return True
    if seat.player == "person":
        return False
    with st.container(border=True, gap="xsmall", key="user_speaks"):
        proposed = seat.proposed
        if proposed is not None:
            text, color = _STATUSES[proposed.status]
            shown = "Held for its owner" if proposed.status == "success" else text
            st.badge(shown, color=color, icon=":material/record_voice_over:")  # type: ignore[arg-type] # from the table above
        st.caption(seat_words(seat, "its owner"))
        if view.user.words:
            st.text(literal(view.user.words))
        held = view.user.held
        if held is not None:
            st.caption("Next user message")
            if text_and_files(held) is None:
                st.code(show_json(held), language="json", wrap_lines=True)
            else:
                st.text(literal(message_text(held)))
    return True
