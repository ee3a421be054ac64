"""The editor of one part of a case: a text, a call, an answer, a state, rubrics, a note."""

import streamlit as st

from app.kept import Kept
from app.panels.evalsets.scene import ApplyEdits, EditPart, SetCommand, SetScene
from app.panels.parts import problem
from app.set_parts import Part, edit_of

_RUBRICS = (
    "A list of rubrics: each has a `rubric_id` and a `rubric_content` with a `text_property`, the sentence that a judge "
    "model answers with yes or no."
)
_LABELS = {
    ("note", "text"): "Note",
    ("note", "tags"): "Tags, with commas between them",
    ("rename", "name"): "Eval id",
    ("call", "name"): "Tool",
    ("call", "json"): "Arguments (JSON object)",
    ("add", "name"): "Tool",
    ("add", "json"): "Arguments (JSON object)",
    ("add", "response"): "Answer (JSON object; empty for none)",
    ("response", "json"): "Answer (JSON object)",
    ("json", "json"): "JSON",
    ("text", "text"): "Text",
}
_HEIGHT = 300
_LOW = 120


def part_editor(scene: SetScene, key: str, part: Part, failed: str | None) -> SetCommand | None:
    """Draw it; give what was asked for. `failed` says why what was typed was not taken over."""
    kept = Kept(scene.drafts, f"part {key} {part.name}", part.about)
    with st.container(key="part_head", gap=None):
        st.markdown(f"**{part.title}**")
        if part.where[-1:] == ("rubrics",):
            st.caption(_RUBRICS)
        if part.kind == "note":
            st.caption("Kept beside the eval set, which itself holds only what ADK knows.")
    typed = {name: _input(kept, part, name, value) for name, value in part.shown.items()}
    if failed:
        problem("It was not taken over.", failed)
    with st.container(horizontal=True, gap="xsmall", key="part_buttons"):
        accepted = st.button(
            "Accept", key="part_accept", type="primary", icon=":material/check:", shortcut="Mod+Enter"
        )
        cancelled = st.button("Cancel", key="part_cancel", type="tertiary", on_click=kept.forget)
    if cancelled:
        return EditPart(name=None)
    if accepted:
        try:
            edit = edit_of(key, part, typed)
        except ValueError as error:
            return EditPart(name=part.name, failed=str(error))
        return ApplyEdits(edits=(edit,), part=part.name)
    return None


def _input(kept: Kept, part: Part, name: str, value: str) -> str:
    label = _LABELS[part.kind, name]
    if name in {"name", "tags"}:
        return st.text_input(label, key=kept.widget(name, value)) or ""
    height = _LOW if part.kind in {"add", "note"} else _HEIGHT
    return st.text_area(label, key=kept.widget(name, value), height=height, on_change="ignore") or ""
