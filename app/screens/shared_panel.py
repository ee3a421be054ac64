"""A shared session as somebody sees it who may only look: the line above the panes, what waits for its owner, and its rules, seats and environment."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st
from pydantic import JsonValue

from app.decision.held_message_panel import held_to_read
from app.decision.request_panel import arguments
from app.environment.connection_rows import rows_of
from app.environment.connections_tab import connections_graph
from app.environment.declared_tool_form import parameters_line
from app.environment.sources import call_rows, counted, tools_line
from app.environment.table_widgets import look_at
from app.environment.world_rows import flag_lines
from app.forms.common_panel import badge, page_head, pane
from app.forms.safe_labels import Badge, literal, safe_label
from app.forms.typed_json import show_json
from app.forms.widget_store import slug
from app.live.live_sessions import LiveSession, title
from app.live.player_names import AGENT_PLAYERS, PLAYERS
from app.live.rule_text import fired_color, rule_line
from app.session.context_fold_panel import show_context
from app.session.named_view_widgets import named_views
from app.session.page_commands import Show
from app.session.past_calls import times_fired
from app.session.running_panel import running
from app.session.session_context import SessionContext
from app.session.timeline_view import status
from app.session.user_form import USER_PLAYERS
from simulator.base.frozen_value import Value
from simulator.environment.world.tool_settings import DeclaredTool, EnvironmentSettings, ToolSettings
from simulator.facts import EVERY
from simulator.seats.requests import CodeRequest, ModelRequest, Request, ToolRequest
from simulator.session.history import FinalResponse

if TYPE_CHECKING:
    from simulator.runtime import SimulationView
    from simulator.runtime.knowledge.world_view import WorldTable, WorldView


_A_PERSON = "Person"


def rules_to_read(scene: SessionContext) -> None:
    """Draw the rules in their order, with how often each fired."""
    rules = scene.session.rules
    if not rules:
        st.caption("No rules.")
    fired = times_fired(scene.session)
    for rule in rules:
        with st.container(border=True, gap="xxsmall", key=f"rule_{slug(rule.rule_id)}"):
            with st.container(horizontal=True, vertical_alignment="center", gap="xsmall"):
                st.badge(safe_label(rule.rule_id, 32), color="gray")
                if not rule.enabled:
                    st.badge("off", color="gray", icon=":material/toggle_off:")
                if count := fired.get(rule.rule_id, 0):
                    st.badge(f"{count}\u00d7", color=fired_color(rule), help="Times fired in this session")
            st.text(literal(rule_line(rule)))


def seats_to_read(scene: SessionContext) -> None:
    """Draw who plays."""
    seats, user = scene.session.seats, scene.view.user.seat.player
    st.caption("User messages come from")
    st.text(literal(_A_PERSON if user == "person" else USER_PLAYERS[user]))
    st.caption("Agent responses come from")
    for name in scene.agents() or (EVERY,):
        player = seats.of_agent(name)
        st.text(literal(f"{_named(name)}: {_A_PERSON if player == 'person' else AGENT_PLAYERS[player]}"))
    st.caption("Tool calls are answered by (if no rule answers)")
    for name in (EVERY, *scene.tools()):
        of_tool = seats.of_tool(name)
        st.text(literal(f"{_named(name)}: {_A_PERSON if of_tool == 'person' else PLAYERS[of_tool].name}"))


def _named(name: str) -> str:
    return "All others" if name == EVERY else name


_PARTS = ("Entities", "Connections", "Rules", "Recordings", "Tools")


def world_to_read(scene: SessionContext) -> bool:
    """Draw the page; True when it was asked for the session itself."""
    back = page_head("World", title(scene.session), status(scene.view), "environment")
    with st.container(horizontal=True, vertical_alignment="center", gap="xsmall", key="environment_line"):
        chosen = named_views("Part of the world", _PARTS, "world_to_read_part")
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


READ_ONLY = Badge(text="Read-only", color="violet", icon=":material/visibility:")
_SHARED = "Shared with you, read-only."
_NOT_HERE = "Its owner does not have it open on this server. The timeline shows what happened."
_NOTHING = "Nothing is waiting. The owner can continue."


class CopyShared(Value):
    """Make a session of one's own out of one that is shared."""


