"""Two tabs of one session: who acts on what another tab has changed meanwhile is told, and loses nothing."""

from __future__ import annotations

import pytest

from app.live.live_sessions import LiveSession
from tests.app.desk_sessions import TYPED, begun, waits
from tests.app.page_driver import Tab

pytestmark = pytest.mark.usefixtures("store")


def _session() -> LiveSession:
    live = begun()
    tab = Tab(live.session_id)
    tab.click(tab.key("accept_"))
    return live


@pytest.mark.long
def test_an_undo_takes_back_what_the_tab_has_seen_or_nothing() -> None:
    """Another tab was faster: the click does nothing, says so, and counts when it is made again."""
    live = _session()
    first, second = Tab(live.session_id), Tab(live.session_id)
    first.click("undo_step")
    assert waits(live.session_id) == ["find_order"]
    second.click("undo_step")
    assert waits(live.session_id) == ["find_order"]
    assert "before your click" in second.literal
    second.click("undo_step")
    assert waits(live.session_id) == []


@pytest.mark.long
def test_an_answer_that_came_too_late_is_said_and_kept() -> None:
    """The call was answered in another tab: the answer there stands, and what was typed here comes back with an undo."""
    live = _session()
    first, second = Tab(live.session_id), Tab(live.session_id)
    second.fill("response_", TYPED)
    first.click(first.key("accept_"))
    second.run()
    assert waits(live.session_id) == ["refund_order"]
    assert second.click("undo_step").typed("response_") == TYPED


def test_a_query_goes_where_the_tab_has_seen_the_session_end() -> None:
    """Two people write at once: what the slower one wrote was not sent, and stands in the input for the next query."""
    live = _session()
    live.simulation.stop()
    turns = len(live.simulation.session.turns)
    first, second = Tab(live.session_id), Tab(live.session_id)
    for tab, text in ((first, "One"), (second, "Two")):
        tab.fill("query_text_query", text)
    first.click("query_send")
    second.click("query_send")
    assert len(live.simulation.session.turns) == turns + 1
    assert second.app.text_area(key="query_text_query").value == "Two"
    second.click("query_send")
    assert len(live.simulation.session.turns) == turns + 2
    assert second.app.text_area(key="query_text_query").value == ""
