"""The JSON schema that the answers of a tool are held to, beside the one that the tool itself declares."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from app.jsontext import write_json
from app.kept import Kept
from app.labels import literal
from app.panels.parts import problem
from app.scene import Scene
from app.shaping import ChangeSettings, Shape
from app.sources import read_output_schema, with_tool
from simulator.jsonvalue import JsonObject, canonical

if TYPE_CHECKING:
    from simulator.runtime.world_view import WorldView

_HELP = (
    "Drafts are made of this schema, and an answer that does not fit it is named before it is sent. Without one, what "
    "the tool itself declares counts."
)


def output_schemas(scene: Scene, world: WorldView) -> Shape | None:
    """Draw the schemas of one tool's answers; give what was asked for."""
    settings = scene.live.simulation.environment.settings
    names = list(dict.fromkeys((*scene.tools(), *(tool.name for tool in world.tools), *settings.tools)))
    if not names:
        st.caption("No tool of this agent is known yet.")
        return None
    st.caption(_HELP)
    with_schema = {name for name, tool in settings.tools.items() if tool.output_schema is not None}
    tool = st.selectbox(
        "Tool",
        names,
        format_func=lambda name: literal(f"{name} (set)" if name in with_schema else name),
        key="schema_tool",
        width=360,
        persist_state="session",
    )
    declared = next((each.response_schema for each in world.tools if each.name == tool), None)
    now = settings.tool(tool).output_schema
    left, right = st.columns(2, gap="medium")
    with right:
        st.markdown("**What the tool itself declares**")
        if declared:
            st.code(literal(write_json(declared)), language="json", wrap_lines=True)
        else:
            st.caption("Nothing: any answer will do.")
    with left:
        return _form(scene, tool, now, declared)


def _form(scene: Scene, tool: str, now: JsonObject | None, declared: JsonObject | None) -> Shape | None:
    settings = scene.live.simulation.environment.settings
    kept = Kept(scene.drafts, f"output-schema-{tool}", canonical(now))
    text = st.text_area(
        "Schema of its answers (JSON schema)",
        key=kept.widget("schema_json", "" if now is None else write_json(now)),
        height=320,
        placeholder='{"type": "object", "properties": {"status": {"type": "string"}}}',
    )
    wrong = ""
    schema: JsonObject | None = None
    try:
        schema = read_output_schema(text or "")
    except ValueError as error:
        wrong = str(error)
        problem("This is no schema yet.", wrong)
    with st.container(horizontal=True, gap="xsmall"):
        save = st.button(
            "Save",
            key="schema_save",
            type="primary",
            icon=":material/check:",
            disabled=bool(wrong) or schema == now,
        )
        drop = st.button("Remove", key="schema_drop", type="tertiary", disabled=now is None)
        if declared:
            st.button(
                "Start from what the tool declares",
                key="schema_begin",
                type="tertiary",
                on_click=lambda: kept.put("schema_json", write_json(declared)),
            )
    if drop or (save and not wrong):
        return ChangeSettings(
            fields={"tools": with_tool(settings, tool, output_schema=None if drop else schema)}
        )
    return None
