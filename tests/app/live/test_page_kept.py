"""Sessions outlive the server: they are brought back with what was typed, and looked after in the list. What was typed and not sent belongs to a session."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from threading import Event
from typing import Any
from unittest import mock

import pytest

from app.decision.decision_panel import decision_panel
from app.forms.widget_store import KeptInputs, slug
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
from app.screens.session_list import DuplicateSession, ImportSession, SessionLine, carry_out
from app.screens.sidebar_panel import SHOWN_SESSIONS, forget_lists
from app.server.owners import LOCAL
from simulator.agents import DEMOS_DIR
from simulator.base.json_values import canonical, digest
from simulator.scripts import script_of
from simulator.store import JournalStore, read_session
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
    """Each from the list, and a deleted one comes back by one click; they are found by what is said of them, in any order and case.

    A copy has what was typed in the moment before the click, too.
    """
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
    tab.unfold(f"kept_menu_{session_id}").fill("response_", '{"typed": 2}').click(f"duplicate_{session_id}")
    copy = tab.session_id
    assert copy not in {None, session_id}
    assert Tab(copy).typed("response_") == tab.typed("response_") == '{"typed": 2}'
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
    monkeypatch.setattr("app.screens.sidebar_panel.store_if_open", lambda: type(held)(problem=words))
    tab = Tab()
    assert words in tab.literal
    assert tab.live_marks() == []
    off = "in memory only"
    assert off not in tab.words
    monkeypatch.setattr("app.screens.sidebar_panel.store_if_open", lambda: type(held)(is_off=True))
    assert off in Tab().words


@pytest.mark.long
def test_the_list_says_that_it_is_opening_and_then_lists(
    session_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until the store is open nobody knows whether there are sessions: the list says so, and then shows them by itself.

    What is below it keeps its position in the page, so that a click there is not lost.
    """
    Tab().in_menu("delete", begun().session_id)
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
    positions = len(tab.app.sidebar.children)
    opens = open_in_background()
    assert opens is not None
    may_open.set()
    opens.join(60)
    tab.run()
    assert "Loading" not in tab.words
    assert tab.has(f"recent_{session_id}")
    assert tab.has("session_bin")
    assert len(tab.app.sidebar.children) == positions


OTHER = '{"order_id": "A-1001", "status": "another"}'
ASKED = "What I would ask"


def _stored(store: JournalStore, session_id: str) -> dict[str, str]:
    store.keep_drafts()
    return store.drafts(session_id)


def _typed(store: JournalStore, session_id: str) -> set[str]:
    texts = (json.loads(text) for text in _stored(store, session_id).values())
    return {str(value) for text in texts for value in text["values"].values()}


def test_every_kind_of_text_goes_along(store: JournalStore) -> None:
    """The next query, the agent's turn, who speaks for the user, and what of a line was chosen: into a duplicate and an import."""
    made = begun("").session_id
    tab = Tab(made)
    tab.choose("context_view", "Seats")
    tab.fill("seat_user", "script").run()
    tab.type("script_user", "First.\nSecond.")
    tab.type("query_text_query", ASKED)
    copy = carry_out(store, DuplicateSession(session_id=made), LOCAL)
    store.keep_drafts()
    taken_in = carry_out(store, ImportSession(text=store.export(made)), LOCAL)
    assert len({made, copy, taken_in, None}) == 4
    for each in (copy, taken_in):
        shown = Tab(each)
        assert shown.typed("query_text_query") == ASKED
        shown.choose("context_view", "Seats")
        assert shown.typed("script_user") == "First.\nSecond."


@pytest.mark.long
@pytest.mark.parametrize(("query", "start"), [("", "query_text_query"), (CANCEL, "response_")])
def test_what_is_typed_in_one_session_never_stands_in_another(
    store: JournalStore, query: str, start: str
) -> None:
    """Two sessions in which all is alike but the id, in one tab: each shows its own text, in an input of its own."""
    first, second = (begun(query).session_id for _ in range(2))
    begins = Tab(second).typed(start)
    tab = Tab(first).type(start, TYPED)
    key = tab.key(start)
    tab.click(f"recent_{second}")
    assert tab.typed(start) == begins
    assert tab.key(start) != key, "the browser would hold on to what stands in it"
    tab.type(start, OTHER).click(f"recent_{first}")
    assert tab.typed(start) == TYPED
    assert {TYPED, OTHER} & _typed(store, first) == {TYPED}
    assert {TYPED, OTHER} & _typed(store, second) == {OTHER}


