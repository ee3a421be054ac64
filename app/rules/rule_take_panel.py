"""Draws the ways to take rules into a session: behind its own, or in their place."""

from __future__ import annotations

import streamlit as st

from app.forms.safe_labels import literal
from app.rules.rule_commands import SetRules
from app.rules.rule_exchange import appended, missing_tools
from app.session import page_state
from app.session.commands import Command
from app.session.session_context import SessionContext
from simulator.environment.injection.rules import InjectionRule


def take_in(
    scene: SessionContext, key: str, rules: tuple[InjectionRule, ...], *, empty: bool = True
) -> Command | None:
    """Draw the ways to take rules in, with what this agent lacks for them; return the rules as they then are.

    `empty` says that there is nothing to take where there are no rules.
    """
    if lacks := missing_tools(rules, scene.tools()):
        st.warning("This agent is not known to have the tools:", icon=":material/warning:")
        st.text(literal(", ".join(lacks)))
    now = scene.session.rules
    with st.container(horizontal=True, gap="xsmall"):
        append = st.button(
            "Append" if now else "Take",
            key=f"append_{key}",
            icon=":material/playlist_add:",
            disabled=not rules and empty,
        )
        replace = bool(now) and st.button("Replace mine", key=f"replace_{key}", type="tertiary")
    if append:
        return SetRules(rules=appended(now, rules))
    if replace:
        page_state.put("replaced_rules", [rule.model_dump(mode="json") for rule in now])
        return SetRules(rules=rules)
    return None
