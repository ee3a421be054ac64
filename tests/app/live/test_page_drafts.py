"""What was typed and not sent belongs to a session: its copies have it too, and no other session shows it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from app.live.agent_catalogue import catalogue
from app.live.live_sessions import registry
from app.live.session_opening import StartForm, open_session
from app.screens.session_list import DuplicateSession, ImportSession, carry_out
from app.server.owners import LOCAL
from simulator.base.json_values import canonical, digest
from simulator.store import JournalStore
from tests.app.page_driver import Tab

CANCEL = "Please cancel order A-1001 and refund me."
TYPED = '{"order_id": "A-1001", "status": "mine"}'
OTHER = '{"order_id": "A-1001", "status": "another"}'
ASKED = "What I would ask"


def _opened(query: str = CANCEL) -> str:
    form = StartForm(agent="order_desk", query=query, seed="one for all")
    return open_session(form, catalogue().config("order_desk")).session_id


def _editor(tab: Tab, start: str = "response_") -> Any:
    (found,) = [each for each in tab.app.text_area if str(each.key).startswith(start)]
    return found


def _type(tab: Tab, text: str, start: str = "response_") -> Tab:
    _editor(tab, start).set_value(text)
    return tab.run()


@pytest.fixture
def session_id(store: JournalStore) -> str:
    """A session that waits for the answer to a call, for which somebody has typed something."""
    made = _opened()
    _type(Tab(made), TYPED)
    return made


def _stored(store: JournalStore, session_id: str) -> dict[str, str]:
    store.keep_drafts()
    return store.drafts(session_id)


def _typed(store: JournalStore, session_id: str) -> set[str]:
    texts = (json.loads(text) for text in _stored(store, session_id).values())
    return {str(value) for text in texts for value in text["values"].values()}


def test_a_duplicate_shows_what_was_typed_for_the_session(session_id: str, store: JournalStore) -> None:
    """Also what was typed in the moment before the click; each goes on with its own text from there."""
    tab = Tab(session_id).unfold(f"kept_menu_{session_id}")
    _editor(tab).set_value(OTHER)
    tab.click(f"duplicate_{session_id}")
    copy = str(tab.session_id)
    assert copy != session_id
    assert _editor(tab).value == OTHER
    assert _editor(Tab(copy)).value == OTHER
    _type(tab, TYPED).click(f"recent_{session_id}")
    assert _editor(tab).value == OTHER
    assert _editor(tab.click(f"recent_{copy}")).value == TYPED


def test_an_imported_session_shows_what_was_typed_for_it(session_id: str, store: JournalStore) -> None:
    """Its id is another where its own is taken; the page shows the text all the same."""
    store.keep_drafts()
    made = carry_out(store, ImportSession(text=store.export(session_id)), LOCAL)
    assert made not in {None, session_id}
    assert _editor(Tab(made)).value == TYPED


def test_every_kind_of_text_goes_along(store: JournalStore) -> None:
    """The next query, the agent's turn, who speaks for the user, and what of a line was chosen."""
    made = _opened(query="")
    tab = Tab(made)
    tab.choose("context_view", "Seats")
    tab.app.selectbox(key=tab.key("seat_user")).set_value("script")
    tab.run()
    _type(tab, "First.\nSecond.", "script_user")
    _type(tab, ASKED, "query_text_query")
    copy = carry_out(store, DuplicateSession(session_id=made), LOCAL)
    shown = Tab(copy)
    assert _editor(shown, "query_text_query").value == ASKED
    shown.choose("context_view", "Seats")
    assert _editor(shown, "script_user").value == "First.\nSecond."


@pytest.mark.parametrize(("query", "start"), [("", "query_text_query"), (CANCEL, "response_")])
def test_what_is_typed_in_one_session_never_stands_in_another(
    store: JournalStore, query: str, start: str
) -> None:
    """Two sessions in which all is alike but the id, in one tab: each shows its own text, in an input of its own."""
    first, second = _opened(query), _opened(query)
    begins = _editor(Tab(second), start).value
    tab = _type(Tab(first), TYPED, start)
    key = _editor(tab, start).key
    tab.click(f"recent_{second}")
    assert _editor(tab, start).value == begins
    assert _editor(tab, start).key != key, "the browser would hold on to what stands in it"
    _type(tab, OTHER, start).click(f"recent_{first}")
    assert _editor(tab, start).value == TYPED
    assert {TYPED, OTHER} & _typed(store, first) == {TYPED}
    assert {TYPED, OTHER} & _typed(store, second) == {OTHER}


@pytest.mark.parametrize(
    "with_id",
    [" ".join, lambda parts: digest(*parts)],
    ids=["plain", "digest"],
)
def test_what_was_kept_by_an_older_studio_is_shown(
    session_id: str, store: JournalStore, with_id: Any
) -> None:
    """It named the session in what it kept, and a text that names another session is not this one's."""
    registry().close(session_id)
    (owner,) = [
        name
        for name, text in _stored(store, session_id).items()
        if TYPED in json.loads(text)["values"].values()
    ]
    values = {"response": OTHER, "offered": "before"}
    call = "find_order", canonical({"order_id": "A-1001"})
    store.put_drafts(session_id, {owner: json.dumps({"of": with_id((session_id, *call)), "values": values})})
    tab = Tab(session_id)
    assert _editor(tab).value == OTHER
    _type(tab, TYPED)
    assert with_id((session_id, *call)) not in _stored(store, session_id)[owner]
    registry().close(session_id)
    store.put_drafts(session_id, {owner: json.dumps({"of": with_id(("another", *call)), "values": values})})
    assert _editor(Tab(session_id)).value not in {OTHER, TYPED}


def test_a_draft_that_is_none_does_no_harm(session_id: str, store: JournalStore) -> None:
    """A file from elsewhere may hold anything; the page begins with the draft then."""
    owners = _stored(store, session_id)
    for text in ("{", "[]", '{"of": [1], "values": {}}', '{"of": "", "values": []}', "[" * 10_000):
        registry().close(session_id)
        store.put_drafts(session_id, dict.fromkeys(owners, text))
        assert json.loads(_editor(Tab(session_id)).value)["status"] != "mine", text[:40]