@pytest.mark.long
@pytest.mark.parametrize("with_id", [" ".join, lambda parts: digest(*parts)], ids=["plain", "digest"])
def test_what_was_kept_by_an_older_studio_is_shown(
    session_id: str, store: JournalStore, with_id: Any
) -> None:
    """It named the session in what it kept under the call's key; a text that names another session is not this one's, and one that is none does no harm."""
    (request,) = live_of(session_id).simulation.view().pending
    owner = slug(request.key)
    registry().close(session_id)
    store.put_drafts(session_id, dict.fromkeys(_stored(store, session_id)))
    values = {"response": OTHER, "offered": "before"}
    call = "find_order", canonical({"order_id": "A-1001"})
    store.put_drafts(session_id, {owner: json.dumps({"of": with_id((session_id, *call)), "values": values})})
    tab = Tab(session_id)
    assert tab.typed("response_") == OTHER
    tab.type("response_", TYPED)
    assert owner not in _stored(store, session_id)
    assert TYPED in _typed(store, session_id)
    registry().close(session_id)
    store.put_drafts(session_id, dict.fromkeys(_stored(store, session_id)))
    store.put_drafts(session_id, {owner: json.dumps({"of": with_id(("another", *call)), "values": values})})
    assert Tab(session_id).typed("response_") not in {OTHER, TYPED}
    for none in ("{", "[]", '{"of": [1], "values": {}}', '{"of": "", "values": []}', "[" * 10_000):
        registry().close(session_id)
        store.put_drafts(session_id, {owner: none})
        assert Tab(session_id).typed("response_") not in {OTHER, TYPED}, none[:40]


QUERIES = {
    "order_desk": CANCEL,
    "travel_planner": "Plan a weekend in Lisbon.",
}
STRANGE: tuple[Any, ...] = (
    5,
    -7.5,
    True,
    "",
    "strange \ud83d",
    [1],
    ["a", ["b"]],
    {"a": 1},
    None,
    [{"value": 1}],
    10**400,
)


@pytest.fixture
def asked_for(monkeypatch: pytest.MonkeyPatch) -> set[tuple[str, str, str]]:
    """Each input that the page asks for: its owner, what that is about, and its name."""
    found: set[tuple[str, str, str]] = set()
    value = KeptInputs.value

    def noted(self: KeptInputs, name: str, initial: Any = None) -> Any:
        found.add((self._owner, self._signature, name))
        return value(self, name, initial)

    monkeypatch.setattr(KeptInputs, "value", noted)
    return found


@pytest.mark.long
@pytest.mark.usefixtures("store")
@pytest.mark.parametrize("agent", ["order_desk", pytest.param("travel_planner", marks=pytest.mark.long)])
def test_a_page_is_drawn_whatever_is_kept(agent: str, asked_for: set[tuple[str, str, str]]) -> None:
    """Each input of the page keeps something that it can not hold; twice, as there may be others where something is kept."""
    form = StartForm(agent=agent, query=QUERIES[agent], seed="one for all")
    session_id = open_session(form, catalogue().config(agent)).session_id
    Tab(session_id)
    live = live_of(session_id)
    for strange in STRANGE * 2:
        owners: dict[tuple[str, str], dict[str, Any]] = {}
        for owner, signature, name in asked_for:
            owners.setdefault((owner, signature), {})[name] = strange
        for (owner, signature), values in owners.items():
            live.drafts[owner] = json.dumps({"of": signature, "values": values})
        assert Tab(session_id).keys("response_")


def _keep(session_id: str, strange: Any) -> tuple[str, str]:
    """Let the editor of the response keep something; return its owner and the text that is kept."""
    tab = Tab(session_id)
    tab.type("response_", "mine")
    live = live_of(session_id)
    ((owner, text),) = live.drafts.items()
    kept = json.loads(text)
    live.drafts[owner] = json.dumps({**kept, "values": {"response": strange}})
    return owner, live.drafts[owner]


@pytest.mark.usefixtures("store")
def test_what_no_field_can_hold_is_shown_until_it_is_dropped() -> None:
    """The field begins anew and can be used; the text is still there to be read and copied."""
    session_id = begun().session_id
    _, text = _keep(session_id, [{"order": 1}])
    tab = Tab(session_id)
    assert text in tab.literal
    assert "A-1001" in tab.typed("response_")
    tab.type("response_", '{"status": "mine"}')
    again = Tab(session_id)
    assert text in again.literal
    assert again.typed("response_") == '{"status": "mine"}'
    again.click("drop_aside")
    assert text not in again.literal
    assert not again.has("drop_aside")


