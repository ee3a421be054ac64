"""The environment of a session, to read: what there is, how the tools hang together, the rules, and what answers are drawn from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st
from pydantic import JsonValue

from app.environment.connection_rows import rows_of
from app.environment.connections_tab import connections_graph
from app.environment.declared_tool_form import parameters_line
from app.environment.sources import call_rows, counted, tools_line
from app.environment.table_widgets import look_at
from app.environment.world_labels import flag_lines
from app.forms.common_panel import page_head, views
from app.forms.safe_labels import literal, safe_label
from app.forms.typed_json import show_json
from app.forms.widget_store import slug
from app.live.live_sessions import title
from app.screens.read_only_panel import rules_to_read
from app.session.session_context import SessionContext
from app.session.session_summary import status
from simulator.environment.declared_tools import DeclaredTool
from simulator.environment.world.tool_settings import EnvironmentSettings, ToolSettings

if TYPE_CHECKING:
    from simulator.runtime.knowledge.world_view import WorldTable, WorldView


_PARTS = ("Entities", "Connections", "Rules", "Recordings", "Tools")


def world_to_read(scene: SessionContext) -> bool:
    """Draw the page; True when it was asked for the session itself."""
    back = page_head("World", title(scene.session), status(scene.view), "environment")
    with st.container(horizontal=True, vertical_alignment="center", gap="xsmall", key="environment_line"):
        chosen = views("Part of the world", _PARTS, "world_to_read_part")
    with st.container(key="shape_to_read", gap="small"):
        match chosen:
            case "Entities":
                _things(scene, scene.known)
            case "Connections":
                _connections(scene, scene.known)
            case "Rules":
                rules_to_read(scene)
            case "Recordings":
                recordings_to_read(scene)
            case _:
                tools_to_read(scene)
    return back


def _things(scene: SessionContext, world: WorldView) -> None:
    lines = flag_lines(world.flags, scene.session.history)
    if lines:
        with st.container(border=True, gap="xxsmall", key="world_flags"):
            st.markdown(":material/flag: **Responses that contradict the world**")
            for line in lines:
                st.text(literal(line))
    if not world.tables:
        st.caption("No entities yet. They come from tool responses.")
    for place, table in enumerate(world.tables):
        st.markdown(f"**{safe_label(table.name)}** \u00b7 {len(table.ids)}")
        look_at(_rows(table), f"world_to_read_{place}", f"Entities: {table.name}")
        if table.gone:
            st.text(literal(f"Deleted: {', '.join(table.gone)}"))


def _rows(table: WorldTable) -> list[dict[str, str]]:
    """Return each thing with all of its fields as texts, the id first."""
    names = table.columns[1:]
    first = table.columns[0] if table.columns else f"{table.kind}_id"
    return [
        {first: key} | {name: _text(row.get(name)) for name in names}
        for key, row in zip(table.ids, table.rows, strict=True)
    ]


def _text(value: JsonValue) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else " ".join(show_json(value).split())


def _connections(scene: SessionContext, world: WorldView) -> None:
    if not world.tools and not world.connections.roles:
        st.caption("No tools of this agent are known yet.")
        return
    connections_graph(world)
    rows = rows_of(world.connections, scene.live.simulation.environment.now.analysed_by)
    shown = [row.model_dump(mode="json") for row in rows]
    look_at(shown, "connections_to_read", "Connections between tools")


# What the answers of a session's environment are drawn from, to read: recordings, and what is set for its tools.


_SHOWN_CALLS = 300


def recordings_to_read(scene: SessionContext) -> None:
    """Draw each recording with its calls."""
    given = scene.live.simulation.environment.now.recordings
    if not given:
        st.caption("No recordings.")
    for name, calls in given.items():
        with st.container(border=True, gap="xsmall", key=f"recording_{slug(name)}"):
            st.text(literal(name))
            st.text(literal(f"{counted(calls)}: {tools_line(calls)}"))
            look_at(call_rows(calls[:_SHOWN_CALLS]), f"recording_calls_{slug(name)}", f"Calls of {name}")
            if len(calls) > _SHOWN_CALLS:
                st.caption(f"Only the first {_SHOWN_CALLS} calls are shown.")


def tools_to_read(scene: SessionContext) -> None:
    """Draw what is set for the tools, those that are only declared, and the model that makes drafts."""
    now = scene.live.simulation.environment.now
    _model(now.settings)
    if not (now.settings.tools or now.declared):
        st.caption("No tool settings and no declared tools.")
    for tool in now.settings.tools.values():
        _settings(tool)
    for declared in now.declared:
        _declared(declared)


def _model(settings: EnvironmentSettings) -> None:
    st.caption("Environment model")
    if not settings.simulation_model:
        st.text("None. Drafts are generated offline.")
        return
    st.text(literal(settings.simulation_model))
    if settings.drafts_by_model:
        st.caption("It drafts a response to each call that waits for a person.")
    if settings.source_to_model:
        st.caption("It receives the tool's source code, with secrets masked.")


def _settings(tool: ToolSettings) -> None:
    with st.container(border=True, gap="xsmall", key=f"tool_set_{slug(tool.name)}"):
        st.badge(safe_label(tool.name), icon=":material/build:", color="primary")
        if tool.share_state_id:
            st.text(literal(f"Shared state: {tool.share_state_id}"))
        if tool.initial_state_description:
            st.text(literal(f"Initial state: {tool.initial_state_description}"))
        if tool.output_schema is not None:
            st.caption("Responses must match this schema")
            st.code(literal(show_json(tool.output_schema)), language="json", wrap_lines=True)


def _declared(tool: DeclaredTool) -> None:
    with st.container(border=True, gap="xsmall", key=f"tool_declared_{slug(tool.name)}"):
        with st.container(horizontal=True, vertical_alignment="center", gap="xsmall"):
            st.badge(safe_label(tool.name), icon=":material/build:", color="primary")
            st.badge("declared only", color="gray")
        st.text(literal(parameters_line(tool)))
        if tool.description:
            st.text(literal(tool.description))
        if tool.output_schema is not None:
            st.caption("Output schema")
            st.code(literal(show_json(tool.output_schema)), language="json", wrap_lines=True)
