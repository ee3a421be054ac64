"""The page of a session's environment: its tabs, what waits meanwhile, and the way back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

import streamlit as st

from app.environment.connections_tab import connections_tab
from app.environment.sources_tab import sources_tab
from app.environment.tools_tab import tools_tab
from app.environment.world_tab import world_tab
from app.forms.common_panel import page_head
from app.forms.safe_labels import safe_label
from app.live.live_sessions import title
from app.rules.rules_tab import rules_tab
from app.session.named_view_widgets import named_views
from app.session.page_commands import Asked, Show
from app.session.refresh_panel import look_again
from app.session.session_context import SessionContext
from app.session.timeline_view import is_underway, status, waits_for_reply
from simulator.seats.requests import CodeRequest, ModelRequest, Request, ToolRequest

Tab: TypeAlias = Callable[[SessionContext], Asked | None]
"""Draws one tab below the head; gives what was asked for in it."""

TABS: Mapping[str, Tab] = {
    "Rules": rules_tab,
    "World": world_tab,
    "Connections": connections_tab,
    "Sources": sources_tab,
    "Tools": tools_tab,
}
"""The tabs by name, in their order; another one is a panel of its own and a line here."""

LOOK_AGAIN_SECONDS = 0.5


def environment(scene: SessionContext) -> Asked | Show | None:
    """Draw the page; return what was asked for."""
    back = page_head(
        "Environment",
        title(scene.session),
        status(scene.view, by_script=scene.live.plays_script),
        "environment",
        back_help="Everything here is saved",
    )
    asked: Asked | Show | None = Show(view=None) if back else None
    with st.container(horizontal=True, vertical_alignment="center", gap="xsmall", key="environment_line"):
        chosen = named_views("Part of the environment", list(TABS), "environment_tab")
        st.space("stretch")
        asked = Show(view=None) if _waiting(scene) else asked
    with st.container(key=f"shape_{chosen.lower()}", gap="small"):
        asked = TABS[chosen](scene) or asked
    look_again(scene.live.session_id, scene.stamp, LOOK_AGAIN_SECONDS if is_underway(scene.view) else None)
    return asked


def _waiting(scene: SessionContext) -> bool:
    """Say in a line what waits for a person in the session; return whether they go there."""
    words = _waiting_words(scene)
    if not words:
        return False
    st.markdown(f":material/hourglass_top: {words}", width="content")
    return st.button(
        "Go to session", key="environment_answer", icon=":material/arrow_forward:", type="tertiary"
    )


def _waiting_words(scene: SessionContext) -> str:
    pending = scene.view.pending
    if scene.live.plays_script:
        return ""
    if pending:
        more = f", and {len(pending) - 1} more" if len(pending) > 1 else ""
        return f"{_asks(pending[0])} is waiting for you in the session{more}"
    return "The agent is waiting for your reply in the session" if waits_for_reply(scene.session) else ""


def _asks(request: Request) -> str:
    match request:
        case ToolRequest():
            return f"A call to **{safe_label(request.tool_name, 32)}**"
        case ModelRequest():
            return f"The turn of **{safe_label(request.agent, 32)}**"
        case CodeRequest():
            return f"The code of **{safe_label(request.agent, 32)}**"
