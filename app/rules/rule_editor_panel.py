"""The editor of one rule: for which calls it is, what it does, and whether it would have fired."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import streamlit as st
from pydantic import JsonValue, ValidationError

from app.forms.common_panel import pane
from app.forms.safe_labels import literal, safe_label
from app.forms.widget_store import KeptInputs, slug, values_of
from app.live.rule_text import tool_words
from app.rules import conditions_panel, effects_panel
from app.rules.argument_paths import CallHints
from app.rules.conditions_panel import read_condition, seed_condition, when
from app.rules.effects_panel import EFFECTS, read_latency, seed_effect, seed_latency, then
from app.rules.rule_inputs_panel import Inputs, Seeds, UnreadableInputError, as_percent, complaints, json_seed
from app.rules.rule_list import replaced, unused_name
from app.rules.rule_preview import Preview, previewed
from app.session import page_state
from app.session.page_commands import NEW_RULE
from app.session.past_calls import PastCall, before, past_calls
from app.session.session_context import SessionContext
from simulator.agents.agent_directory import steers
from simulator.environment.injection.rules import EVERY_TOOL, InjectionRule
from simulator.session.commands import SetRules


def suggest(inputs: Inputs, hints: CallHints) -> None:
    """Let a value that nobody said the type of be of the type that its schema, or an earlier call, has."""
    inputs.hints = hints
    for row in range(int(inputs.get("c:next") or 0)):
        if path := inputs.words(f"c{row}.path"):
            inputs.suggest(f"c{row}.as", hints.type_at(path))


_TRIED = "tried"
_BASE = "base"
_CALL = "try_call"
_BY_PAGE = {_TRIED, _BASE, _CALL}
"""What the page itself keeps among the inputs of a rule."""


def reopen(scene: SessionContext, *, here: bool = False) -> None:
    """Open the editor in which something unsaved was left, once in each tab: the page was loaded again; `here` is over the session."""
    looked: page_state.Flag = "rule_looked_for_here" if here else "rule_looked_for"
    if page_state.get(looked):
        return
    page_state.put(looked, value=True)
    listed = (NEW_RULE, *(rule.rule_id for rule in scene.session.rules))
    unsaved = [each for each in listed if values_of(scene.drafts, _owner(each)).keys() - _BY_PAGE]
    if here and NEW_RULE in unsaved:
        st.session_state[page_state.RULE_HERE] = True
        st.rerun()  # what is drawn already has keys of its own
    if not here and unsaved and not page_state.get("editing_rule"):
        page_state.put("editing_rule", unsaved[0])


def _owner(rule_id: str) -> str:
    return "rule-new" if rule_id == NEW_RULE else f"rule-of-{rule_id}"


def edited_rule(scene: SessionContext) -> InjectionRule | str | None:
    """Return the rule that is edited, `NEW_RULE` for one that has no id yet, or None."""
    editing = page_state.get("editing_rule")
    if editing == NEW_RULE:
        return NEW_RULE
    return next((rule for rule in scene.session.rules if rule.rule_id == editing), None)


def finish_saving(scene: SessionContext) -> None:
    """Close the editor once its rule is in force; where that failed, what was typed stays."""
    owner = page_state.get("saving_rule")
    if not owner:
        return
    page_state.put("saving_rule", None)
    if not page_state.get("problem"):
        _close(scene, str(owner))


def rule_editor(scene: SessionContext, edited: InjectionRule | str) -> SetRules | None:
    """Draw the editor; return the rules with this one as it was saved."""
    rule = edited if isinstance(edited, InjectionRule) else None
    owner = _owner(rule.rule_id if rule else NEW_RULE)
    kept = KeptInputs(scene.drafts, owner)
    base = _base(kept, rule)
    calls = past_calls(scene.session, scene.waiting_calls())
    inputs = rule_inputs(kept, base, next((call.tool_name for call in scene.waiting_calls()), None))
    tool = inputs.words("tool")
    suggest(inputs, CallHints(tool, scene.declarations().get(tool), calls, scene.agents()))
    others = [each.rule_id for each in scene.session.rules if each is not rule]
    read = read_rule(inputs, others, enabled=rule.enabled if rule else True)
    inputs.tried = bool(kept.value(_TRIED))
    save = _head(scene, rule, owner)
    _summary(inputs, read)
    with pane("rule_editor"):
        _overtaken(rule, base)
        _basics(inputs, scene)
        _section("When")
        when(inputs)
        _section("Then")
        then(inputs)
        _section("Try it")
        call = call_picker(kept, calls, tool)
        preview(inputs, scene, calls, call, read)
        trials(scene, call, read, rule)
    if not save:
        return None
    if read is None:
        kept.put(_TRIED, True)
        st.rerun()
    page_state.put("saving_rule", owner)
    page_state.put("editing_rule", rule.rule_id if rule else NEW_RULE)
    return SetRules(rules=replaced(scene.session.rules, rule.rule_id if rule else None, read))


def _base(kept: KeptInputs, rule: InjectionRule | None) -> InjectionRule | None:
    """Return the rule as it was when its editing began, so that nothing that was typed is lost where it changes meanwhile."""
    if rule is None:
        return None
    written = kept.value(_BASE)
    if written is None:
        kept.put(_BASE, rule.model_dump(mode="json"))
        return rule
    return InjectionRule.model_validate(written)


def _close(scene: SessionContext, owner: str) -> None:
    """Forget what was typed for a rule, and show the list's companion again."""
    scene.drafts.pop(slug(owner), None)
    for key in [str(key) for key in st.session_state if str(key).endswith(f"_{slug(owner)}")]:
        del st.session_state[key]
    page_state.put("editing_rule", None)
    page_state.put("rule_closed", value=True)


