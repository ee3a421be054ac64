"""The saved sets of rules, which all agents of this server share: saved, taken in, renamed and deleted."""

from collections.abc import Callable

import streamlit as st

from app import state
from app.commands import Command
from app.kept import Kept, slug
from app.labels import literal, safe_label
from app.panels.parts import problem
from app.panels.rule_take import take_in
from app.rule_folder import rule_set_folder
from app.scene import Scene
from simulator.environment.injection.rule_sets import RuleSet, RuleSetError
from simulator.rule_set_folder import RuleSetFolder, StoredSet

_NO_SETS = "No set is saved yet. A set can be taken into the sessions of any agent."


def save_form(scene: Scene, kept: Kept) -> None:
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
            "Save over it" if taken else "Save set",
            key="rule_set_save",
            icon=":material/save:",
            disabled=not scene.session.rules,
        )
    if save:
        _do(lambda: folder.save(RuleSet(name=name, rules=scene.session.rules)))
    if failed:
        problem("The folder of sets was not changed.", str(failed))


def rule_set_list(scene: Scene) -> Command | None:
    """Draw the sets; give the session's rules with those of one that was taken in."""
    folder = rule_set_folder()
    stored = _listed(folder)
    if not stored:
        st.caption(_NO_SETS)
    asked: Command | None = None
    for each in stored:
        with st.container(border=True, gap="xxsmall", key=f"rule_set_{slug(each.path.name)}"):
            asked = _card(scene, folder, each) or asked
    st.caption("They are in the folder")
    st.text(literal(str(folder.path)))
    return asked


def _listed(folder: RuleSetFolder) -> tuple[StoredSet, ...]:
    try:
        return folder.list()
    except OSError as error:
        problem("The folder of sets cannot be read.", str(error))
        return ()


def _card(scene: Scene, folder: RuleSetFolder, each: StoredSet) -> Command | None:
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
            st.text("Its file is deleted, for all agents. Sessions that took its rules keep them.")
            if st.button("Delete the set", key=f"delete_now_{key}", icon=":material/delete:"):
                _do(lambda: each.path.unlink(missing_ok=True))
    if each.error:
        st.text(literal(f"Damaged: {each.error}"))
        return None
    if each.description:
        st.text(literal(each.description))
    return _taken(scene, folder, each, key)


def _taken(scene: Scene, folder: RuleSetFolder, each: StoredSet, key: str) -> Command | None:
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
