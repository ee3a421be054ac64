"""Draws a page anew as soon as its session has changed: in another tab, by itself, or on another server."""

from __future__ import annotations

import time
from collections.abc import Callable

import streamlit as st

from app.forms.widget_store import DraftStore, keep_typed
from app.live.click_waits import keep_drafts
from app.live.wake_ups import PATH, TABS, UNKNOWN_TAB, stamp
from app.session import page_state
from app.session.page_fragments import fragment

LOOK_AGAIN_IDLE_SECONDS = 3.0
"""How often a page looks by itself where nothing happens: what was typed is kept then, and no word can be missed for ever."""

HAND_OVER_MS = 40
"""How long an input takes, at most, to hand over what was typed."""

TYPING_PAUSE_MS = 700
"""Who has typed nothing more for so long has what they typed so far kept, while the input stays theirs."""

PATIENCE_SECONDS = 3.0
"""A browser that was asked to hand over what is typed, and does not within so long, is waited for no more."""

_ASKED = "studio:asked_to_hand_over"
_HANDED_OVER = "studio:handed_over"

TYPED_MS = 30_000
"""A page that is loaded again so soon puts back what the browser had not handed over yet."""

_EDITORS = (
    ":is(.st-key-pane_decision, .st-key-pane_case, .st-key-pane_case_side, .st-key-pane_rule_editor, .st-key-start_form)"
    " :is(textarea, input[type=number], input[type=text]:not([role=combobox]))"
)

_LINE = f"""
const lines = new WeakMap();

// An input hands over what is typed when it loses the focus: before the page is redrawn, or it would be lost.
function look(line) {{
  const typing = document.activeElement;
  // A list that is open would be closed by that, and holds nothing that is typed.
  const types = typing && typing.matches("input:not([role=combobox]), textarea");
  if (types) typing.blur();
  setTimeout(() => {{
    line.tell("look", Date.now());
    if (types && typing.isConnected) typing.focus({{ preventScroll: true }});
  }}, {HAND_OVER_MS});
}}

// What is typed in an editor is kept while it is still being written: a refresh or a crash leaves no time to leave the field.
function keep(line, typing) {{
  if (document.activeElement === typing) {{
    typing.blur();
    typing.focus({{ preventScroll: true }});
  }}
  setTimeout(() => {{
    line.told = true;
    line.tell("look", Date.now());
  }}, {HAND_OVER_MS});
}}

// What has not been handed over stays in this tab of the browser, for the page that a reload brings.
const TYPED = "studio:typed";
const keyOf = (field) => [...(field.closest('[class*="st-key-"]')?.classList ?? [])].find((name) => name.startsWith("st-key-"));

function note(field) {{
  const typed = {{ page: location.search, key: keyOf(field), text: field.value, at: Date.now() }};
  try {{
    sessionStorage.setItem(TYPED, JSON.stringify(typed));
  }} catch {{
    forget(); // a browser that keeps nothing, or not so much
  }}
}}

function forget() {{
  try {{
    sessionStorage.removeItem(TYPED);
  }} catch {{}}
}}

// A click of a button, or the keys that send, hand all over.
function sends(event) {{
  if (event.type === "click" ? event.target.closest?.("button") : event.key === "Enter" && (event.ctrlKey || event.metaKey)) forget();
}}

function putBack(typed, tries = 50) {{
  const field = document.querySelector(`.${{CSS.escape(typed.key)}} :is(textarea, input)`);
  if (!field) return tries && setTimeout(() => putBack(typed, tries - 1), 100);
  if (field.value === typed.text) return;
  field.focus({{ preventScroll: true }});
  Object.getOwnPropertyDescriptor(Object.getPrototypeOf(field), "value").set.call(field, typed.text);
  field.dispatchEvent(new Event("input", {{ bubbles: true }}));
}}

function begin() {{
  let typed = null;
  try {{
    typed = JSON.parse(sessionStorage.getItem(TYPED) ?? "null");
  }} catch {{}}
  if (typed && typed.page !== location.search) return; // it is for the page that Forward or Back leads to
  forget();
  if (typed?.key && Date.now() - typed.at < {TYPED_MS}) putBack(typed);
}}

export default function ({{ data, parentElement, setTriggerValue }}) {{
  const before = lines.get(parentElement);
  if (before && before.token === data.token) {{
    before.tell = setTriggerValue;
    if (data.behind && data.behind !== before.behind) look(before);
    before.behind = data.behind;
    if (before.told) forget();
    before.told = false;
    return before.end;
  }}
  if (before) before.end();
  const line = {{ token: data.token, behind: "", tell: setTriggerValue, pause: 500, over: false }};
  const open = () => {{
    if (line.over || !data.token) return;
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
  const typed = (event) => {{
    clearTimeout(line.typing);
    line.told = false;
    if (event.isComposing || !event.target.matches("{_EDITORS}")) return;
    note(event.target);
    line.typing = setTimeout(() => keep(line, event.target), {TYPING_PAUSE_MS});
  }};
  document.addEventListener("input", typed);
  for (const kind of ["click", "keydown"]) document.addEventListener(kind, sends, true);
  line.end = () => {{
    line.over = true;
    document.removeEventListener("input", typed);
    for (const kind of ["click", "keydown"]) document.removeEventListener(kind, sends, true);
    clearTimeout(line.typing);
    clearTimeout(line.waits);
    if (line.socket) line.socket.close();
    lines.delete(parentElement);
  }};
  lines.set(parentElement, line);
  open();
  begin();
  return line.end;
}}
"""
_line = st.components.v2.component("studio_line", html="<span></span>", js=_LINE)


