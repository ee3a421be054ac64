"""The rules of a session's environment: the list on the left, and beside it the editor or what helps to make rules."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import streamlit as st
from pydantic import ValidationError

from app.forms.common_panel import pane, pane_head
from app.forms.field_widgets import suggested
from app.forms.safe_labels import literal, safe_label
from app.forms.widget_store import KeptInputs, slug
from app.live.rule_text import NO_RULES, fired_color, rule_line, tool_words
from app.rules.rule_editor_panel import call_picker, edited_rule, finish_saving, reopen, rule_editor, trials
from app.rules.rule_exchange_panel import rule_exchange
from app.rules.rule_list import duplicated, moved, moved_to_top, put_back, unused_name, without
from app.session import page_state
from app.session.named_view_widgets import named_views
from app.session.page_commands import NEW_RULE, Asked, Show
from app.session.past_calls import last_misses, past_calls, times_fired
from app.session.session_context import SessionContext
from simulator.environment.injection.rule_sets import Fault, search
from simulator.environment.injection.rules import EVERY_TOOL, InjectionRule
from simulator.session.commands import SetRules, SwitchRule

COLUMNS = (1, 1.65)
SIDES = ("Fault library", "Try it", "Sets and files")


def rules_tab(scene: SessionContext) -> Asked | None:
    """Draw the rules; return what was asked for."""
    finish_saving(scene)
    reopen(scene)
    edited = edited_rule(scene)
    left, right = st.columns(COLUMNS, gap="small")
    with right:
        asked = rule_editor(scene, edited) if edited is not None else _beside(scene)
    with left:
        _head(scene)
        with pane("rules"):
            return rule_list(scene) or asked


def close_rule_here(scene: SessionContext) -> None:
    """Close the editor over the session once its rule is in force, or was given up; call it before anything is drawn."""
    finish_saving(scene)
    if page_state.get("rule_closed"):
        page_state.put("rule_closed", None)
        st.session_state[page_state.RULE_HERE] = False


def rule_here(scene: SessionContext) -> Asked | None:
    """Draw the editor of a new rule over the session; once it is added, `added_line` names it."""
    asked = rule_editor(scene, NEW_RULE)
    if asked is not None:
        page_state.put("added_rule", asked.rules[-1].rule_id)
    return asked


def _head(scene: SessionContext) -> None:
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


def _beside(scene: SessionContext) -> Asked | None:
    side = pane_head("Add and test", SIDES, "rules_side", partial(named_views, name="part"))
    with pane("rules_side"):
        match side:
            case "Fault library":
                return fault_library(scene)
            case "Sets and files":
                return rule_exchange(scene)
            case _:
                _try(scene)
    return None


def _try(scene: SessionContext) -> None:
    st.caption("See which rules would fire for a call, and why others would not.")
    calls = past_calls(scene.session, scene.waiting_calls())
    trials(scene, call_picker(KeptInputs(scene.drafts, "rules-try"), calls))


# Draws the list of a session's rules: switches, order, what each does, how often it fired and why it last did not.


_MENU = ("Duplicate", "Move up", "Move down", "Move to top", "Delete")


def rule_list(scene: SessionContext) -> Asked | None:
    """Draw the rules; return what was asked for."""
    rules = scene.session.rules
    asked = _deleted(rules) or _replaced()
    if not rules:
        st.caption(NO_RULES)
    fired = times_fired(scene.session)
    misses = last_misses(scene.session, scene.waiting_calls())
    for rule in rules:
        asked = _card(rules, rule, fired, misses) or asked
    return asked


def switch(rule: InjectionRule, length: int) -> Asked | None:
    """Draw the switch of a rule, which carries its name."""
    key = f"rule_on_{slug(rule.rule_id)}"
    page_state.follow(key, rule.enabled)
    on = st.toggle(safe_label(rule.rule_id, length), key=key)
    return SwitchRule(rule_id=rule.rule_id, enabled=on) if on != rule.enabled else None


def _card(
    rules: tuple[InjectionRule, ...], rule: InjectionRule, fired: Mapping[str, int], misses: Mapping[str, str]
) -> Asked | None:
    name = slug(rule.rule_id)
    edited = page_state.get("editing_rule") == rule.rule_id
    with st.container(border=True, gap="xxsmall", key=f"{'rule_edited' if edited else 'rule'}_{name}"):
        with st.container(horizontal=True, vertical_alignment="center", gap="xsmall", wrap=False):
            asked = switch(rule, 28)
            st.space("stretch")
            if count := fired.get(rule.rule_id, 0):
                st.badge(f"fired {count}\u00d7", color=fired_color(rule))
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
    page_state.put("editing_rule", rule_id)
    st.rerun()


def _menu(rules: tuple[InjectionRule, ...], rule: InjectionRule, name: str) -> Asked | None:
    chosen = st.menu_button(
        ":material/more_vert:", _MENU, key=f"rule_menu_{name}", type="tertiary", help="More actions"
    )
    match chosen:
        case "Duplicate":
            return SetRules(rules=duplicated(rules, rule.rule_id))
        case "Move up":
            return SetRules(rules=moved(rules, rule.rule_id, -1))
        case "Move down":
            return SetRules(rules=moved(rules, rule.rule_id, 1))
        case "Move to top":
            return SetRules(rules=moved_to_top(rules, rule.rule_id))
        case "Delete":
            page_state.put("deleted_rules", [rules.index(rule), rule.model_dump(mode="json")])
            return SetRules(rules=without(rules, rule.rule_id))
    return None


def _deleted(rules: tuple[InjectionRule, ...]) -> Asked | None:
    """Offer the rule that was deleted last, in this tab, to be put back."""
    kept = page_state.get("deleted_rules")
    if not kept:
        return None
    try:
        place, rule = int(kept[0]), InjectionRule.model_validate(kept[1])
    except (ValidationError, ValueError, TypeError):  # of an older version of the page
        page_state.put("deleted_rules", None)
        return None
    with st.container(horizontal=True, vertical_alignment="center", gap="xsmall", key="rule_deleted"):
        st.text(literal(f"Deleted {rule.rule_id}"), width="content")
        undo = st.button("Undo", key="rule_undelete", icon=":material/undo:", type="tertiary")
    if not undo:
        return None
    page_state.put("deleted_rules", None)
    return SetRules(rules=put_back(rules, rule, place))


def _replaced() -> Asked | None:
    """Offer the rules whose place others took to be put back in the place of all that are there now."""
    kept = page_state.get("replaced_rules")
    if not kept:
        return None
    with st.container(horizontal=True, vertical_alignment="center", gap="xsmall", key="rules_replaced"):
        st.text("Your rules were replaced", width="content")
        back = st.button("Restore mine", key="rules_put_back", icon=":material/undo:", type="tertiary")
        away = st.button("Discard mine", key="rules_forget", type="tertiary")
    if not (back or away):
        return None
    page_state.put("replaced_rules", None)
    if away:
        st.rerun()
    return SetRules(rules=tuple(InjectionRule.model_validate(each) for each in kept))


# The fault library: what can go wrong with a tool, found by words or by kind, and given to a tool with one click.


CATEGORIES = {
    "http": "HTTP errors",
    "exceptions": "Exceptions",
    "time": "Timing",
    "patterns": "Several calls",
    "answers": "Responses",
    "distortions": "Changed responses",
    "hostile": "Hostile text",
    "people": "Ask you",
}
PAGE = 18
"""How many faults are drawn at first, and how many more with each click."""

_ALL = "all"


def fault_library(scene: SessionContext, *, stays: bool = False) -> Asked | None:
    """Draw the library; return the rules with the one that was added.

    Args:
        scene: The session.
        stays: Whether what is added is named where the library is opened from, and not shown in the editor.
    """
    kept = KeptInputs(scene.drafts, "fault-library")
    tool = _tool(scene, kept)
    found = _found(kept)
    shown = PAGE * (1 + int(page_state.get("faults_shown") or 0))
    if not found:
        st.caption("No faults match. Try other words, or all kinds.")
    asked: Asked | None = None
    for fault in found[:shown]:
        asked = _fault_card(scene, fault, tool, stays=stays) or asked
    if len(found) > shown and st.button(
        f"Show more \u00b7 {len(found) - shown} left", key="faults_more", icon=":material/expand_more:"
    ):
        page_state.put("faults_shown", int(page_state.get("faults_shown") or 0) + 1)
        st.rerun()
    return asked


def _tool(scene: SessionContext, kept: KeptInputs) -> str:
    tools = scene.tools()
    likely = next((call.tool_name for call in scene.waiting_calls()), tools[0] if tools else EVERY_TOOL)
    with st.container(horizontal=True, gap="small", vertical_alignment="top"):
        st.text_input(
            "Search faults",
            key=kept.widget("search", ""),
            live=True,
            placeholder="timeout, rate limit, prompt injection ...",
            icon=":material/search:",
        )
        with st.container(gap="xxsmall", width=220):
            st.text_input("Add to tool", key=kept.widget("tool", likely))
            suggested(kept, "tool", "Add to tool", (EVERY_TOOL, *tools), tool_words, most=0)
    return str(kept.value("tool", likely) or "").strip()


def _found(kept: KeptInputs) -> tuple[Fault, ...]:
    words = {_ALL: "All kinds", **CATEGORIES}
    chosen = st.pills(
        "Kind of fault",
        list(words),
        format_func=words.__getitem__,
        required=True,
        key=kept.widget("kind", _ALL),
        label_visibility="collapsed",
    )
    found = search(str(kept.value("search", "") or ""))
    return tuple(fault for fault in found if chosen in {_ALL, fault.category})


def _fault_card(scene: SessionContext, fault: Fault, tool: str, *, stays: bool) -> Asked | None:
    with st.container(border=True, gap="xxsmall", key=f"fault_{fault.name}"):
        with st.container(horizontal=True, vertical_alignment="center", gap="xsmall", wrap=False):
            st.markdown(f"**{safe_label(fault.title)}**", width="content")
            st.badge(CATEGORIES.get(fault.category, safe_label(fault.category)), color="gray")
            st.space("stretch")
            added = st.button(
                "Add",
                key=f"fault_add_{fault.name}",
                icon=":material/add:",
                type="tertiary",
                disabled=not tool,
                help=f"Add to {safe_label(tool)}: {safe_label(fault.title)}"
                if tool
                else "Choose a tool first",
            )
        st.text(literal(fault.description))
    return _added(scene, fault, tool, stays=stays) if added else None


def _added(scene: SessionContext, fault: Fault, tool: str, *, stays: bool) -> Asked:
    rules = scene.session.rules
    taken = {rule.rule_id for rule in rules}
    rule_id = fault.name if fault.name not in taken else unused_name(fault.name, taken)
    page_state.put("added_rule" if stays else "editing_rule", rule_id)
    return SetRules(rules=(*rules, fault.rule(tool, rule_id)))


def added_line(scene: SessionContext) -> Asked | Show | None:
    """Name the rule that was added last out of the library, with the ways to change it and to take it away again."""
    rules = scene.session.rules
    rule = next((each for each in rules if each.rule_id == page_state.get("added_rule")), None)
    if rule is None:
        return None
    with st.container(horizontal=True, vertical_alignment="center", gap="xsmall", key="rule_added"):
        st.markdown(f"Added **{safe_label(rule.label or rule.rule_id, 40)}**", width="content")
        change = st.button("Edit", key="rule_added_edit", type="tertiary", icon=":material/edit:")
        undo = st.button("Undo", key="rule_added_undo", type="tertiary", icon=":material/undo:")
    if not (change or undo):
        return None
    page_state.put("added_rule", None)
    if change:
        return Show(view="environment", tab="Rules", rule=rule.rule_id)
    return SetRules(rules=without(rules, rule.rule_id))
