"""Folds the context pane away and back. Until somebody has chosen, the style sheet decides by the width of the window."""

from __future__ import annotations

from typing import Literal, TypeAlias

import streamlit as st

from app.forms.widget_store import KeptInputs
from app.live.live_sessions import LiveSession, UnsentTexts
from app.session import page_state

Fold: TypeAlias = Literal["auto", "open", "folded"]

_FOLDS: tuple[Fold, ...] = ("auto", "open", "folded")
_NAME = "fold"
CONTEXT_VIEW = "context_view"
"""The key of what the pane shows."""


def fold_of(live: LiveSession) -> Fold:
    """Return how the pane is; it is kept with the session, or in the tab where the session is another's."""
    kept = page_state.get("context_fold") if live.read_only else _kept(live.drafts).value(_NAME)
    return next((each for each in _FOLDS if each == kept), "auto")


def show_context(live: LiveSession) -> None:
    """Draw the way to the pane where it may be folded away."""
    fold = fold_of(live)
    with st.container(key=f"context_way_{fold}", width="content"):
        if fold != "open":
            st.button(
                "Context",
                key="context_show",
                icon=":material/right_panel_open:",
                help="Show rules, state, the model's view and seats next to the decision",
                on_click=_put,
                args=(live, "open"),
            )
        else:
            st.empty()


def hide_context(live: LiveSession) -> None:
    """Draw the way to fold the pane away."""
    st.button(
        "Hide context",
        key="context_hide",
        type="tertiary",
        icon=":material/right_panel_close:",
        help="Hide this pane. The decision gets its room.",
        on_click=_put,
        args=(live, "folded"),
    )


def seats_button(drafts: UnsentTexts) -> None:
    """Draw the way to the seats, where a failure is shown that another player would not have."""
    st.button(
        "Show seats",
        key="show_seats",
        type="tertiary",
        icon=":material/event_seat:",
        help="Choose who plays the user, the agents and the tools",
        on_click=_show_seats,
        args=(drafts,),
    )


def _show_seats(drafts: UnsentTexts) -> None:
    st.session_state[CONTEXT_VIEW] = "Seats"
    _kept(drafts).put(_NAME, "open")


def _put(live: LiveSession, fold: Fold) -> None:
    if live.read_only:
        page_state.put("context_fold", fold)
    else:
        _kept(live.drafts).put(_NAME, fold)


def _kept(drafts: UnsentTexts) -> KeptInputs:
    return KeptInputs(drafts, "context")
