"""The search: what is found by which words, in which order, and where it leads."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.live.agent_catalogue import catalogue
from app.live.live_sessions import registry
from app.live.recent_sets import remember_set
from app.screens.search_targets import MOST_FOUND, Searchable, Target
from app.server.owners import LOCAL
from tests.app.desk_sessions import live_of
from tests.app.page_driver import HOSTILE, Tab
from tests.evalset.editing.editing_sets import write_set


@pytest.fixture
def tab(monkeypatch: pytest.MonkeyPatch) -> Tab:
    """A session of the order desk that waits for an answer; the command line is an input of the process."""
    monkeypatch.setattr("sys.argv", ["main.py"])
    catalogue().load_all()
    return Tab().click("example_0_order_desk").click("start_session").run()


def labels(tab: Tab, words: str) -> list[str]:
    """Search for words; return what is found."""
    tab.click("search")
    tab.fill("search_words", words).run()
    return [tab.app.button(key=key).label for key in tab.keys("found_")]


def test_labels_that_begin_with_the_words_come_first() -> None:
    """All words have to be there, in any case; no more than `MOST_FOUND` are given, out of thousands."""
    named = [Target(kind="step", name=str(place), label=f"step {place}") for place in range(3_000)]
    others = [
        Target(kind="case", name="c", label="refund order", about="shop"),
        Target(kind="session", name="s", label="Order a refund", about="desk"),
        Target(kind="agent", name="a", label="desk", about="Handles orders"),
    ]
    targets = Searchable([*named, *others])
    assert [each.name for each in targets.found("ORDER")] == ["s", "c", "a"]
    assert [each.name for each in targets.found("refund  order")] == ["c", "s"]
    assert targets.found("order nowhere") == []
    assert len(targets.found("step")) == MOST_FOUND


def test_commands_are_carried_out_where_they_apply(tab: Tab) -> None:
    """The export opens, the first message is taken back, and the start page has no commands of a session."""
    session_id = str(tab.session_id)
    assert labels(tab, "export") == ["Export session"]
    tab.click("found_0")
    assert tab.has("export_head")
    assert labels(tab, "undo") == ["Undo step"]
    tab.click("found_0")
    live = live_of(session_id)
    assert live.simulation.session.turns == ()
    assert labels(tab, "new session") == ["New session"]
    tab.click("found_0")
    assert tab.has("start_session")
    assert labels(tab, "export") == []


@pytest.mark.long
def test_what_is_found_is_shown_literally_and_leads_there(tab: Tab, tmp_path: Path) -> None:
    """A case of a set that was used, and the session; names from outside come alive nowhere."""
    live = registry().newest_first()[0]
    path = write_set(tmp_path / "used.evalset.json", HOSTILE)
    remember_set(LOCAL, path)
    assert len(labels(tab, "used.evalset.json")) == 1
    assert tab.live_marks() == []
    tab.click("found_0")
    assert str(path) in tab.app.query_params["set"]
    assert tab.has("case_head")
    assert len(labels(tab, "is order desk")) == 1
    tab.click("found_0")
    assert tab.session_id == live.session_id
