"""Draws the page that the address names: the start page, a session, a shared one, or the eval sets.

The start page comes first and needs a quarter of the modules. The other pages are imported when they are drawn, or a moment after the start page by
`app.live.agent_catalogue`.
"""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from app.forms.widget_store import DraftStore, acknowledge, gather
from app.live.click_waits import keep_drafts
from app.live.live_sessions import LiveSession
from app.live.shared_sessions import NotSharedError
from app.live.upload_quota import note_page
from app.live.wake_ups import TABS
from app.screens.keyboard_panel import color_scheme
from app.screens.login_panel import gate
from app.screens.sidebar_panel import side
from app.screens.start_page import start_page
from app.screens.unreadable_drafts_panel import try_without_drafts, was_drawn
from app.server.login import is_logged_in, providers, visitor
from app.server.owners import NobodyError
from app.session import document_page, page_state
from app.session.page_commands import saw
from app.session.page_fragments import begin_page, note_offers
from app.session.refresh_panel import draw_again_if_unsaid

_STYLES = Path(__file__).parents[1] / "styles.css"


def page() -> None:
    """Draw the page that the address names."""
    st.set_page_config(
        page_title="Golden Trace Studio",
        page_icon="\U0001f3ac",
        layout="wide",
        initial_sidebar_state=232,
    )
    st.html(_STYLES)
    color_scheme()
    try:
        note_page(visitor().owner)
    except NobodyError as error:
        gate(error, providers(), is_logged_in=is_logged_in())
        return
    page_state.arrive()
    TABS.begin(page_state.tab())
    live = page_state.current()
    begin_page(page_state.shared_token() if live is not None and live.read_only else None)
    _gather(live)
    page_state.put("unstored_input", keep_drafts())
    try:
        _shown(live)
    except NotSharedError:  # the sharing has ended meanwhile: the next run finds nothing there
        st.rerun()
    except Exception as error:  # noqa: BLE001 - raised again, but where it was what somebody typed
        try_without_drafts(live, error)
    unstored = keep_drafts()  # also of what the page itself has put there
    was_drawn()
    saw(None if live is None or live.read_only else live)
    page_state.settle()
    acknowledge()
    note_offers()
    draw_again_if_unsaid(unstored)


def _shown(live: LiveSession | None) -> None:
    """Draw what the address names; what the start page does without is imported when somebody needs it."""
    if page_state.document() is not None and (file := document_page.wanted()) is not None:
        side()
        document_page.draw(file)
    elif page_state.is_on_sets():
        from app.screens.eval_sets_page import sets_page  # noqa: PLC0415 - the start page does without

        side()
        sets_page()
    elif live.read_only if live is not None else page_state.shared_token():
        from app.screens import shared_page  # noqa: PLC0415 - the start page does without

        if live is not None:
            shared_page.watching(live)
        else:
            shared_page.not_shared(page_state.shared_token() or "")
    elif live is not None or page_state.session_id():
        from app.screens import session_page  # noqa: PLC0415 - the start page does without

        if live is not None:
            session_page.draw_session(live)
        else:
            session_page.bring_back(page_state.session_id() or "")
    else:
        side()
        start_page()


def _gather(live: LiveSession | None) -> None:
    """Keep what was typed since the last run, for the session that was on the screen then."""
    shown = page_state.get("shown")
    looked_at = f"shared {live.session_id}" if live and live.read_only else ""
    own = live.session_id if live and not live.read_only else None
    on_set = page_state.get("shown_set")
    drafts: DraftStore = page_state.drafts_of(str(shown)) if shown else page_state.start_texts()
    if on_set:
        from app.evalsets.open_sets import edited_sets  # noqa: PLC0415 - the start page does without

        drafts = edited_sets().drafts(visitor().owner, str(on_set))
    here = page_state.set_path() if page_state.is_on_sets() else None
    gather(drafts, f"set {here}" if here else own or looked_at)
    page_state.put("shown", own)
    page_state.put("shown_set", None)
