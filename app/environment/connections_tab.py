"""How the tools of an agent hang together: as a graph, and as a table that can be edited."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import streamlit as st

from app.environment.connection_rows import PARTS, USES, ConnectionRow, read_edits, rows_of
from app.environment.table_widgets import editor_state, frame, height, is_new, problems
from app.forms.common_panel import problem
from app.forms.dot_graph import DARK, LIGHT, MOST_EDGES, dot, graph_of
from app.forms.safe_labels import literal, safe_label
from app.session.page_commands import Asked
from app.session.session_context import SessionContext
from simulator.agent_config import SimulatedAgentConfig
from simulator.base.json_values import canonical, digest
from simulator.environment.world.connections import NO_EDITS
from simulator.kernel.kernel_agent import model_problem
from simulator.session.commands import AnalyseConnections, ChangeSettings, StopAnalysing

if TYPE_CHECKING:
    from simulator.runtime.knowledge.world_view import WorldView
    from simulator.session.model import SessionEnvironment


_COLUMNS = ("tool", "part", "place", "kind", "use", "said_by", "why")
_NOTHING = "No tools known yet. They appear after the first message to the agent. Tools that you declare appear at once."
_HELP = (
    "What each tool does to entities: which ones a call reads, creates, changes or deletes. Change a cell, add a "
    "row or delete one. A row with the part **tool** describes the tool as a whole."
)
_PART_HELP = "A parameter, a field of the response, or the tool as a whole"
_PLACE_HELP = "The parameter or response field: order_id, items[*].sku. Empty for the tool as a whole"
_USE_HELP = (
    "What the call does to the entity. A response field gives ids of entities that exist, or creates them"
)


def connections_tab(scene: SessionContext) -> Asked | None:
    """Draw the connections; return what was asked for."""
    environment = scene.live.simulation.environment
    world = environment.world()
    if not world.tools and not world.connections.roles:
        st.caption(_NOTHING)
        return None
    now = environment.now
    connections_graph(world)
    asked: Asked | None = analysis(world, now, scene.live.config)
    rows = rows_of(world.connections, now.analysed_by)
    asked = _table(scene, world, rows) or asked
    if now.settings.connections != NO_EDITS and st.button(
        "Reset connections", key="connections_reset", icon=":material/undo:", type="tertiary"
    ):
        asked = ChangeSettings(fields={"connections": NO_EDITS})
    return asked


def connections_graph(world: WorldView) -> None:
    """Draw the tools and the kinds of things they work on, or some of them."""
    tools = [tool.name for tool in world.tools]
    every = graph_of(world.connections, tools)
    names = [*every.tools, *(kind for kind in every.kinds if kind not in every.tools)]
    if "connections_only" in st.session_state:
        st.session_state["connections_only"] = [
            name for name in st.session_state["connections_only"] if name in names
        ]
    only = st.multiselect(
        "Filter by tool or kind",
        names,
        format_func=literal,
        key="connections_only",
        placeholder="All",
        persist_state="session",
    )
    graph = graph_of(world.connections, tools, only=only)
    palette = DARK if st.context.theme.type == "dark" else LIGHT
    with st.container(border=True, key="connections_graph"):
        st.graphviz_chart(
            dot(graph, palette),
            width="content",
            alt="Tools and the entity kinds that they use. The table below lists the same connections",
        )
    if graph.hidden:
        st.caption(
            f"{graph.hidden} more not shown: the graph shows {MOST_EDGES}. Filter by tool or kind above."
        )


def _table(scene: SessionContext, world: WorldView, rows: tuple[ConnectionRow, ...]) -> Asked | None:
    st.caption(_HELP)
    key = f"connections_{digest(canonical([row.model_dump(mode='json') for row in rows]))[:10]}"
    tools = list(dict.fromkeys((*(tool.name for tool in world.tools), *(row.tool for row in rows))))
    st.data_editor(
        frame({name: [getattr(row, name) for row in rows] for name in _COLUMNS}),
        key=key,
        num_rows="dynamic",
        hide_index=True,
        disabled=["said_by", "why"],
        column_config=_config(tools),
        height=height(len(rows)),
        alt="Connections of the tools",
    )
    done = editor_state(key)
    settings = scene.live.simulation.environment.settings
    read = read_edits(rows, done, settings.connections, world.tools)
    problems(read.problems)
    if read.waits:
        st.caption(
            "The new row is saved when its tool, part, parameter or field, kind and use are filled in."
        )
    if read.problems or read.edits == settings.connections or not is_new(key, done, scene.view.version):
        return None
    return ChangeSettings(fields={"connections": read.edits})


def _config(tools: list[str]) -> dict[str, Any]:
    column = st.column_config
    return {
        "tool": column.SelectboxColumn("Tool", options=tools, required=True, width="medium"),
        "part": column.SelectboxColumn("Part", options=list(PARTS), required=True, help=_PART_HELP),
        "place": column.TextColumn("Parameter or field", help=_PLACE_HELP, width="medium"),
        "kind": column.TextColumn("Kind", help="The entity kind, in the singular: order"),
        "use": column.SelectboxColumn("Use", options=list(USES), required=True, help=_USE_HELP),
        "said_by": column.TextColumn("Source", help="Names of tools and parameters, a model, or you"),
        "why": column.TextColumn("Why", width="large"),
    }


# The way to ask a model how the tools hang together: its name, what it is at, and why it said nothing.


_FAILED = "The model's response cannot be used. Connections found in names still apply."


def analysis(world: WorldView, now: SessionEnvironment, config: SimulatedAgentConfig) -> Asked | None:
    """Draw the line about the model, which the agent's process asks; return what was asked for."""
    model = now.settings.simulation_model
    asked: Asked | None = None
    with st.container(
        border=True, horizontal=True, vertical_alignment="center", gap="small", key="connections_model"
    ):
        st.markdown(f":material/neurology: {_words(world, now, model)}", width="content")
        st.space("stretch")
        if world.analysing:
            if st.button("Stop", key="analysis_stop", icon=":material/stop_circle:"):
                asked = StopAnalysing()
        elif st.button(
            "Ask again" if now.analysed_by else "Ask a model",
            key="analysis_ask",
            icon=":material/hub:",
            disabled=not model,
            help="Sends one request with the names, descriptions and schemas of all tools",
        ):
            asked = AnalyseConnections()
    reason = model_problem(model, config) if model else None
    if reason:
        st.text(literal(f"{model} cannot be used here: {reason}"))
    if now.not_analysed and not world.analysing:
        problem(_FAILED, now.not_analysed)
    return asked


def _words(world: WorldView, now: SessionEnvironment, model: str) -> str:
    if world.analysing:
        return f"**{safe_label(model, 48)}** is analyzing the tools: {safe_label(world.analysing, 80)}"
    if now.by_model is not None and not now.not_analysed:
        return f"Found in names and schemas, and by **{safe_label(now.analysed_by, 48)}**"
    if model:
        return f"Found in names, schemas and descriptions. You can also ask **{safe_label(model, 48)}**"
    return "Found in names, schemas and descriptions. To ask a model too, set one in **Sources**"