def _head(scene: SessionContext, rule: InjectionRule | None, owner: str) -> bool:
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
        count = len(inputs.problems)
        found = "1 problem" if count == 1 else f"{count} problems"
        with st.container(key="rule_unsaved"):
            st.error(f"The rule was not saved. Fix {found} below.", icon=":material/error:")


def _overtaken(rule: InjectionRule | None, base: InjectionRule | None) -> None:
    if rule and base and rule.model_copy(update={"enabled": base.enabled}) != base:
        st.warning(
            "This rule was changed while you edited it. Saving overwrites that change.",
            icon=":material/sync_problem:",
        )


def _section(title: str) -> None:
    st.space("xsmall")
    st.markdown(f"**{title}**")


def _basics(inputs: Inputs, scene: SessionContext) -> None:
    with st.container(horizontal=True, gap="small", vertical_alignment="top"):
        inputs.suggested(
            "Tool",
            "tool",
            (EVERY_TOOL, *scene.tools()),
            placeholder="Name of a tool",
            words=tool_words,
            width=220,
        )
        inputs.draw(st.text_input, "Name", "name", placeholder="default: the tool's name", width=180)
        inputs.draw(st.text_input, "Note", "label", placeholder="purpose")
    if steers(scene.directory, inputs.words("tool")):
        st.warning(
            "Rules cannot run on this tool, because ADK runs it itself to control its flow. "
            "Choose another tool, or an agent used as a tool.",
            icon=":material/block:",
        )


# Shows what a rule that is being edited would make of a call: the answer that the agent gets.


def preview(
    inputs: Inputs,
    scene: SessionContext,
    calls: Sequence[PastCall],
    call: PastCall | None,
    read: InjectionRule | None,
) -> None:
    """Draw the preview of what stands in the editor, on a call of the session."""
    if call is None:
        return
    if read is None:
        st.caption("The preview appears when all inputs are valid.")
        return
    shown = previewed(read, call, before(scene.session, calls, call), scene.seed(), scene.world)
    if shown is None:
        return
    with st.container(gap="xsmall", key=inputs.kept.key("preview")):
        _draw(shown)


def _draw(shown: Preview) -> None:
    if shown.problem:
        st.error("The placeholders cannot be filled in for this call.", icon=":material/error:")
        st.text(literal(shown.problem))
        return
    if shown.before is not None:
        left, right = st.columns(2, gap="small")
        with left:
            st.caption("Original response")
            st.code(literal(shown.before), language="json", wrap_lines=True)
        with right:
            st.caption("What the agent gets")
            st.code(literal(shown.after), language="json", wrap_lines=True)
    else:
        st.caption("What the agent gets")
        st.code(literal(shown.after), language="json", wrap_lines=True)
    for note in shown.notes:
        st.text(literal(note))


# Draws whether the rules would have fired for a call of the session, and why not.


_SHOWN = 100


