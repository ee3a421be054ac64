"""Rules in and out: saved sets that all agents share, import of files and texts, export with what is lost."""

import streamlit as st

from app.commands import Command, SetRules, TakeConfig
from app.kept import Kept, slug
from app.labels import literal
from app.panels.parts import problem
from app.panels.rule_set_list import rule_set_list, save_form
from app.panels.rule_take import take_in
from app.rule_exchange import FORMS, Beside, beside_rules, config_of, exported
from app.rule_words import rule_line
from app.scene import Scene
from simulator.environment.injection.rule_sets import RuleSetError, read_rule_set

_SHOWN = 12


def rule_exchange(scene: Scene) -> Command | None:
    """Draw saved sets, import and export; give the rules that were taken in."""
    kept = Kept(scene.drafts, "rule-exchange")
    st.markdown("**Saved sets**")
    save_form(scene, kept)
    asked = rule_set_list(scene)
    st.space("xsmall")
    st.markdown("**Import**")
    asked = _import(scene, kept) or asked
    st.space("xsmall")
    st.markdown("**Export**")
    _export(scene, kept)
    return asked


def _import(scene: Scene, kept: Kept) -> Command | None:
    text = _text(kept)
    if not text.strip():
        return None
    try:
        read = read_rule_set(text)
    except RuleSetError as error:
        problem("The rules cannot be read.", str(error))
        return None
    rules = read.rule_set.rules
    with st.container(border=True, gap="xsmall", key="incoming_rules"):
        st.caption(f"{len(rules)} rule{'' if len(rules) == 1 else 's'}")
        for rule in rules[:_SHOWN]:
            st.text(literal(f"{rule.rule_id}: {rule_line(rule)}"))
        if len(rules) > _SHOWN:
            st.caption(f"and {len(rules) - _SHOWN} more")
        beside = beside_rules(read.adk) if read.adk else Beside()
        wanted = _beside(kept, beside)
        asked = take_in(scene, "incoming", rules, empty=not beside.words)
    if wanted and isinstance(asked, SetRules):
        return TakeConfig(
            rules=asked.rules,
            data=beside.data,
            recorded=beside.recorded,
            settings=beside.settings,
            mock_tools=beside.mock_tools,
        )
    return asked


def _text(kept: Kept) -> str:
    """Draw the ways to give a text, a file or its words; the file counts where there is one."""
    uploaded = st.file_uploader(
        "A file: a rule set, or ADK's EnvironmentSimulationConfig as JSON, YAML or Python",
        type=["json", "yaml", "yml", "py", "txt"],
        key=kept.key("upload"),
    )
    st.text_area(
        "Or its text",
        key=kept.widget("paste", ""),
        height=110,
        placeholder='{"tool_simulation_configs": [{"tool_name": ...',
    )
    if uploaded is None:
        return str(kept.value("paste", "") or "")
    try:
        return uploaded.getvalue().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        problem("The file cannot be read.", f"It is no UTF-8 text: {error.reason} at byte {error.start}.")
        return ""


def _beside(kept: Kept, beside: Beside) -> bool:
    """Name what a configuration holds beside its rules; tell whether that is wanted too."""
    if beside.unread:
        st.caption("Not taken in, because it cannot be read:")
        for words in beside.unread:
            st.text(literal(words))
    if not beside.words:
        return False
    st.caption("Beside its rules it holds:")
    st.text(literal("; ".join(beside.words)))
    return st.checkbox("Take this too", key=kept.widget("beside", True))


def _export(scene: Scene, kept: Kept) -> None:
    rules = scene.session.rules
    if not rules:
        st.caption("There is no rule to export.")
        return
    form = st.selectbox(
        "Format", list(FORMS), format_func=FORMS.__getitem__, key=kept.widget("form", next(iter(FORMS)))
    )
    result = exported(config_of(scene.session), form, scene.live.config.name)
    if result.losses:
        with st.container(border=True, gap="xsmall", key="export_losses"):
            st.badge("What this format cannot say", icon=":material/warning:", color="orange")
            for loss in result.losses:
                st.text(literal(loss))
    with st.container(horizontal=True, gap="xsmall"):
        st.download_button(
            "Download",
            data=result.text,
            file_name=f"{slug(scene.live.config.name)}-{result.file_name}",
            mime=result.mime,
            key="rules_download",
            icon=":material/download:",
            on_click="ignore",
        )
        with st.popover("Copy", icon=":material/content_copy:", key="rules_copy"):
            st.caption("Copy it with the button in its corner")
            st.code(literal(result.text), language=result.language, height=320)
