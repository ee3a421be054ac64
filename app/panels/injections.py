"""The injection rules in a session's right pane: quick switches, why none answered, and the way to their own page."""

import streamlit as st

from app.commands import NEW_RULE, Command, OpenEnvironment
from app.kept import slug
from app.labels import literal, safe_label
from app.panels.rule_list import switch
from app.past_calls import times_fired, unanswered
from app.rule_words import rule_line
from app.scene import Scene
from simulator.environment.injection.rules import InjectionRule
from simulator.seats.requests import ToolRequest

_MOST_REASONS = 20


def injections(scene: Scene) -> Command | None:
    """Draw the rules; give what was asked for."""
    asked = _ways(scene)
    if not scene.session.rules:
        st.caption(
            "No rules yet. A rule speaks before whoever answers the calls of a tool: it fails them, delays them, "
            "changes what they answer. It can be switched while the session runs, and counts from the next call on."
        )
    for call in scene.waiting_calls():
        _reasons(call, scene.session.rules)
    fired = times_fired(scene.session)
    for rule in scene.session.rules:
        asked = _rule(rule, fired.get(rule.rule_id, 0)) or asked
    return asked


def _ways(scene: Scene) -> Command | None:
    asked: Command | None = None
    with st.container(horizontal=True, gap="xsmall", vertical_alignment="center"):
        if st.button("Add rule", key="rule_add", icon=":material/add:"):
            asked = OpenEnvironment(rule=NEW_RULE)
        words = "All rules" if scene.session.rules else "Fault library"
        if st.button(words, key="rules_open", type="tertiary", icon=":material/tune:"):
            asked = OpenEnvironment()
    return asked


def _rule(rule: InjectionRule, fired: int) -> Command | None:
    name = slug(rule.rule_id)
    with st.container(border=True, gap="xxsmall", key=f"rule_{name}"):
        with st.container(horizontal=True, vertical_alignment="center", gap="xsmall", wrap=False):
            asked = switch(rule, 22)
            st.space("stretch")
            if fired:
                st.badge(f"{fired}\u00d7", color="red", help="How often it fired in this session")
            if st.button(
                ":material/edit:",
                key=f"rule_edit_{name}",
                type="tertiary",
                help=f"Edit {safe_label(rule.rule_id, 24)}",
            ):
                asked = OpenEnvironment(rule=rule.rule_id)
        st.text(literal(rule_line(rule)))
    return asked


def _reasons(call: ToolRequest, rules: tuple[InjectionRule, ...]) -> None:
    """Say why no rule answered a call that waits, nearest first."""
    misses = unanswered(call, rules)
    if not misses:
        return
    with st.container(border=True, gap="xxsmall", key=f"misses_{slug(call.key)}"):
        st.caption(f"Why no rule answered {safe_label(call.tool_name, 32)}, nearest first")
        for miss in misses[:_MOST_REASONS]:
            st.text(literal(f"{miss.rule_id}: {miss.reason}"))
        if len(misses) > _MOST_REASONS:
            st.caption(f"and {len(misses) - _MOST_REASONS} more, listed beside the call")