def look_again(
    session_id: str, drawn: str, every: float | None = None, draw: Callable[[], None] | None = None
) -> None:
    """Keep the page up to date, and keep what was typed so far for a refresh; call it once in each run.

    What is typed in an input stays in the browser until the input loses the focus, or is told to hand it over. So a
    page that is behind is drawn anew only after it was: what the new page has in that place would be put over it.

    Args:
        session_id: What the page shows.
        drawn: The session's stamp when the page was drawn; empty where the page looks in its own way.
        every: How often the page looks by itself, in seconds, where something happens by itself.
        draw: Draws what changes with the time alone.
    """
    if not drawn:  # the page itself looks whether the session has changed
        if draw is not None:
            fragment(draw, every)()
        return
    token = page_state.tab()
    TABS.show(token, session_id, drawn)

    def look() -> None:
        now = stamp(session_id)
        has_all = st.session_state.pop(_HANDED_OVER, False) or _has_waited(now != drawn)
        if page_state.is_owed() or (now != drawn and has_all):
            st.rerun()  # which keeps what was typed, also where the session is not here any more
        if (
            now == drawn
        ):  # else the session may not be here any more, and the next run knows where its texts are kept
            keep_typed(page_state.drafts())
            draw_again_if_unsaid(keep_drafts())
        _draw_line(token, "" if now == drawn else now)
        if draw is not None:
            draw()

    fragment(look, every or LOOK_AGAIN_IDLE_SECONDS)()


def keep_unsent(drafts: DraftStore) -> None:
    """Keep what was typed so far for a refresh, on a page that follows no session; call it once in each run, after the inputs."""

    def look() -> None:
        st.session_state.pop(_HANDED_OVER, None)
        keep_typed(drafts)
        _draw_line("", "")

    fragment(look)()


def _draw_line(token: str, behind: str) -> None:
    with st.container(key="line"):
        data = {"token": token, "path": PATH.lstrip("/"), "behind": behind}
        _line(key="line_of_tab", data=data, on_look_change=_hand_over)


def draw_again_if_unsaid(unstored: str | None) -> None:
    """Draw the page again where it does not say that what was typed is not stored, or still does; `unstored` is why it is not."""
    if bool(unstored) != bool(page_state.get("unstored_input")):
        st.rerun()


def _hand_over() -> None:
    """Note that the browser has sent what is typed; it says so when it is woken, or when it was asked to."""
    st.session_state[_HANDED_OVER] = True


def _has_waited(is_behind: bool) -> bool:
    """Return whether the browser was asked long ago to hand over what is typed; one whose page is behind is asked from now on."""
    if not is_behind:
        st.session_state.pop(_ASKED, None)
        return False
    asked: float = st.session_state.setdefault(_ASKED, time.monotonic())
    return time.monotonic() - asked > PATIENCE_SECONDS
