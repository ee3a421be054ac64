"""Rules in and out: saved sets that all agents share, import of files and texts, export with what is lost."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import streamlit as st

from app.forms.common_panel import problem
from app.forms.safe_labels import literal, safe_label
from app.forms.widget_store import KeptInputs, slug
from app.live.rule_text import rule_line
from app.rules.rule_exchange import (
    FORMS,
    RestOfConfig,
    appended,
    beside_rules,
    config_of,
    exported,
    missing_tools,
)
from app.session import page_state
from app.session import page_state as state
from app.session.page_commands import Asked, Steps
from app.session.session_context import SessionContext
from simulator.agents import AgentSettingsError, settings_from
from simulator.environment.injection.adk_config_text import names_no_tool
from simulator.environment.injection.rule_sets import (
    RuleSet,
    RuleSetError,
    RuleSetFolder,
    StoredSet,
    read_rule_set,
)
from simulator.environment.injection.rules import InjectionRule
from simulator.session.commands import ChangeSettings, Command, GiveData, GiveRecording, SetPlayer, SetRules

_SHOWN = 12


def rule_exchange(scene: SessionContext) -> Asked | None:
    """Draw saved sets, import and export; return the rules that were taken in."""
    kept = KeptInputs(scene.drafts, "rule-exchange")
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


def _import(scene: SessionContext, kept: KeptInputs) -> Asked | None:
    text = _text(kept)
    if not text.strip():
        return None
    tool_name = ""
    if names_no_tool(text):
        tools = scene.tools()
        key = kept.widget("import_tool", next(iter(tools), None))
        tool_name = st.selectbox("Tool of these injections", tools, key=key) or ""
    try:
        read = read_rule_set(text, tool_name)
    except RuleSetError as error:
        problem("Cannot read the rules.", str(error))
        return None
    rules = read.rule_set.rules
    with st.container(border=True, gap="xsmall", key="incoming_rules"):
        st.caption(f"{len(rules)} rule{'' if len(rules) == 1 else 's'}")
        for rule in rules[:_SHOWN]:
            st.text(literal(f"{rule.rule_id}: {rule_line(rule)}"))
        if len(rules) > _SHOWN:
            st.caption(f"and {len(rules) - _SHOWN} more")
        beside = beside_rules(read.adk) if read.adk else RestOfConfig()
        wanted = _beside(kept, beside)
        asked = take_in(scene, "incoming", rules, empty=not beside.words)
    if wanted and isinstance(asked, SetRules):
        return _with_rest(asked, beside)
    return asked


def _with_rest(rules: SetRules, beside: RestOfConfig) -> Steps:
    """Return what puts all of a configuration in force: what is empty in it changes nothing."""
    environment: tuple[tuple[object, Command], ...] = (
        (beside.data, GiveData(text=beside.data)),
        (beside.recorded, GiveRecording(name="tracing", calls=beside.recorded)),
        (beside.settings, ChangeSettings(fields=beside.settings)),
    )
    mocked = (SetPlayer(seat="tool", player="model", target=name) for name in beside.mock_tools)
    return (rules, *(command for said, command in environment if said), *mocked)


def _text(kept: KeptInputs) -> str:
    """Draw the ways to give a text, a file or its words; the file counts where there is one."""
    uploaded = st.file_uploader(
        "Rule set, or ADK's EnvironmentSimulationConfig (JSON, YAML or Python)",
        type=["json", "yaml", "yml", "py", "txt"],
        key=kept.key("upload"),
    )
    st.text_area(
        "Or paste its text",
        key=kept.widget("paste", ""),
        height=110,
        placeholder='{"tool_simulation_configs": [{"tool_name": ...',
    )
    if uploaded is None:
        return str(kept.value("paste", "") or "")
    try:
        return uploaded.getvalue().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        problem("Cannot read the file.", f"It is not UTF-8 text: {error.reason} at byte {error.start}.")
        return ""


def _beside(kept: KeptInputs, beside: RestOfConfig) -> bool:
    """Name what a configuration holds beside its rules; return whether that is wanted too."""
    if beside.unread:
        st.caption("Not imported:")
        for words in beside.unread:
            st.text(literal(words))
    if not beside.words:
        return False
    st.caption("The configuration also contains:")
    st.text(literal("; ".join(beside.words)))
    return st.checkbox("Import this too", key=kept.widget("beside", True))


def _export(scene: SessionContext, kept: KeptInputs) -> None:
    rules = scene.session.rules
    if not rules:
        st.caption("No rules to export.")
        return
    form = st.selectbox(
        "Format", list(FORMS), format_func=FORMS.__getitem__, key=kept.widget("form", next(iter(FORMS)))
    )
    result = exported(config_of(scene.session), form, scene.live.config.name)
    if result.losses:
        with st.container(border=True, gap="xsmall", key="export_losses"):
            st.badge("Not included in this format", icon=":material/warning:", color="orange")
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
            st.caption("Use the copy button in the corner")
            st.code(literal(result.text), language=result.language, height=320)


# The saved sets of rules, which all agents of this server share: saved, taken in, renamed and deleted.


_NO_SETS = "No saved sets yet. Save rules as a set to use them in sessions of any agent."


def save_form(scene: SessionContext, kept: KeptInputs) -> None:
    """Draw the way to save the session's rules as a set."""
    failed = state.get("unsaved_set")
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        st.text_input(
            "Save these rules as",
            key=kept.widget("save_name", ""),
            placeholder="flaky payments",
            disabled=not scene.session.rules,
        )
        name = str(kept.value("save_name", "") or "").strip()
        folder = rule_set_folder()
        taken = any(each.name == name for each in _listed(folder))
        save = st.button(
            "Overwrite" if taken else "Save set",
            key="rule_set_save",
            icon=":material/save:",
            disabled=not scene.session.rules,
        )
    if save:
        _do(lambda: folder.save(RuleSet(name=name, rules=scene.session.rules)))
    if failed:
        problem("The saved sets were not changed.", str(failed))


