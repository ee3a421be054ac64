"""Sessions outlive the server: they are brought back with what was typed, and looked after in the list."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from app.live.agent_catalogue import catalogue
from app.live.live_sessions import Registry, registry
from app.live.reopened_sessions import NotReopenedError, reopened
from app.live.session_opening import StartForm, open_session
from app.live.session_store import (
    STORE_VARIABLE,
    StoreOfServer,
    open_in_background,
    opened,
    server_store,
)
from app.screens.session_list import SessionLine
from app.screens.sidebar import forget_lists
from app.screens.sidebar_panel import SHOWN_SESSIONS
from app.server.owners import LOCAL
from simulator.agents import catalogue_for
from simulator.store import JournalStore
from tests.app.desk_sessions import CANCEL, TYPED, begun, live_of, server_ends, waits
from tests.app.page_driver import Tab


@pytest.fixture
def session_id(store: JournalStore) -> str:
    """A session with the order desk that waits for an answer, for which somebody has typed something."""
    return Tab(begun().session_id).type("response_", TYPED).session_id or ""


@pytest.mark.long
def test_a_session_whose_agent_is_gone_can_be_read(session_id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page says why it cannot be played and what has happened, and tries again when asked to."""
    server_ends()
    with monkeypatch.context() as patch:
        patch.setattr("sys.argv", ["app", "--no-demos"])
        tab = Tab(session_id)
        assert "'order_desk'" in tab.literal
        assert CANCEL in tab.literal
    tab.click("reopen")
    assert waits(session_id) == ["find_order"]


def test_sessions_are_renamed_copied_archived_deleted_and_restored(
    session_id: str, store: JournalStore
) -> None:
    """Each from the list, and a deleted one comes back by one click; they are found by what is said of them, in any order and case."""
    tab = Tab(session_id)
    assert not tab.has(f"describe_{session_id}")
    tab.unfold(f"kept_menu_{session_id}")
    tab.fill(f"name_{session_id}", "My **golden** one")
    tab.fill(f"tags_{session_id}", "refunds, , smoke")
    tab.fill(f"notes_{session_id}", "Look at the money.").click(f"describe_{session_id}")
    record = store.record(session_id)
    assert (record.name, record.tags) == ("My **golden** one", ("refunds", "smoke"))
    assert record.notes == "Look at the money."
    line = SessionLine(
        session_id="a", title=record.name, agent="Desk", is_live=False, tags=record.tags, notes="money"
    )
    assert (line.holds(["smoke", "desk", "mon", "gold"]), line.holds(["smoke", "other"])) == (True, False)
    assert tab.live_marks() == []
    tab.in_menu("duplicate", session_id)
    copy = tab.session_id
    assert copy not in {None, session_id}
    assert len(store.records(LOCAL)) == 2
    tab.in_menu("archive", session_id)
    assert not tab.has(f"recent_{session_id}")
    tab.fill("session_archive", True)
    assert tab.run().has(f"recent_{session_id}")
    tab.in_menu("delete", session_id)
    assert store.record(session_id).deleted_at is not None
    with pytest.raises(NotReopenedError, match="deleted"):
        reopened(session_id)
    tab.click("undelete")
    assert store.record(session_id).deleted_at is None


@pytest.mark.long
def test_a_deleted_session_is_restored_later_or_deleted_for_good(
    session_id: str, store: JournalStore
) -> None:
    """Those that were deleted have a list of their own; what was restored in another tab meanwhile is not deleted for good.

    Of a long list those that were changed last are shown, and how many more there are.
    """
    store.rename(session_id, "My **golden** one")
    tab = Tab(session_id).in_menu("delete", session_id)
    tab.fill("session_bin", True)
    assert "My **golden** one" in tab.run().literal
    tab.click(f"restore_{session_id}")
    assert store.record(session_id).deleted_at is None
    assert not tab.has(f"purge_{session_id}")
    tab.in_menu("delete", session_id)
    tab.fill("session_bin", True).run()
    store.restore(session_id)
    tab.click(f"purge_{session_id}")
    assert store.record(session_id).deleted_at is None
    tab.in_menu("delete", session_id)
    tab.fill("session_bin", True).run().click(f"purge_{session_id}")
    assert store.records(LOCAL, deleted=True) == []
    made = begun().session_id
    for _ in range(SHOWN_SESSIONS + 2):
        store.delete(store.duplicate(made).session_id)
    forget_lists()
    tab = Tab(made)
    tab.fill("session_bin", True)
    assert "and 2 older ones" in tab.run().words
    assert len(tab.keys("restore_")) == SHOWN_SESSIONS


