"""The injection rules of a session: switches that count from the next call on, and a form to write them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import streamlit as st

from app import state
from app.cast import Cast, known_tools
from app.commands import NEW_RULE, Command, SetRules, SwitchRule
from app.drafts import Drafts
from app.kept import Kept, slug
from app.labels import literal, safe_label
from app.panels.parts import problem
from app.rules import (
    RuleForm,
    RuleFormError,
    effect_line,
    form_of,
    moved,
    read_form,
    reasons,
    replaced,
    without,
)
from simulator.environment.rules import MAX_LATENCY_SECONDS, InjectionRule
from simulator.jsonvalue import canonical
from simulator.seats.requests import ModelRequest

if TYPE_CHECKING:
    from simulator.runtime import SimulationView

NEW = NEW_RULE


def injections(view: SimulationView, cast: Cast, drafts: Drafts) -> Command | None:
    """Draw the rules, or the form for one of them; give what was asked for."""
    editing = state.get("editing_rule")
    known = {rule.rule_id for rule in view.session.rules}
    if editing == NEW or editing in known:
        return _form(view, cast, drafts, editing)
    if st.button("Add rule", key="rule_add", icon=":material/add:"):
        state.put("editing_rule", NEW)
        st.rerun()
    if not view.session.rules:
        st.caption(
            "No rules yet. A rule answers the calls of one tool before anybody else does: with an error, or with "
            "a fixed response. It can be switched while the session runs, and counts from the next call on."
        )
    said = reasons(view.pending)
    asked: Command | None = None
    for rule in view.session.rules:
        asked = _rule(view.session.rules, rule, said.get(rule.rule_id, ())) or asked
    return asked


def _rule(rules: tuple[InjectionRule, ...], rule: InjectionRule, said: tuple[str, ...]) -> Command | None:
    name = slug(rule.rule_id)
    asked: Command | None = None
    with st.container(border=True, gap="xxsmall", key=f"rule_{name}"):
        with st.container(horizontal=True, vertical_alignment="center", gap="xsmall", wrap=False):
            key = f"rule_on_{name}"
            state.follow(key, rule.enabled)
            on = st.toggle(safe_label(rule.rule_id, 24), key=key)
            if on != rule.enabled:
                asked = SwitchRule(rule_id=rule.rule_id, enabled=on)
            st.space("stretch")
            asked = _menu(rules, rule, name) or asked
        st.text(literal(f"{rule.tool_name}: {effect_line(rule)}"))
        for reason in said:
            st.text(literal(f"Did not answer the waiting call: {reason}"))
    return asked


def _menu(rules: tuple[InjectionRule, ...], rule: InjectionRule, name: str) -> Command | None:
    match st.menu_button(
        ":material/more_vert:",
        ("Edit", "Move up", "Move down", "Delete"),
        key=f"rule_menu_{name}",
        type="tertiary",
    ):
        case "Edit":
            state.put("editing_rule", rule.rule_id)
            st.rerun()
        case "Move up":
            return SetRules(rules=moved(rules, rule.rule_id, -1))
        case "Move down":
            return SetRules(rules=moved(rules, rule.rule_id, 1))
        case "Delete":
            return SetRules(rules=without(rules, rule.rule_id))
    return None


def _form(view: SimulationView, cast: Cast, drafts: Drafts, editing: str) -> Command | None:
    rules = view.session.rules
    rule = next((each for each in rules if each.rule_id == editing), None)
    initial = form_of(rule) if rule else RuleForm(tool=_likely_tool(view))
    owner = f"rule-{NEW}" if rule is None else f"rule-of-{rule.rule_id}"
    kept = Kept(drafts, owner, "" if rule is None else canonical(rule.model_dump(mode="json")))
    st.markdown("**New rule**" if rule is None else "**Edit rule**")
    form = _fields(kept, initial, _tools(view, cast))
    with st.container(horizontal=True, gap="xsmall"):
        save = st.button("Save rule", key="rule_save", icon=":material/check:")
        cancel = st.button("Cancel", key="rule_cancel", type="tertiary")
    if cancel:
        _close(drafts, owner)
        st.rerun()
    if not save:
        return None
    taken = [each.rule_id for each in rules if each is not rule]
    try:
        written = read_form(form, taken, enabled=rule.enabled if rule else True)
    except RuleFormError as error:
        problem("The rule was not saved.", str(error))
        return None
    _close(drafts, owner)
    return SetRules(rules=replaced(rules, rule.rule_id if rule else None, written))


def _close(drafts: Drafts, owner: str) -> None:
    drafts.pop(slug(owner), None)
    state.put("editing_rule", None)


def _likely_tool(view: SimulationView) -> str:
    return next((each.tool_name for each in view.pending if each.kind == "tool"), "")


def _tools(view: SimulationView, cast: Cast) -> tuple[str, ...]:
    shown = [tool.name for each in view.pending if isinstance(each, ModelRequest) for tool in each.tools]
    return known_tools(cast, view.session, shown)


def _fields(kept: Kept, initial: RuleForm, tools: tuple[str, ...]) -> RuleForm:
    read: dict[str, Any] = {}
    tool = kept.value("tool", initial.tool or None)
    read["tool"] = st.selectbox(
        "Tool",
        list(dict.fromkeys((*tools, *([tool] if tool else ())))),
        index=None,
        format_func=literal,
        key=kept.widget("tool", initial.tool or None),
        accept_new_options=True,
        placeholder="Choose a tool, or type its name",
        on_change="ignore",
    )
    labels = {"error": "Error", "response": "Response"}
    read["effect"] = st.segmented_control(
        "Answer with",
        list(labels),
        format_func=labels.__getitem__,
        required=True,
        key=kept.widget("effect", initial.effect),
    )
    read |= _error(kept, initial) if read["effect"] == "error" else _response(kept, initial)
    read["match"] = st.text_area(
        "Only when the arguments are (JSON object)",
        key=kept.widget("match", initial.match),
        placeholder='{"order_id": "A-1"}',
        help="Each argument that is named here must be equal; leave it empty for every call",
        height=68,
        on_change="ignore",
    )
    read |= _how_often(kept, initial)
    return RuleForm.model_validate({name: value for name, value in read.items() if value is not None})


def _error(kept: Kept, initial: RuleForm) -> dict[str, Any]:
    return {
        "code": st.number_input(
            "Error code", step=1, key=kept.widget("code", initial.code), on_change="ignore"
        ),
        "message": st.text_input(
            "Error message", key=kept.widget("message", initial.message), on_change="ignore"
        ),
    }


def _response(kept: Kept, initial: RuleForm) -> dict[str, Any]:
    return {
        "response": st.text_area(
            "Response (JSON object)",
            key=kept.widget("response", initial.response),
            height=120,
            on_change="ignore",
        )
    }


def _how_often(kept: Kept, initial: RuleForm) -> dict[str, Any]:
    return {
        "chance": st.number_input(
            "Chance %",
            min_value=0.0,
            max_value=100.0,
            step=5.0,
            key=kept.widget("chance", initial.chance),
            on_change="ignore",
        ),
        "latency": st.number_input(
            "Latency (seconds)",
            min_value=0.0,
            max_value=MAX_LATENCY_SECONDS,
            step=0.5,
            key=kept.widget("latency", initial.latency),
            on_change="ignore",
        ),
        "seed": st.text_input(
            "Seed of the chance",
            key=kept.widget("seed", initial.seed),
            placeholder="from the session",
            on_change="ignore",
        ),
        "name": st.text_input(
            "Name",
            key=kept.widget("name", initial.name),
            placeholder="named after the tool",
            on_change="ignore",
        ),
    }
