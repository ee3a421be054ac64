"""The editor of one rule: for which calls it is, what it does, and whether it would have fired."""

import streamlit as st

from app import state
from app.argument_paths import schema_paths, value_paths
from app.cast import steers
from app.commands import NEW_RULE, Command, SetRules
from app.fields import Fields
from app.kept import Kept, slug
from app.labels import literal, safe_label
from app.panels.parts import pane
from app.panels.rule_inputs import Inputs
from app.panels.rule_preview import preview
from app.panels.rule_then import then
from app.panels.rule_trials import call_picker, trials
from app.panels.rule_when import Asked, suggest_types, when
from app.past_calls import PastCall, past_calls
from app.rule_form import read_rule, rule_fields
from app.rules import replaced
from app.scene import Scene
from simulator.environment.injection.rules import EVERY_TOOL, InjectionRule
from simulator.jsonvalue import JsonObject

_DRAFTS_READ = 3
"""Drafts of waiting calls of which the places are suggested, where no call is answered yet."""
_TRIED = "tried"
_BASE = "base"


def edited_rule(scene: Scene) -> InjectionRule | str | None:
    """Give the rule that is edited, `NEW_RULE` for one that has no id yet, or None."""
    editing = state.get("editing_rule")
    if editing == NEW_RULE:
        return NEW_RULE
    return next((rule for rule in scene.session.rules if rule.rule_id == editing), None)


def finish_saving(scene: Scene) -> None:
    """Close the editor once its rule is in force; where that failed, what was typed stays."""
    owner = state.get("saving_rule")
    if not owner:
        return
    state.put("saving_rule", None)
    if not state.get("problem"):
        _close(scene, str(owner))


def rule_editor(scene: Scene, edited: InjectionRule | str) -> Command | None:
    """Draw the editor; give the rules with this one as it was saved."""
    rule = edited if isinstance(edited, InjectionRule) else None
    owner = f"rule-of-{rule.rule_id}" if rule else "rule-new"
    kept = Kept(scene.drafts, owner)
    base = _base(kept, rule)
    calls = past_calls(scene.session, scene.waiting_calls())
    fields = rule_fields(kept, base, _likely_tool(scene))
    asked = _asked(scene, fields, calls)
    suggest_types(fields, asked)
    others = [each.rule_id for each in scene.session.rules if each is not rule]
    read = read_rule(fields, others, enabled=rule.enabled if rule else True)
    inputs = Inputs(kept, fields, tried=bool(kept.value(_TRIED)))
    save = _head(scene, rule, owner)
    _summary(inputs, read)
    with pane("rule_editor"):
        _overtaken(rule, base)
        _basics(inputs, scene)
        _section("When")
        when(inputs, asked)
        _section("Then")
        then(inputs, _answer_paths(scene, fields.line("tool"), calls))
        _section("Try it")
        call = call_picker(kept, calls, fields.line("tool"))
        preview(inputs, scene, calls, call, read)
        trials(scene, call, read, rule)
    if not save:
        return None
    if read is None:
        kept.put(_TRIED, True)
        st.rerun()
    state.put("saving_rule", owner)
    state.put("editing_rule", rule.rule_id if rule else NEW_RULE)
    return SetRules(rules=replaced(scene.session.rules, rule.rule_id if rule else None, read))


def _base(kept: Kept, rule: InjectionRule | None) -> InjectionRule | None:
    """Give the rule as it was when its editing began, so that nothing that was typed is lost where it changes meanwhile."""
    if rule is None:
        return None
    written = kept.value(_BASE)
    if written is None:
        kept.put(_BASE, rule.model_dump(mode="json"))
        return rule
    return InjectionRule.model_validate(written)


def _close(scene: Scene, owner: str) -> None:
    """Forget what was typed for a rule, and show the list's companion again."""
    scene.drafts.pop(slug(owner), None)
    for key in [str(key) for key in st.session_state if str(key).endswith(f"_{slug(owner)}")]:
        del st.session_state[key]
    state.put("editing_rule", None)


def _head(scene: Scene, rule: InjectionRule | None, owner: str) -> bool:
    with st.container(
        horizontal=True, vertical_alignment="center", gap="xsmall", wrap=False, key="head_rule_editor"
    ):
        name = f"Edit {safe_label(rule.rule_id, 32)}" if rule else "New rule"
        st.markdown(f"**{name}**", width="content")
        st.space("stretch")
        cancel = st.button("Cancel", key="rule_cancel", type="tertiary")
        save = st.button(
            "Save rule", key="rule_save", icon=":material/check:", type="primary", shortcut="Mod+Enter"
        )
    if cancel:
        _close(scene, owner)
        st.rerun()
    return save


def _summary(inputs: Inputs, read: InjectionRule | None) -> None:
    """Say after a try to save that something is wrong; where, each input says."""
    if read is None and inputs.tried:
        count = len(inputs.fields.problems)
        said = "One thing is" if count == 1 else f"{count} things are"
        with st.container(key="rule_unsaved"):
            st.error(f"The rule was not saved. {said} to be mended below.", icon=":material/error:")


def _overtaken(rule: InjectionRule | None, base: InjectionRule | None) -> None:
    if rule and base and rule.model_copy(update={"enabled": base.enabled}) != base:
        st.warning(
            "The rule was changed meanwhile. Saving puts this in its place.", icon=":material/sync_problem:"
        )


def _section(title: str) -> None:
    st.space("xsmall")
    st.markdown(f"**{title}**")


def _basics(inputs: Inputs, scene: Scene) -> None:
    with st.container(horizontal=True, gap="small", vertical_alignment="top"):
        inputs.suggested(
            "Tool",
            "tool",
            (EVERY_TOOL, *scene.tools()),
            placeholder="Choose a tool, or type its name",
            format_func=lambda name: "Every tool" if name == EVERY_TOOL else literal(name),
            width=220,
        )
        inputs.line("Name", "name", placeholder="named after the tool", width=180)
        inputs.line("Note", "label", placeholder="what it is for")
    if steers(scene.cast, inputs.fields.line("tool")):
        st.warning(
            "No rule can answer this tool: ADK carries it out itself, to steer its own flow. "
            "Put the rule on another tool, or on an agent that is used as a tool.",
            icon=":material/block:",
        )


def _likely_tool(scene: Scene) -> str | None:
    return next((call.tool_name for call in scene.waiting_calls()), None)


def _asked(scene: Scene, fields: Fields, calls: tuple[PastCall, ...]) -> Asked:
    schemas: dict[str, JsonObject] = {
        name: dict(tool.parameters) for name, tool in scene.declarations().items()
    }
    return Asked(fields.line("tool"), schemas, calls, scene.agents())


def _answer_paths(scene: Scene, tool: str, calls: tuple[PastCall, ...]) -> tuple[str, ...]:
    """Suggest places of the tool's answers, by its schema and by what it answered."""
    declared = scene.declarations().get(tool)
    by_schema = schema_paths(dict(declared.response or {})) if declared else {}
    own = [call for call in calls if tool in {call.tool_name, EVERY_TOOL}]
    answered = [call for call in own if not call.waits]
    seen = value_paths(call.response for call in answered or own[:_DRAFTS_READ])
    return tuple(dict.fromkeys((*by_schema, *seen)))
