"""The rules of a session's environment: the list on the left, and beside it the editor or what helps to make rules."""

import streamlit as st

from app.commands import Command
from app.kept import Kept
from app.panels.fault_library import fault_library
from app.panels.parts import pane, pane_head
from app.panels.rule_editor import edited_rule, finish_saving, rule_editor
from app.panels.rule_exchange import rule_exchange
from app.panels.rule_list import edit, rule_list
from app.panels.rule_trials import call_picker, trials
from app.past_calls import past_calls
from app.scene import Scene

COLUMNS = (1, 1.65)
SIDES = ("Fault library", "Try it", "Sets and files")


def rules_tab(scene: Scene) -> Command | None:
    """Draw the rules; give what was asked for."""
    finish_saving(scene)
    edited = edited_rule(scene)
    left, right = st.columns(COLUMNS, gap="small")
    with right:
        asked = rule_editor(scene, edited) if edited is not None else _beside(scene)
    with left:
        _head(scene)
        with pane("rules"):
            return rule_list(scene) or asked


def _head(scene: Scene) -> None:
    with st.container(
        horizontal=True, vertical_alignment="center", gap="xsmall", wrap=False, key="head_rules"
    ):
        st.markdown("**Rules**", width="content")
        if scene.session.rules:
            on = sum(rule.enabled for rule in scene.session.rules)
            st.caption(f"{on} of {len(scene.session.rules)} on", width="content")
        st.space("stretch")
        if st.button("New rule", key="rule_add", icon=":material/add:"):
            edit()


def _beside(scene: Scene) -> Command | None:
    side = pane_head("Make and test", SIDES, "rules_side")
    with pane("rules_side"):
        match side:
            case "Fault library":
                return fault_library(scene)
            case "Sets and files":
                return rule_exchange(scene)
            case _:
                _try(scene)
    return None


def _try(scene: Scene) -> None:
    st.caption("Would the rules have fired for a call? If not, why?")
    calls = past_calls(scene.session, scene.waiting_calls())
    trials(scene, call_picker(Kept(scene.drafts, "rules-try"), calls))
