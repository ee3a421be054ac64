"""The rules and the seats of a session, to read."""

from __future__ import annotations

import streamlit as st

from app.forms.safe_labels import literal, safe_label
from app.forms.widget_store import slug
from app.live.player_names import AGENT_PLAYERS, PLAYERS
from app.live.rule_text import fired_color, rule_line
from app.session.past_calls import times_fired
from app.session.session_context import SessionContext
from app.session.user_form import USER_PLAYERS
from simulator.facts import EVERY

_A_PERSON = "Person"


def rules_to_read(scene: SessionContext) -> None:
    """Draw the rules in their order, with how often each fired."""
    rules = scene.session.rules
    if not rules:
        st.caption("No rules.")
    fired = times_fired(scene.session)
    for rule in rules:
        with st.container(border=True, gap="xxsmall", key=f"rule_{slug(rule.rule_id)}"):
            with st.container(horizontal=True, vertical_alignment="center", gap="xsmall"):
                st.badge(safe_label(rule.rule_id, 32), color="gray")
                if not rule.enabled:
                    st.badge("off", color="gray", icon=":material/toggle_off:")
                if count := fired.get(rule.rule_id, 0):
                    st.badge(f"{count}\u00d7", color=fired_color(rule), help="Times fired in this session")
            st.text(literal(rule_line(rule)))


def seats_to_read(scene: SessionContext) -> None:
    """Draw who plays."""
    seats, user = scene.session.seats, scene.view.user.seat.player
    st.caption("User messages come from")
    st.text(literal(_A_PERSON if user == "person" else USER_PLAYERS[user]))
    st.caption("Agent responses come from")
    for name in scene.agents() or (EVERY,):
        player = seats.of_agent(name)
        st.text(literal(f"{_named(name)}: {_A_PERSON if player == 'person' else AGENT_PLAYERS[player]}"))
    st.caption("Tool calls are answered by (if no rule answers)")
    for name in (EVERY, *scene.tools()):
        of_tool = seats.of_tool(name)
        st.text(literal(f"{_named(name)}: {_A_PERSON if of_tool == 'person' else PLAYERS[of_tool].name}"))


def _named(name: str) -> str:
    return "All others" if name == EVERY else name