def call_picker(kept: KeptInputs, calls: Sequence[PastCall], tool: str = "") -> PastCall | None:
    """Draw the choice of a call, the newest first; return the chosen one. Those of `tool` come before others."""
    listed = sorted(
        calls[-_SHOWN:], key=lambda call: (tool not in {call.tool_name, EVERY_TOOL}, -call.number)
    )
    if not listed:
        st.caption("No tool calls yet. After the first call, you can try rules on it here.")
        return None
    by_id = {call.call_id: call for call in listed}
    if kept.value(_CALL) not in by_id:
        kept.put(_CALL, listed[0].call_id)
    chosen = st.selectbox(
        "Call in this session",
        list(by_id),
        format_func=lambda call_id: literal(by_id[call_id].words),
        key=kept.widget(_CALL, listed[0].call_id),
    )
    return by_id[chosen]


def trials(
    scene: SessionContext,
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
        st.caption("No rules to try.")
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
                    st.badge("would not fire", color="gray")
                st.markdown(f"**{safe_label(each.rule_id, 40)}**", width="content")
                if each.reason:
                    st.text(literal(each.reason), width="content")
    st.caption("Each rule is tried as if no other rule ran before it.")


# ---------------------------------------------------------------- a rule as inputs, and back


_CHANCE = "Enter a probability from 0 to 100 %."
_DEFAULTS: Seeds = {
    **conditions_panel.DEFAULTS,
    **effects_panel.DEFAULTS,
    "name": "",
    "label": "",
    "tool": None,
    "match": "",
    "chance": 100.0,
    "seed": "",
}
"""What the inputs of a new rule hold."""


def _seeds_of(rule: InjectionRule) -> Seeds:
    """Return what the inputs hold at first, so that `read_rule` makes the same rule of them."""
    return {
        "name": rule.rule_id,
        "label": rule.label,
        "tool": rule.tool_name,
        **(json_seed("match", rule.match_args) if rule.match_args is not None else {"match": ""}),
        "chance": as_percent(rule.probability),
        "chance:exact": rule.probability,
        "seed": "" if rule.random_seed is None else str(rule.random_seed),
        **seed_condition(rule.when),
        **seed_effect(rule.effect),
        **seed_latency(rule.latency_seconds, rule.latency),
    }


def rule_inputs(kept: KeptInputs, rule: InjectionRule | None, tool: str | None = None) -> Inputs:
    """Return the inputs of the editor for a rule, or for a new one for a tool."""
    return Inputs(kept, _seeds_of(rule) if rule else {"tool": tool}, _DEFAULTS)


def read_rule(inputs: Inputs, taken: Iterable[str], *, enabled: bool = True) -> InjectionRule | None:
    """Make a rule of what was typed.

    Args:
        inputs: The inputs; what is wrong with them is among their problems after.
        taken: The ids of the other rules; a rule without a name gets an id of its own, a doubled name is refused.
        enabled: Whether the rule is switched on.

    Returns:
        The rule, or None where an input says nothing usable.
    """
    inputs.problems.clear()
    inputs.missing.clear()
    read: dict[str, Any] = {"enabled": enabled, "label": inputs.words("label")}
    for field, part in _PARTS.items():
        with suppress(UnreadableInputError):
            read[field] = part(inputs)
    with suppress(UnreadableInputError):
        read["rule_id"] = _name(inputs, set(taken))
    if inputs.problems:
        return None
    read["latency_seconds"], read["latency"] = read["latency"]
    try:
        return InjectionRule(**read)
    except ValidationError as error:
        inputs.problems["name"] = complaints(error)
        return None


def _name(inputs: Inputs, others: set[str]) -> str:
    name = inputs.words("name")
    if not name:
        tool = inputs.words("tool")
        return unused_name("every-tool" if tool == EVERY_TOOL else tool, others)
    return inputs.refuse("name", "Another rule already has this name.") if name in others else name


def _match(inputs: Inputs) -> dict[str, JsonValue] | None:
    return inputs.json_object("match") if inputs.words("match") else None


def _chance(inputs: Inputs) -> float:
    share = inputs.share("chance", _CHANCE)
    return share if 0 <= share <= 1 else inputs.refuse("chance", _CHANCE)


def _seed(inputs: Inputs) -> int | None:
    text = inputs.words("seed")
    try:
        return int(text) if text else None
    except ValueError:
        return inputs.refuse("seed", "The seed must be a whole number.")


_PARTS: Mapping[str, Callable[[Inputs], Any]] = {
    "tool_name": lambda inputs: inputs.needed("tool", "Choose a tool for the rule."),
    "match_args": _match,
    "when": read_condition,
    "probability": _chance,
    "random_seed": _seed,
    "effect": lambda inputs: EFFECTS[inputs.get("e.kind")].read(inputs, inputs.get("e.kind")),
    "latency": read_latency,
}