@pytest.mark.usefixtures("store")
def test_what_was_typed_stays_where_something_else_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error is shown where it comes again, and the draft is what it was."""
    session_id = begun().session_id
    owner, _ = _keep(session_id, '{"status": "mine"}')
    for times in (1, 9):
        troubles = [RuntimeError("quite another trouble")] * times
        failing = mock.Mock(wraps=decision_panel, side_effect=[*troubles, *[mock.DEFAULT] * 9])
        with monkeypatch.context() as patch, ExitStack() as seen:
            patch.setattr("app.screens.session_page.decision_panel", failing)
            if times > 1:
                seen.enter_context(pytest.raises(AssertionError, match="encountered an error"))
            Tab(session_id)
        assert [*live_of(session_id).drafts] == [owner]
        assert Tab(session_id).typed("response_") == '{"status": "mine"}'


OLD, NEW = "order_desk", "counter"


@pytest.fixture
def agents(tmp_path: Path, store: JournalStore, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a copy of the order desk and another agent."""
    assert store.trouble is None
    folder = tmp_path / "agents"
    shutil.copytree(DEMOS_DIR / OLD, folder / OLD)
    (folder / "other").mkdir()
    (folder / "other" / "agent.py").write_text(
        "from google.adk.agents import LlmAgent\nroot_agent = LlmAgent(name='other', model='none')\n"
    )
    monkeypatch.setattr("sys.argv", ["app", "--agents-dir", str(folder), "--no-demos"])
    return folder


@pytest.fixture
def renamed_id(agents: Path) -> str:
    """A session whose first call was answered, and whose second one waits."""
    assert agents.is_dir()
    live = begun()
    tab = Tab(live.session_id)
    tab.click(tab.key("accept_"))
    return live.session_id


def _renamed(agents: Path, renamed_id: str, *, itself: bool = True) -> str:
    """End the server, rename the agent's folder and, if asked for, the agent in it; return the journal."""
    live = live_of(renamed_id)
    journal = live.simulation.journal.to_json()
    server_ends()
    (agents / OLD).rename(agents / NEW)
    if itself:
        for file in (agents / NEW).glob("*.py"):
            text = file.read_text()
            file.write_text(text.replace(f'name="{OLD}"', f'name="{NEW}"'))
        assert f'name="{NEW}"' in "".join(file.read_text() for file in (agents / NEW).glob("*.py"))
    return journal


@pytest.mark.long
@pytest.mark.parametrize("itself", [False, True], ids=["folder", "folder and agent"])
def test_it_continues_under_the_new_name(agents: Path, renamed_id: str, *, itself: bool) -> None:
    """A click goes on with it; the journal is as it was, what waits waits, and the next start knows the new name."""
    before = _renamed(agents, renamed_id, itself=itself)
    tab = Tab(renamed_id)
    assert f"'{OLD}'" in tab.literal
    assert NEW in tab.literal
    tab.click("continue_renamed")
    live = live_of(renamed_id)
    assert live.simulation.journal.to_json() == before
    view = live.simulation.view()
    assert view.divergence is None
    assert view.pending
    assert f"{OLD} is now called {NEW}" in tab.literal
    assert "has changed since" not in tab.literal
    length = len(live.simulation.journal)
    tab.click(tab.key("accept_"))
    assert live.simulation.view().divergence is None
    assert len(live.simulation.journal) > length
    server_ends()
    again = Tab(renamed_id)
    assert not again.has("continue_renamed")
    kept = server_store().store
    assert kept is not None
    assert kept.record(renamed_id).agent_key == NEW
    assert read_session(kept.export(renamed_id)).fold.agent_name == OLD
    assert script_of(kept.load(renamed_id)).turns
    assert registry().get(renamed_id) is not None


@pytest.mark.long
def test_what_else_changed_is_said(agents: Path, renamed_id: str) -> None:
    """As of any agent that has changed; the renaming itself is no change."""
    _renamed(agents, renamed_id)
    (path,) = [file for file in (agents / NEW).glob("*.py") if f'name="{NEW}"' in file.read_text()]
    path.write_text(path.read_text().replace(f'name="{NEW}"', f'name="{NEW}", global_instruction="Be kind."'))
    live = reopened(renamed_id, agent=NEW)
    assert live is not None
    assert f"{OLD} has changed (its global instruction)" in live.word
    assert "gone" not in live.word


def test_where_two_fit_nothing_is_offered(agents: Path, renamed_id: str) -> None:
    """The page names both; where none fits it says so."""
    _renamed(agents, renamed_id)
    shutil.copytree(agents / NEW, agents / "second")
    tab = Tab(renamed_id)
    assert f"({NEW}, second)" in tab.literal
    assert not tab.has("continue_renamed")
    for name in (NEW, "second"):
        shutil.rmtree(agents / name)
    tab.run()
    assert NEW not in tab.literal
    assert not tab.has("continue_renamed")
