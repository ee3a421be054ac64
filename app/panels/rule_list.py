"""Draws the list of a session's rules: switches, order, what each does, how often it fired and why it last did not."""

from collections.abc import Mapping

import streamlit as st
from pydantic import ValidationError

from app import state
from app.commands import NEW_RULE, Command, SetRules, SwitchRule
from app.kept import slug
from app.labels import literal, safe_label
from app.past_calls import last_misses, times_fired
from app.rule_words import rule_line
from app.rules import duplicated, moved, moved_to_top, put_back, without
from app.scene import Scene
from simulator.environment.injection.rules import InjectionRule

_MENU = ("Duplicate", "Move up", "Move down", "Move to the top", "Delete")


def rule_list(scene: Scene) -> Command | None:
    """Draw the rules; give what was asked for."""
    rules = scene.session.rules
    asked = _deleted(rules) or _replaced()
    if not rules:
        st.caption(
            "No rules yet. A rule speaks before whoever answers the calls of a tool: it fails them, delays them, "
            "changes what they answer. Take one from the fault library, or write your own. It can be switched "
            "while the session runs, and counts from the next call on."
        )
    fired = times_fired(scene.session)
    misses = last_misses(scene.session, scene.waiting_calls())
    for rule in rules:
        asked = _card(rules, rule, fired, misses) or asked
    return asked


def switch(rule: InjectionRule, length: int) -> Command | None:
    """Draw the switch of a rule, which carries its name."""
    key = f"rule_on_{slug(rule.rule_id)}"
    state.follow(key, rule.enabled)
    on = st.toggle(safe_label(rule.rule_id, length), key=key)
    return SwitchRule(rule_id=rule.rule_id, enabled=on) if on != rule.enabled else None


def _card(
    rules: tuple[InjectionRule, ...], rule: InjectionRule, fired: Mapping[str, int], misses: Mapping[str, str]
) -> Command | None:
    name = slug(rule.rule_id)
    edited = state.get("editing_rule") == rule.rule_id
    with st.container(border=True, gap="xxsmall", key=f"{'rule_edited' if edited else 'rule'}_{name}"):
        with st.container(horizontal=True, vertical_alignment="center", gap="xsmall", wrap=False):
            asked = switch(rule, 28)
            st.space("stretch")
            if count := fired.get(rule.rule_id, 0):
                st.badge(f"fired {count}\u00d7", color="red")
            if st.button(
                "Edit", key=f"rule_edit_{name}", type="tertiary", icon=":material/edit:", disabled=edited
            ):
                edit(rule.rule_id)
            asked = _menu(rules, rule, name) or asked
        if rule.label:
            st.text(literal(rule.label))
        st.text(literal(rule_line(rule)))
        if rule.enabled and (reason := misses.get(rule.rule_id)):
            st.text(literal(f"Last miss: {reason}"))
    return asked


def edit(rule_id: str = NEW_RULE) -> None:
    """Show the editor for a rule, by default for a new one."""
    state.put("editing_rule", rule_id)
    st.rerun()


def _menu(rules: tuple[InjectionRule, ...], rule: InjectionRule, name: str) -> Command | None:
    chosen = st.menu_button(
        ":material/more_vert:", _MENU, key=f"rule_menu_{name}", type="tertiary", help="More for this rule"
    )
    match chosen:
        case "Duplicate":
            return SetRules(rules=duplicated(rules, rule.rule_id))
        case "Move up":
            return SetRules(rules=moved(rules, rule.rule_id, -1))
        case "Move down":
            return SetRules(rules=moved(rules, rule.rule_id, 1))
        case "Move to the top":
            return SetRules(rules=moved_to_top(rules, rule.rule_id))
        case "Delete":
            state.put("deleted_rules", [rules.index(rule), rule.model_dump(mode="json")])
            return SetRules(rules=without(rules, rule.rule_id))
    return None


def _deleted(rules: tuple[InjectionRule, ...]) -> Command | None:
    """Offer the rule that was deleted last, in this tab, to be put back."""
    kept = state.get("deleted_rules")
    if not kept:
        return None
    try:
        place, rule = int(kept[0]), InjectionRule.model_validate(kept[1])
    except (ValidationError, ValueError, TypeError):  # of an older version of the page
        state.put("deleted_rules", None)
        return None
    with st.container(horizontal=True, vertical_alignment="center", gap="xsmall", key="rule_deleted"):
        st.text(literal(f"Deleted {rule.rule_id}"), width="content")
        undo = st.button("Undo", key="rule_undelete", icon=":material/undo:", type="tertiary")
    if not undo:
        return None
    state.put("deleted_rules", None)
    return SetRules(rules=put_back(rules, rule, place))


def _replaced() -> Command | None:
    """Offer the rules whose place others took to be put back in the place of all that are there now."""
    kept = state.get("replaced_rules")
    if not kept:
        return None
    with st.container(horizontal=True, vertical_alignment="center", gap="xsmall", key="rules_replaced"):
        st.text("Other rules took the place of yours", width="content")
        back = st.button("Put mine back", key="rules_put_back", icon=":material/undo:", type="tertiary")
        away = st.button("Forget them", key="rules_forget", type="tertiary")
    if not (back or away):
        return None
    state.put("replaced_rules", None)
    if away:
        st.rerun()
    return SetRules(rules=tuple(InjectionRule.model_validate(each) for each in kept))
