"""Where the user speaks: the first query of a session, and the next one after each answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from app.decisions import SubmitQuery
from app.drafts import Drafts
from app.jsontext import JsonTextError, parse_object
from app.kept import Kept
from app.panels.parts import pane, pane_head, problem
from simulator.session.history import FinalResponse
from simulator.session.model import SessionState

if TYPE_CHECKING:
    from simulator.runtime import SimulationView

FORMS = ("Text", "JSON")


def query(view: SimulationView, drafts: Drafts) -> SubmitQuery | None:
    """Draw the pane; give the query that was sent."""
    chosen = pane_head("Query", FORMS, "query_form")
    with pane("decision"):
        _before(view)
        kept = Kept(drafts, "query", f"{view.session.session_id} {len(view.session.turns)}")
        if chosen == "Text":
            return _text(kept, is_first=not view.session.turns)
        return _json(kept)


def _before(view: SimulationView) -> None:
    """Say what came of the turn before."""
    session = view.session
    last = session.turns[-1] if session.turns else None
    final = session.history[-1] if session.history else None
    if last is None:
        st.markdown("**What shall the agent be asked?**")
        st.caption(
            "Then you play its world: each tool call waits here for your answer, with a draft to start from."
        )
    elif session.state is SessionState.COMPLETED and isinstance(final, FinalResponse):
        st.success(
            "The agent has answered. Export the trace, or go on asking.", icon=":material/check_circle:"
        )
        st.text(final.content)
    elif last.stopped:
        st.info("You stopped the turn. Ask again, or undo a step to go on from there.")
    elif last.error is not None:
        problem("The turn ended with an error.", f"{last.error.short_type}: {last.error.message}")


def _text(kept: Kept, *, is_first: bool) -> SubmitQuery | None:
    text = st.text_area(
        "Query" if is_first else "Next query",
        key=kept.widget("query_text", ""),
        placeholder="Write what a user would say.",
        height=140,
        on_change="ignore",
    )
    if not _send(is_first=is_first):
        return None
    if not (text or "").strip():
        problem("There is nothing to send yet; write a query first.")
        return None
    return SubmitQuery(message=text or "")


def _json(kept: Kept) -> SubmitQuery | None:
    st.caption("A whole message as google-genai's Content, for files or several parts")
    text = st.text_area(
        "Message (JSON)",
        key=kept.widget("query_json", '{"parts": [{"text": ""}]}'),
        height=220,
        on_change="ignore",
    )
    if not _send(is_first=True):
        return None
    try:
        return SubmitQuery(message=parse_object(text or ""))
    except JsonTextError as error:
        problem("The message was not sent.", str(error))
        return None


def _send(*, is_first: bool) -> bool:
    return st.button(
        "Send",
        key="query_send",
        type="primary" if is_first else "secondary",
        icon=":material/send:",
        shortcut="Mod+Enter",
    )
