"""A shared session as somebody sees it who may only look: the line above the panes, and what waits for its owner."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from app.decision.held_message_panel import held_to_read
from app.decision.request_panel import arguments
from app.forms.common_panel import badge, pane
from app.forms.safe_labels import Badge, literal, safe_label
from app.live.live_sessions import LiveSession, title
from app.session.context_fold_panel import show_context
from app.session.page_commands import Show
from app.session.running_panel import running
from app.session.session_summary import status
from simulator.base.frozen_value import Value
from simulator.seats.requests import CodeRequest, ModelRequest, Request, ToolRequest
from simulator.session.history import FinalResponse

if TYPE_CHECKING:
    from simulator.runtime import SimulationView

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
