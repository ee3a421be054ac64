"""The fault library: what can go wrong with a tool, found by words or by kind, and given to a tool with one click."""

import streamlit as st

from app import state
from app.commands import Command, SetRules
from app.kept import Kept
from app.labels import literal, safe_label
from app.rules import unused_name
from app.scene import Scene
from simulator.environment.injection.faults import Fault, search
from simulator.environment.injection.rules import EVERY_TOOL

CATEGORIES = {
    "http": "HTTP errors",
    "exceptions": "Exceptions",
    "time": "Time",
    "patterns": "Over several calls",
    "answers": "Answers",
    "distortions": "Changed answers",
    "hostile": "Hostile text",
    "people": "Asking you",
}
PAGE = 18
"""How many faults are drawn at first, and how many more with each click."""

_ALL = "all"


def fault_library(scene: Scene) -> Command | None:
    """Draw the library; give the rules with the one that was added."""
    kept = Kept(scene.drafts, "fault-library")
    tool = _tool(scene, kept)
    found = _found(kept)
    shown = PAGE * (1 + int(state.get("faults_shown") or 0))
    if not found:
        st.caption("Nothing in the library has these words. Other words, or all kinds, may find it.")
    asked: Command | None = None
    for fault in found[:shown]:
        asked = _card(scene, fault, tool) or asked
    if len(found) > shown and st.button(
        f"Show more \u00b7 {len(found) - shown} left", key="faults_more", icon=":material/expand_more:"
    ):
        state.put("faults_shown", int(state.get("faults_shown") or 0) + 1)
        st.rerun()
    return asked


def _tool(scene: Scene, kept: Kept) -> str:
    tools = scene.tools()
    likely = next((call.tool_name for call in scene.waiting_calls()), tools[0] if tools else EVERY_TOOL)
    now = kept.value("tool", likely)
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        st.text_input(
            "Search the faults",
            key=kept.widget("search", ""),
            placeholder="timeout, rate limit, prompt injection ...",
            icon=":material/search:",
        )
        st.selectbox(
            "For the tool",
            list(dict.fromkeys((EVERY_TOOL, *tools, *((now,) if now else ())))),
            index=None,
            format_func=lambda name: "Every tool" if name == EVERY_TOOL else literal(name),
            key=kept.widget("tool", likely),
            accept_new_options=True,
            width=220,
        )
    return str(kept.value("tool", likely) or "").strip()


def _found(kept: Kept) -> tuple[Fault, ...]:
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


def _card(scene: Scene, fault: Fault, tool: str) -> Command | None:
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
    return _added(scene, fault, tool) if added else None


def _added(scene: Scene, fault: Fault, tool: str) -> Command:
    rules = scene.session.rules
    taken = {rule.rule_id for rule in rules}
    rule_id = fault.name if fault.name not in taken else unused_name(fault.name, taken)
    state.put("editing_rule", rule_id)
    return SetRules(rules=(*rules, fault.rule(tool, rule_id)))
