"""Sets aside what was typed where it keeps the page from being drawn: drafts of a session that was brought as a file may say anything.

The texts stay with the session, and are shown as they are, until somebody drops them.
"""

from __future__ import annotations

import logging

import streamlit as st

from app.forms.safe_labels import literal
from app.forms.widget_store import forget_drawn
from app.live.live_sessions import LiveSession, UnsentTexts
from app.session import page_state

_ASIDE = "aside:"
_AGAIN, _WITHOUT = "again", "without"
_LOG = logging.getLogger(__name__)


def try_without_drafts(live: LiveSession | None, error: Exception) -> None:
    """Draw the page once more, and then without what was typed, where that may be what is wrong.

    What fails once need not be in the texts: a database or an agent's process may have been late.

    Args:
        live: The session that could not be drawn.
        error: What was raised.

    Raises:
        Exception: `error` itself, where there is nothing to set aside; or where that did not help: all is where it was then.
    """
    if live is None or live.read_only:
        raise error
    session_id, stage = page_state.get("without_drafts") or ("", "")
    tried = stage if session_id == live.session_id else ""
    names = [name for name in live.drafts if not name.startswith(_ASIDE)]
    if tried == _WITHOUT:
        _bring_back(live.drafts)
        page_state.put("without_drafts", None)
        raise error
    if not names:
        raise error
    if tried == _AGAIN:
        _LOG.warning("What was typed in session %s cannot be shown", live.session_id, exc_info=error)
        for name in names:
            live.drafts[f"{_ASIDE}{name}"] = live.drafts.pop(name)
        forget_drawn()
    page_state.put("without_drafts", [live.session_id, _WITHOUT if tried else _AGAIN])
    st.rerun()


def was_drawn() -> None:
    """Note that the page was drawn to its end, with what was set aside or without."""
    page_state.put("without_drafts", None)


def texts_aside(drafts: UnsentTexts) -> dict[str, str]:
    """Return the texts that are set aside, by what they belonged to."""
    return {name: drafts[name] for name in drafts if name.startswith(_ASIDE)}


def show_set_aside(live: LiveSession) -> None:
    """Draw what is set aside, where there is something."""
    texts = texts_aside(live.drafts)
    if not texts:
        return
    with st.container(key="set_aside", border=True, gap="xsmall"):
        st.badge("Set aside", icon=":material/inventory_2:", color="orange")
        st.text(literal("Your unsent text does not fit its fields, so the fields were reset. The text was:"))
        st.code(literal("\n".join(texts.values())), language="json", height=140)
        st.button("Discard", key="drop_aside", on_click=_drop, args=(live,))


def _drop(live: LiveSession) -> None:
    for name in texts_aside(live.drafts):
        del live.drafts[name]


def _bring_back(drafts: UnsentTexts) -> None:
    for name, text in texts_aside(drafts).items():
        drafts.setdefault(name.removeprefix(_ASIDE), text)
        del drafts[name]