def read_only_line() -> None:
    """Say above a page of a shared session that it is to read."""
    with st.container(horizontal=True, vertical_alignment="center", gap="xsmall", key="read_only_line"):
        badge(READ_ONLY)
        st.caption(_SHARED, width="content")


def watched_head(view: SimulationView, live: LiveSession, *, has_branches: bool) -> Show | CopyShared | None:
    """Draw the line above the panes; return what was clicked."""
    with st.container(
        horizontal=True, vertical_alignment="center", gap="xsmall", key="session_header", wrap=False
    ):
        with st.container(key="session_title", width="content"):
            st.text(literal(title(view.session)), wrap=False)
        st.badge(READ_ONLY.text, icon=READ_ONLY.icon, color=READ_ONLY.color, help=_SHARED)
        badge(status(view))
        badge(Badge(text=safe_label(view.session.agent_name, 28), color="gray", icon=":material/smart_toy:"))
        st.space("stretch")
        asked = _ways(view, has_branches=has_branches)
        show_context(live)
    return asked


def _ways(view: SimulationView, *, has_branches: bool) -> Show | CopyShared | None:
    asked: Show | CopyShared | None = None
    if has_branches and st.button(
        "Branches", key="open_branches", type="tertiary", icon=":material/alt_route:"
    ):
        asked = Show(view="branches")
    if st.button("World", key="open_world", type="tertiary", icon=":material/inventory_2:"):
        asked = Show(view="environment")
    if st.button(
        "Export",
        key="open_export",
        type="tertiary",
        icon=":material/download:",
        disabled=not view.session.turns,
    ):
        asked = Show(view="export")
    if st.button(
        "Make a copy",
        key="copy_shared",
        icon=":material/content_copy:",
        help="Creates your own session with the full history of this one. You can continue it.",
    ):
        asked = CopyShared()
    return asked


def what_waits(view: SimulationView, *, is_played: bool) -> None:
    """Draw what its owner is asked, and what is at work."""
    with st.container(
        horizontal=True, vertical_alignment="center", gap="xsmall", wrap=False, key="head_decision"
    ):
        st.markdown("**Waiting for the owner**", width="content")
    with pane("decision"):
        asked = [call for call in view.session.open_calls if not call.answered]
        running(view, alone=not view.pending and not asked, may_stop=False)
        for request in view.pending:
            with st.container(border=True, gap="xsmall", key=f"asked_{request.key}"):
                _request(request)
        for call in asked:
            with st.container(border=True, gap="xsmall", key=f"asked_{call.call_id}"):
                st.badge(safe_label(call.tool_name), color="primary")
                st.caption("This call is waiting for the user's reply.")
                arguments(call.arguments)
        if not (view.pending or asked or view.running or view.busy):
            _answered(view)
            if not held_to_read(view) or not is_played:
                st.caption(_NOTHING if is_played else _NOT_HERE)


def _answered(view: SimulationView) -> None:
    """Show what the agent said last, where nothing came after it."""
    last = view.session.history[-1] if view.session.history else None
    if isinstance(last, FinalResponse):
        st.caption("The agent has replied")
        st.text(literal(last.content))


def _request(request: Request) -> None:
    match request:
        case ToolRequest():
            st.badge(safe_label(request.tool_name), icon=":material/build:", color="primary")
            st.caption("This call is waiting for a response.")
            arguments(request.arguments)
        case ModelRequest():
            st.badge(safe_label(request.agent), icon=":material/smart_toy:", color="primary")
            st.caption("The next turn of this agent is waiting for a person.")
        case CodeRequest():
            st.badge(safe_label(request.agent), icon=":material/code:", color="primary")
            st.caption("The output of this code is waiting for a person.")
            st.code(literal(request.code), language="python", wrap_lines=True)
