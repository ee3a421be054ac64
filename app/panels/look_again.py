"""Draws a page anew as soon as its session has changed: in another tab, by itself, or on another server."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from app import state
from app.kept import keep_typed
from app.stamps import TABS, stamp
from app.waking import PATH, UNKNOWN_TAB

LOOK_AGAIN_IDLE_SECONDS = 3.0
"""How often a page looks by itself where nothing happens: what was typed is kept then, and no word can be missed for ever."""

HAND_OVER_MS = 40
"""How long an input takes, at most, to hand over what was typed."""

_LINE = f"""
const lines = new WeakMap();

// An input hands over what is typed when it loses the focus: before the page is drawn anew, or it would be lost with it.
function look(line) {{
  const typing = document.activeElement;
  const types = typing && typing.matches("input, textarea");
  if (types) typing.blur();
  setTimeout(() => {{
    line.tell("look", Date.now());
    if (types && typing.isConnected) typing.focus({{ preventScroll: true }});
  }}, {HAND_OVER_MS});
}}

export default function ({{ data, parentElement, setTriggerValue }}) {{
  const before = lines.get(parentElement);
  if (before && before.token === data.token) {{
    before.tell = setTriggerValue;
    return before.end;
  }}
  if (before) before.end();
  const line = {{ token: data.token, tell: setTriggerValue, pause: 500, over: false }};
  const open = () => {{
    if (line.over) return;
    const address = new URL(data.path, document.baseURI);
    address.protocol = address.protocol === "https:" ? "wss:" : "ws:";
    const socket = (line.socket = new WebSocket(address));
    socket.onopen = () => {{
      line.pause = 500;
      socket.send(data.token);
    }};
    socket.onmessage = () => look(line);
    socket.onclose = (closed) => {{
      if (closed.code === {UNKNOWN_TAB}) return;
      line.pause = Math.min(line.pause * 2, 30000);
      line.waits = setTimeout(open, line.pause);
    }};
  }};
  line.end = () => {{
    line.over = true;
    clearTimeout(line.waits);
    if (line.socket) line.socket.close();
    lines.delete(parentElement);
  }};
  lines.set(parentElement, line);
  open();
  return line.end;
}}
"""
_line = st.components.v2.component("studio_line", html="<span></span>", js=_LINE)


def look_again(
    session_id: str, drawn: str, every: float | None = None, draw: Callable[[], None] | None = None
) -> None:
    """Keep the page up to date, and keep what was typed so far for a refresh; call it once in each run.

    The browser sends what was typed and not sent along with each look.

    Args:
        session_id: What the page shows.
        drawn: The session's stamp when the page was drawn; empty where the page looks in its own way.
        every: How often the page looks by itself, in seconds, where something happens by itself.
        draw: Draws what changes with the time alone.
    """
    if not drawn:  # the page itself looks whether the session has changed
        if draw is not None:
            st.fragment(draw, run_every=every)()
        return
    token = state.tab()
    TABS.show(token, session_id, drawn)

    def look() -> None:
        if stamp(session_id) != drawn:
            st.rerun()  # which keeps what was typed, also where the session is not here any more
        keep_typed(state.drafts())
        with st.container(key="line"):
            _line(key="line_of_tab", data={"token": token, "path": PATH.lstrip("/")}, on_look_change=_nothing)
        if draw is not None:
            draw()

    st.fragment(look, run_every=every or LOOK_AGAIN_IDLE_SECONDS)()


def _nothing() -> None:
    """Stand for a callback: with one, the word that comes over the line counts as something to look for."""
