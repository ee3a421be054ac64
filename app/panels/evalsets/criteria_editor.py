"""The editor of an evaluation's criteria: a form, the JSON behind it, what is wrong with it, and the file that it is saved in."""

import os

import streamlit as st

from app.bench import Bench
from app.criteria_needs import unmet
from app.labels import literal
from app.panels.evalsets.criteria_form import criteria_form
from app.panels.evalsets.criteria_more import live_mode, own_metrics, simulated_user
from app.panels.evalsets.remembered import followed_key, key_of
from app.panels.parts import problem, views
from evalset.eval_config.checking import Flaw, check
from simulator.jsonvalue import JsonObject

SIDES = ("Form", "JSON")


def criteria_editor(bench: Bench, scenarios: int = 0) -> None:
    """Draw the editor; `scenarios` counts the cases that a simulated user plays."""
    draft = bench.criteria
    with st.container(
        horizontal=True, vertical_alignment="center", gap="xsmall", key="head_criteria", wrap=False
    ):
        st.markdown("**Criteria**", width="content")
        _kept(bench)
        st.space("stretch")
        side = views("Criteria: view", SIDES, "criteria_side")
    if draft.problem:
        problem("The criteria were not loaded or saved.", draft.problem)
    document = draft.document
    if document is None:
        problem("This is no JSON, so there is no form and no run.", draft.flaw)
    if side == "JSON" or document is None:
        _raw(bench)
    else:
        _form(bench, document)
    if document is not None:
        _flaws(check(document))
        _unmet(list(unmet(document, os.environ, scenarios=scenarios)))
    _buttons(bench)


def _kept(bench: Bench) -> None:
    draft = bench.criteria
    if draft.is_saved:
        st.badge("Saved", icon=":material/check:", color="green")
    elif draft.has_file:
        st.badge("Changed", icon=":material/edit:", color="orange")
    else:
        st.badge("Not in a file yet", color="gray")


def _form(bench: Bench, document: JsonObject) -> None:
    criteria_form(bench, document)
    with st.expander("Metrics of your own", key="own_metrics", type="compact"):
        own_metrics(bench, document)
    with st.expander("Simulated user", key="simulated_user", type="compact"):
        st.caption("For cases that hold a scenario and no conversation; it asks a model.")
        simulated_user(bench, document)
    with st.expander("Live mode", key="live_mode", type="compact"):
        live_mode(bench, document)


def _raw(bench: Bench) -> None:
    said = st.text_area(
        "An EvalConfig of ADK as JSON",
        key=followed_key(bench, "criteria_json", bench.criteria.text),
        height=380,
        label_visibility="collapsed",
    )
    if said is not None and said != bench.criteria.text:
        bench.criteria.text = said
        st.rerun()


def _flaws(flaws: tuple[Flaw, ...]) -> None:
    for severity, words, show in (
        ("error", "`adk eval` cannot work with these criteria as they are meant.", st.error),
        ("warning", "This may not be what is meant.", st.warning),
    ):
        found = [flaw for flaw in flaws if flaw.severity == severity]
        if found:
            show(words, icon=":material/error:" if severity == "error" else ":material/warning:")
            lines = "\n".join(f"{flaw.place}: {flaw.sentence}" for flaw in found)
            st.code(literal(lines), language=None, wrap_lines=True)


def _unmet(sentences: list[str]) -> None:
    if sentences:
        st.warning(
            "This cannot be asked with the keys that the studio was started with; the agent's `.env` may hold others. A metric "
            "without a score fails no case.",
            icon=":material/key_off:",
        )
        st.code(literal("\n".join(sentences)), language=None, wrap_lines=True)


def _buttons(bench: Bench) -> None:
    draft = bench.criteria
    with st.container(horizontal=True, gap="xsmall", vertical_alignment="center"):
        if st.button(
            "Save",
            key=key_of(bench, "criteria_save"),
            icon=":material/save:",
            disabled=draft.is_saved or draft.document is None,
            help="Where `adk eval` finds them by itself for the sets in this folder",
        ):
            draft.save()
            st.rerun()
        if st.button(
            "Load again",
            key=key_of(bench, "criteria_load"),
            type="tertiary",
            icon=":material/refresh:",
            help="What is not saved is given up",
        ):
            draft.load()
            st.rerun()
        with st.container(key="criteria_path"):
            st.text(literal(str(draft.path)), wrap=False)
