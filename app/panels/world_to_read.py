"""The environment of a session, to read: what there is, how the tools hang together, the rules, and what answers are drawn from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st
from pydantic import JsonValue

from app.connection_rows import rows_of
from app.jsontext import show_json
from app.labels import literal, safe_label
from app.overview import status, title
from app.panels.connections_tab import connections_graph
from app.panels.editing import look_at
from app.panels.parts import page_head, views
from app.panels.sources_to_read import recordings_to_read, tools_to_read
from app.panels.to_read import rules_to_read
from app.scene import Scene
from app.world_words import flag_lines

if TYPE_CHECKING:
    from simulator.runtime.world_view import WorldTable, WorldView

_PARTS = ("Things", "Connections", "Rules", "Recordings", "Tools")


def world_to_read(scene: Scene) -> bool:
    """Draw the page; True when it was asked for the session itself."""
    back = page_head("World", title(scene.session), status(scene.view), "environment")
    with st.container(horizontal=True, vertical_alignment="center", gap="xsmall", key="environment_line"):
        chosen = views("Part of the world", _PARTS, "world_to_read_part")
    with st.container(key="shape_to_read", gap="small"):
        match chosen:
            case "Things":
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


def _things(scene: Scene, world: WorldView) -> None:
    lines = flag_lines(world.flags, scene.session.history)
    if lines:
        with st.container(border=True, gap="xxsmall", key="world_flags"):
            st.markdown(":material/flag: **Answers that contradict what was known**")
            for line in lines:
                st.text(literal(line))
    if not world.tables:
        st.caption("The environment knows of nothing yet.")
    for place, table in enumerate(world.tables):
        st.markdown(f"**{safe_label(table.name)}** \u00b7 {len(table.ids)}")
        look_at(_rows(table), f"world_to_read_{place}", f"The things of a kind: {table.name}")
        if table.gone:
            st.text(literal(f"Gone: {', '.join(table.gone)}"))


def _rows(table: WorldTable) -> list[dict[str, str]]:
    """Give each thing with all of its fields as texts, the id first."""
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


def _connections(scene: Scene, world: WorldView) -> None:
    if not world.tools and not world.connections.roles:
        st.caption("No tool of this agent is known yet.")
        return
    connections_graph(world)
    rows = rows_of(world.connections, scene.live.simulation.environment.now.analysed_by)
    shown = [row.model_dump(mode="json") for row in rows]
    look_at(shown, "connections_to_read", "The connections of the tools")