def test_a_session_is_where_it_was_when_it_or_the_server_comes_back(session_id: str) -> None:
    """The call waits, and what was typed for it stands in the editor; the journal is the same to the fact, and it is brought back once.

    Where the limit is reached, the one that nobody has looked at for longest goes to rest.
    """
    before = live_of(session_id).simulation.journal.to_json()
    small = Registry(limit=1)
    small.get_or_take_in(session_id, lambda: live_of(session_id))
    small.check_room()
    assert small.get(session_id) is None
    ends: tuple[Callable[[], object], ...] = (lambda: registry().close(session_id), server_ends)
    for end in ends:
        end()
        assert Tab(session_id).typed("response_") == TYPED
        assert live_of(session_id).simulation.journal.to_json() == before
        assert waits(session_id) == ["find_order"]
    server_ends()
    assert reopened(session_id) is reopened(session_id)
    assert len(registry().newest_first()) == 1


def test_another_process_that_went_on_is_shown_and_nothing_is_lost(
    session_id: str, store: JournalStore
) -> None:
    """Who acts on an old head is told, sees how it stands, and finds what they did as a branch."""
    tab = Tab(session_id)
    elsewhere = store.load(session_id)
    elsewhere.move_head(elsewhere.head - 1)
    elsewhere.keep()
    length = store.place(session_id).length
    tab.click(tab.key("accept_"))
    assert "another server" in tab.words
    journal = live_of(session_id).simulation.journal
    assert journal.head == elsewhere.head
    assert len(journal) > length


def test_a_store_that_cannot_be_opened_is_said(tmp_path: Path) -> None:
    """The studio works all the same, and says what does not."""
    broken = tmp_path / "sessions.db"
    broken.write_text("This is no database, and longer than the head of one would be." * 40)
    tried = opened({STORE_VARIABLE: str(broken)})
    assert tried.store is None
    assert str(broken) in tried.problem
    none = opened({STORE_VARIABLE: "none"})
    assert none.problem == ""
    assert f"{STORE_VARIABLE}=none" in none.caution


def test_where_nothing_is_kept_the_list_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """The reason may come from the database: it is shown as it is."""
    words = "**strong** ![x](http://evil.example/a.png)"
    held: Any = server_store()
    monkeypatch.setattr("app.screens.sidebar.store_if_open", lambda: type(held)(problem=words))
    tab = Tab()
    assert words in tab.literal
    assert tab.live_marks() == []
    off = "in memory only"
    assert off not in tab.words
    monkeypatch.setattr("app.screens.sidebar.store_if_open", lambda: type(held)(is_off=True))
    assert off in Tab().words


def test_the_list_says_that_it_is_opening_and_then_lists(
    session_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until the store is open nobody knows whether there are sessions: the list says so, and then shows them by itself."""
    server_ends()
    may_open = Event()

    def slowly(environ: Mapping[str, str]) -> StoreOfServer:
        may_open.wait(60)
        return opened(environ)

    # A database that takes its time to open, as one that is upgraded or far away does.
    monkeypatch.setattr("app.live.session_store.opened", slowly)
    tab = Tab()
    assert "Loading" in tab.words
    assert "None yet" not in tab.words
    assert not tab.has(f"recent_{session_id}")
    opens = open_in_background()
    assert opens is not None
    may_open.set()
    opens.join(60)
    tab.run()
    assert "Loading" not in tab.words
    assert tab.has(f"recent_{session_id}")


@pytest.mark.long
def test_an_agent_that_is_the_same_is_not_called_changed(
    store: JournalStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a restart it is loaded anew, and seated before it is compared; its model goes by name or is inherited."""
    folder = tmp_path / "agents" / "desk"
    folder.mkdir(parents=True)
    (folder / "agent.py").write_text(
        "from google.adk.agents import LlmAgent\n"
        "root_agent = LlmAgent(name='desk', model='gemini-2.5-flash', sub_agents=[LlmAgent(name='helper')])\n"
    )
    monkeypatch.setattr("sys.argv", ["app", "--agents-dir", str(folder.parent), "--no-demos"])
    ids = []
    for _ in range(3):
        form = StartForm(agent="desk", query="Hello", agent_player="person")
        ids.append(open_session(form, catalogue().config("desk")).session_id)
    server_ends()
    catalogue_for.cache_clear()
    words = {each: Tab(each).literal for each in ids}
    assert all("Hello" in text and "has changed" not in text for text in words.values())
