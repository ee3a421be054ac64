"""Two tabs of one session: who acts on what another tab has changed meanwhile is told, and loses nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from app.live.agent_catalogue import catalogue
from app.live.live_sessions import LiveSession, registry
from app.live.session_opening import StartForm, open_session
from app.live.session_store import STORE_VARIABLE, close_store
from tests.app.page_driver import Tab

CANCEL = "Please cancel order A-1001 and refund me."


@pytest.fixture(autouse=True)
def _own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv(STORE_VARIABLE, str(tmp_path / "sessions.db"))
    monkeypatch.setattr("sys.argv", ["app"])
    close_store()
    yield
    registry().close_all()
    close_store()


def _session() -> LiveSession:
    live = open_session(StartForm(agent="order_desk", query=CANCEL), catalogue().config("order_desk"))
    tab = Tab(live.session_id)
    tab.click(tab.key("accept_"))
    return live


def _waits(live: LiveSession) -> list[str]:
    return [str(getattr(request, "tool_name", "")) for request in live.simulation.view().pending]


def test_an_undo_takes_back_what_the_tab_has_seen_or_nothing() -> None:
    """Another tab was faster: the click does nothing, says so, and counts when it is made again."""
    live = _session()
    first, second = Tab(live.session_id), Tab(live.session_id)
    first.click("undo_step")
    assert _waits(live) == ["find_order"]
    second.click("undo_step")
    assert _waits(live) == ["find_order"]
    assert "before your click" in second.literal
    second.click("undo_step")
    assert _waits(live) == []


def test_an_answer_that_came_too_late_is_said_and_kept() -> None:
    """The call was answered in another tab: the answer there stands, and what was typed here comes back with an undo."""
    live = _session()
    first, second = Tab(live.session_id), Tab(live.session_id)
    (editor,) = [each for each in second.app.text_area if str(each.key).startswith("response_")]
    editor.set_value('{"order_id": "A-1001", "status": "mine"}')
    first.click(first.key("accept_"))
    second.run()
    assert _waits(live) == ["refund_order"]
    second.click("undo_step")
    (editor,) = [each for each in second.app.text_area if str(each.key).startswith("response_")]
    assert editor.value == '{"order_id": "A-1001", "status": "mine"}'


def test_a_query_goes_where_the_tab_has_seen_the_session_end() -> None:
    """Two people write at once: what the slower one wrote was not sent, and stands in the input for the next query."""
    live = _session()
    live.simulation.stop()
    turns = len(live.simulation.session.turns)
    first, second = Tab(live.session_id), Tab(live.session_id)
    for tab, text in ((first, "One"), (second, "Two")):
        tab.app.text_area(key="query_text_query").set_value(text)
    first.click("query_send")
    second.click("query_send")
    assert len(live.simulation.session.turns) == turns + 1
    assert second.app.text_area(key="query_text_query").value == "Two"
    second.click("query_send")
    assert len(live.simulation.session.turns) == turns + 2
    assert second.app.text_area(key="query_text_query").value == ""