def rule_set_list(scene: SessionContext) -> Asked | None:
    """Draw the sets; return the session's rules with those of one that was taken in."""
    folder = rule_set_folder()
    stored = _listed(folder)
    if not stored:
        st.caption(_NO_SETS)
    asked: Asked | None = None
    for each in stored:
        with st.container(border=True, gap="xxsmall", key=f"rule_set_{slug(each.path.name)}"):
            asked = _card(scene, folder, each) or asked
    st.caption("Folder of the saved sets")
    st.text(literal(str(folder.path)))
    return asked


def _listed(folder: RuleSetFolder) -> tuple[StoredSet, ...]:
    try:
        return folder.list()
    except OSError as error:
        problem("Cannot read the folder of saved sets.", str(error))
        return ()


def _card(scene: SessionContext, folder: RuleSetFolder, each: StoredSet) -> Asked | None:
    key = slug(each.path.name)
    with st.container(horizontal=True, gap="xsmall", vertical_alignment="center"):
        st.markdown(f"**{safe_label(each.name)}**", width="content")
        st.caption(f"{each.rules} rule{'' if each.rules == 1 else 's'}", width="content")
        st.space("stretch")
        if not each.error:
            with st.popover("Rename", key=f"rename_{key}", type="tertiary"):
                wanted = st.text_input("New name", value=each.name, key=f"rename_to_{key}")
                if st.button("Rename", key=f"rename_now_{key}"):
                    _do(lambda: folder.rename(each.name, wanted))
        with st.popover("Delete", key=f"delete_{key}", type="tertiary"):
            st.text("This deletes the file of the set for all agents. Sessions that use its rules keep them.")
            if st.button("Delete set", key=f"delete_now_{key}", icon=":material/delete:"):
                _do(lambda: each.path.unlink(missing_ok=True))
    if each.error:
        st.text(literal(f"Damaged: {each.error}"))
        return None
    if each.description:
        st.text(literal(each.description))
    return _taken(scene, folder, each, key)


def _taken(scene: SessionContext, folder: RuleSetFolder, each: StoredSet, key: str) -> Asked | None:
    try:
        rules = folder.load(each.name).rules
    except RuleSetError as error:
        st.text(literal(f"Damaged: {error}"))
        return None
    return take_in(scene, key, rules)


def _do(work: Callable[[], object]) -> None:
    """Change the folder, keep what went wrong for the next run, and draw the page anew."""
    state.put("unsaved_set", None)
    try:
        work()
    except (RuleSetError, OSError) as error:
        state.put("unsaved_set", str(error))
    st.rerun()


# Says in which folder this server keeps its named sets of rules.


RULES_VARIABLE = "GOLDEN_TRACE_RULES_DIR"
"""Names the folder, in place of the usual one."""

_NAME = "rule_sets"


def rule_set_folder() -> RuleSetFolder:
    """Return the folder of this process; all its agents share it."""
    return RuleSetFolder(folder_for(sys.argv[1:], os.environ))


def folder_for(argv: Sequence[str], environ: Mapping[str, str]) -> Path:
    """Choose the folder: the one that the environment names, else one beside the agents folder, else one of the user's state.

    Args:
        argv: The arguments of the server, as `settings_from` takes them.
        environ: The environment; `GOLDEN_TRACE_RULES_DIR` and `XDG_STATE_HOME` are read, an empty one is none.
    """
    if named := environ.get(RULES_VARIABLE, "").strip():
        return Path(named).expanduser().absolute()
    try:
        agents = settings_from(argv, environ).agents_dir
    except AgentSettingsError:  # the start page says so
        agents = None
    if agents is not None:
        return agents.expanduser().absolute().parent / _NAME
    state = environ.get("XDG_STATE_HOME", "").strip() or "~/.local/state"
    return Path(state).expanduser().absolute() / "golden-trace-studio" / _NAME


def take_in(
    scene: SessionContext, key: str, rules: tuple[InjectionRule, ...], *, empty: bool = True
) -> Asked | None:
    """Draw the ways to take rules in, with what this agent lacks for them; return the rules as they then are.

    `empty` says that there is nothing to take where there are no rules.
    """
    if lacks := missing_tools(rules, scene.tools()):
        st.warning("Tools that this agent is not known to have:", icon=":material/warning:")
        st.text(literal(", ".join(lacks)))
    now = scene.session.rules
    with st.container(horizontal=True, gap="xsmall"):
        append = st.button(
            "Append" if now else "Add",
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
