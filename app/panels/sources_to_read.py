"""What the answers of a session's environment are drawn from, to read: recordings, and what is set for its tools."""

import streamlit as st

from app.declared import parameters_line
from app.jsontext import show_json
from app.kept import slug
from app.labels import literal, safe_label
from app.panels.editing import look_at
from app.scene import Scene
from app.sources import call_rows, counted, tools_line
from simulator.environment.declared_tools import DeclaredTool
from simulator.environment.things.tool_settings import EnvironmentSettings, ToolSettings

_SHOWN_CALLS = 300


def recordings_to_read(scene: Scene) -> None:
    """Draw each recording with its calls."""
    given = scene.live.simulation.environment.now.recordings
    if not given:
        st.caption("No recording was given.")
    for name, calls in given.items():
        with st.container(border=True, gap="xsmall", key=f"recording_{slug(name)}"):
            st.text(literal(name))
            st.text(literal(f"{counted(calls)}: {tools_line(calls)}"))
            look_at(call_rows(calls[:_SHOWN_CALLS]), f"recording_calls_{slug(name)}", f"The calls of {name}")
            if len(calls) > _SHOWN_CALLS:
                st.caption(f"The first {_SHOWN_CALLS} of them")


def tools_to_read(scene: Scene) -> None:
    """Draw what is set for the tools, those that are only declared, and the model that makes drafts."""
    now = scene.live.simulation.environment.now
    _model(now.settings)
    if not (now.settings.tools or now.declared):
        st.caption("Nothing is set for a tool, and none is only declared.")
    for tool in now.settings.tools.values():
        _settings(tool)
    for declared in now.declared:
        _declared(declared)


def _model(settings: EnvironmentSettings) -> None:
    st.caption("The model of the environment")
    if not settings.simulation_model:
        st.text("None: drafts are made offline.")
        return
    st.text(literal(settings.simulation_model))
    if settings.drafts_by_model:
        st.caption("It is asked for a draft of each call that waits for a person.")
    if settings.source_to_model:
        st.caption("It is sent the source code of the tool, with secrets masked.")


def _settings(tool: ToolSettings) -> None:
    with st.container(border=True, gap="xsmall", key=f"tool_set_{slug(tool.name)}"):
        st.badge(safe_label(tool.name), icon=":material/build:", color="primary")
        if tool.share_state_id:
            st.text(literal(f"Shared state: {tool.share_state_id}"))
        if tool.initial_state_description:
            st.text(literal(f"Begins with: {tool.initial_state_description}"))
        if tool.output_schema is not None:
            st.caption("Its answers are held to this schema")
            st.code(literal(show_json(tool.output_schema)), language="json", wrap_lines=True)


def _declared(tool: DeclaredTool) -> None:
    with st.container(border=True, gap="xsmall", key=f"tool_declared_{slug(tool.name)}"):
        with st.container(horizontal=True, vertical_alignment="center", gap="xsmall"):
            st.badge(safe_label(tool.name), icon=":material/build:", color="primary")
            st.badge("only declared", color="gray")
        st.text(literal(parameters_line(tool)))
        if tool.description:
            st.text(literal(tool.description))
        if tool.output_schema is not None:
            st.caption("What it answers")
            st.code(literal(show_json(tool.output_schema)), language="json", wrap_lines=True)
