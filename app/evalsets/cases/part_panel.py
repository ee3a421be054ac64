"""The editor of one part of a case: a text, a call, an answer, a state, rubrics, a note. In fields; JSON is one click away."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import streamlit as st

from app.evalsets.cases.case_fields import (
    ARE_RIGHT,
    CasePart,
    ToolSchemas,
    blanks_at,
    declared_tools,
    edit_of,
    is_camel,
    is_unchanged,
    rubric_ids,
    schemas_of,
)
from app.evalsets.cases.case_forms import OpenPart, follow, typed_in
from app.evalsets.cases.review_panel import reviewer_name
from app.evalsets.cases.rubrics_panel import RubricEditor
from app.evalsets.set_context import ApplyEdits, EditPart, SetCommand, SetContext
from app.forms.common_panel import place, problem
from app.forms.field_widgets import suggested
from app.forms.safe_labels import literal
from app.forms.value_editor_widgets import ValueEditor
from app.forms.widget_store import KeptInputs
from app.session.provenance_labels import BLANKS, RIGHT, RIGHT_HELP
from evalset.editing.case_parts import Case, at, field

_ABOUT = {
    "rubrics": "A judge model answers each statement with yes or no.",
    "comment": "Stored next to the eval set, in a file of reviews.",
    "note": "Stored next to the eval set. The set itself contains only fields of ADK.",
    "texts": "The other parts of this content stay as they are.",
}
_LABELS = {
    ("note", "text"): "Note",
    ("note", "tags"): "Tags (comma-separated)",
    ("rename", "name"): "Eval id",
    ("text", "text"): "Text",
    ("comment", "text"): "Comment",
}
_JSON = {
    "call": "Arguments (JSON object)",
    "add": "Arguments (JSON object)",
    "response": "Response (JSON object)",
}
_WITHOUT_VALUE = ("add", "comment")
"""Kinds of parts that are new: nothing is there yet."""

_MOST_SHOWN = 2_000
_HEIGHT = 300
_LOW = 120


class _Drawn:
    """What the inputs of a part hold, by their names, and whether each of them could be read."""

    def __init__(self) -> None:
        self.typed: dict[str, Any] = {}
        self.is_readable = True

    def value(self, name: str, editor: ValueEditor, *, tried: bool) -> None:
        """Draw the editor of a value, and note what it says."""
        result = editor.draw(tried=tried)
        self.is_readable = self.is_readable and not result.problems
        self.typed[name] = result.value


def part_editor(
    scene: SetContext, key: str, opened: OpenPart, failed: str | None, agent: str
) -> SetCommand | None:
    """Draw it; return what was asked for.

    Args:
        scene: The set.
        key: The case.
        opened: The form, and the part of the case.
        failed: Why what was typed was not taken over.
        agent: The agent that plays the case: its tools have schemas, where it is loaded.
    """
    part = opened.part
    if part is None:
        return _without_part(scene, opened)
    form, is_new = follow(scene.drafts, opened.form, part.about)
    kept = KeptInputs(scene.drafts, form.owner, part.about)
    _head(part)
    refused = place()
    drawn = _inputs(kept, part, scene.work.case(key), agent)
    if part.kind == "comment":
        drawn.typed |= _signed(scene)
    if blanks := blanks_at(scene.work, key, part):
        st.caption(BLANKS)
        st.text(literal("\n".join(blanks)))
        drawn.typed[ARE_RIGHT] = st.checkbox(
            RIGHT, key=kept.widget(ARE_RIGHT, initial=False), help=RIGHT_HELP
        )
    accepted, cancelled = _form_buttons(kept)
    with refused:
        if accepted and not drawn.is_readable:
            problem("The change was not applied. Fix what is marked below.")
        elif failed:
            problem("The change was not applied.", failed)
        if form.begun != part.about:
            _changed_elsewhere(part, is_refused=accepted and is_new)
    if cancelled:
        return EditPart(name=None)
    return _accepted(scene, key, part, drawn) if accepted and drawn.is_readable and not is_new else None


def _form_buttons(kept: KeptInputs) -> tuple[bool, bool]:
    """Draw the ends of the form; return whether it was applied, and whether it was cancelled."""
    with st.container(horizontal=True, gap="xsmall", key="part_buttons"):
        accepted = st.button(
            "Apply",
            key="part_accept",
            type="primary",
            icon=":material/check:",
            shortcut="Mod+Enter",
            on_click=kept.put,
            args=("tried", True),
        )
        return accepted, st.button("Cancel", key="part_cancel", type="tertiary", on_click=kept.forget)


def _changed_elsewhere(part: CasePart, *, is_refused: bool) -> None:
    """Say that the part is not as it was when its form was opened, and what it is now."""
    refused = "The change was not applied. " if is_refused else ""
    st.warning(
        f"{refused}This part was changed while its form was open. What you typed is kept below. Apply replaces the part.",
        icon=":material/sync_problem:",
    )
    if part.kind not in _WITHOUT_VALUE:
        st.caption("The part is now:")
        st.code(
            literal(str(part.shown.get("text", part.about))[:_MOST_SHOWN]), language=None, wrap_lines=True
        )


def _without_part(scene: SetContext, opened: OpenPart) -> SetCommand | None:
    """Draw what was typed in a form whose part was removed elsewhere."""
    st.warning(
        "The part of this form is no longer in the case. Undo can restore it.", icon=":material/link_off:"
    )
    if typed := typed_in(scene.drafts, opened.form):
        st.caption("You typed:")
        st.code(literal("\n".join(typed)), language=None, wrap_lines=True)
    return EditPart(name=None) if st.button("Close", key="part_cancel", type="tertiary") else None


def _head(part: CasePart) -> None:
    with st.container(key="part_head", gap=None):
        st.markdown(f"**{part.title}**")
        if part.kind in _ABOUT:
            st.caption(_ABOUT[part.kind])


def _accepted(scene: SetContext, key: str, part: CasePart, drawn: _Drawn) -> SetCommand:
    if is_unchanged(part, drawn.typed):
        return EditPart(name=None)
    try:
        edit = edit_of(key, part, drawn.typed, scene.work)
    except ValueError as error:
        return EditPart(name=part.name, failed=str(error))
    return ApplyEdits(edits=(edit,), part=part.name)


def _inputs(kept: KeptInputs, part: CasePart, case: Case, agent: str) -> _Drawn:
    drawn, tried = _Drawn(), bool(kept.value("tried"))
    match part.kind:
        case "call" | "add":
            _call(kept, part, case, declared_tools(agent), drawn)
        case "response":
            name = str(field(at(case, part.where), "name", ""))
            schema = declared_tools(agent).get(name, ToolSchemas()).response
            drawn.value("json", _editor(kept, part, schema), tried=tried)
        case "value" | "json":
            drawn.value("json", _editor(kept, part), tried=tried)
        case "rubrics":
            editor = RubricEditor(kept, "json", part.shown["json"], rubric_ids(case), is_camel=is_camel(case))
            drawn.value("json", editor, tried=tried)
        case "text" | "texts" | "note" | "rename" | "comment":
            drawn.typed = {name: _text(kept, part, name, value) for name, value in part.shown.items()}
    return drawn


def _signed(scene: SetContext) -> dict[str, str]:
    """Draw who comments; return it with the time."""
    return {"by": reviewer_name(scene, "Your name"), "at": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")}


def _editor(kept: KeptInputs, part: CasePart, schema: dict[str, Any] | None = None) -> ValueEditor:
    label = _JSON.get(part.kind, "JSON")
    return ValueEditor(kept, "json", part.shown["json"], schema, label, only_json=part.kind == "json")


def _call(
    kept: KeptInputs, part: CasePart, case: Case, tools: Mapping[str, ToolSchemas], drawn: _Drawn
) -> None:
    """Draw a call that is there, or a new one with its response."""
    tried = bool(kept.value("tried"))
    name = drawn.typed["name"] = _tool(kept, part.shown["name"], tools)
    if part.kind == "call":
        drawn.value("json", _editor(kept, part, tools.get(name, ToolSchemas()).arguments), tried=tried)
        return
    schemas = schemas_of(tools, case, name)
    st.markdown("**Arguments**")
    drawn.value("json", _blank(kept, "json", schemas.arguments, _JSON["add"]), tried=tried)
    if st.toggle(
        "Response", key=kept.widget("responds", initial=True), help="If off, the call has no response"
    ):
        editor = _blank(kept, "response", schemas.response, _JSON["response"])
        drawn.value("response", editor, tried=tried)


def _blank(kept: KeptInputs, name: str, schema: dict[str, Any] | None, label: str) -> ValueEditor:
    return ValueEditor(kept, name, {}, schema, label, is_blank=True)


def _tool(kept: KeptInputs, name: str, tools: Mapping[str, ToolSchemas]) -> str:
    """Draw the name of a tool; those of the agent are suggested where they are known."""
    typed = st.text_input("Tool", key=kept.widget("name", name or None))
    suggested(kept, "name", "Tool", tools)
    return typed or ""


def _text(kept: KeptInputs, part: CasePart, name: str, value: str) -> str:
    label = _LABELS.get((part.kind, name)) or f"Text {int(name.removeprefix('text_')) + 1}"
    if name in {"name", "tags"}:
        return st.text_input(label, key=kept.widget(name, value)) or ""
    height = _LOW if part.kind in {"note", "texts", "comment"} else _HEIGHT
    return st.text_area(label, key=kept.widget(name, value), height=height, on_change="ignore") or ""
