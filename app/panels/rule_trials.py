"""Draws whether the rules would have fired for a call of the session, and why not."""

from collections.abc import Sequence

import streamlit as st

from app.kept import Kept
from app.labels import literal, safe_label
from app.past_calls import PastCall
from app.rules import replaced
from app.scene import Scene
from simulator.environment.injection.rules import EVERY_TOOL, InjectionRule

_SHOWN = 100
_CALL = "try_call"


def call_picker(kept: Kept, calls: Sequence[PastCall], tool: str = "") -> PastCall | None:
    """Draw the choice of a call, the newest first; give the chosen one. Those of `tool` come before others."""
    listed = sorted(
        calls[-_SHOWN:], key=lambda call: (tool not in {call.tool_name, EVERY_TOOL}, -call.number)
    )
    if not listed:
        st.caption("Once tools were called, you see here what this rule would have done to each call.")
        return None
    by_id = {call.call_id: call for call in listed}
    if kept.value(_CALL) not in by_id:
        kept.put(_CALL, listed[0].call_id)
    chosen = st.selectbox(
        "Call of this session",
        list(by_id),
        format_func=lambda call_id: literal(by_id[call_id].words),
        key=kept.widget(_CALL, listed[0].call_id),
    )
    return by_id[chosen]


def trials(
    scene: Scene,
    call: PastCall | None,
    read: InjectionRule | None = None,
    edited: InjectionRule | None = None,
) -> None:
    """Draw what each rule says about the call, nearest first; `read` stands in the place of the one that is edited."""
    if call is None:
        return
    rules = scene.session.rules
    if read is not None:
        rules = replaced(rules, edited.rule_id if edited else None, read)
    if not rules:
        st.caption("There is no rule to try.")
        return
    try:
        found = scene.live.simulation.environment.try_rules(rules, call.place)
    except ValueError as error:  # it was answered, or undone, a moment ago
        st.text(literal(str(error)))
        return
    if read is not None:  # the one that is edited first: it is what the person looks at
        found = tuple(sorted(found, key=lambda each: each.rule_id != read.rule_id))
    with st.container(gap="xsmall", key="rule_trials"):
        for each in found:
            with st.container(horizontal=True, gap="xsmall", vertical_alignment="center"):
                if each.fired:
                    st.badge("would fire", icon=":material/bolt:", color="red")
                else:
                    st.badge("would not", color="gray")
                st.markdown(f"**{safe_label(each.rule_id, 40)}**", width="content")
                if each.reason:
                    st.text(literal(each.reason), width="content")
    st.caption("Each rule is tried as if it spoke first.")
