"""What was typed and not sent belongs to a session: its copies have it too, and no other session shows it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from app.live.live_sessions import registry
from app.screens.session_list import DuplicateSession, ImportSession, carry_out
from app.server.owners import LOCAL
from simulator.base.json_values import canonical, digest
from simulator.store import JournalStore
from tests.app.desk_sessions import CANCEL, TYPED, begun
from tests.app.page_driver import Tab

OTHER = '{"order_id": "A-1001", "status": "another"}'
ASKED = "What I would ask"


@pytest.fixture
def session_id(store: JournalStore) -> str:
    """A session that waits for the answer to a call, for which somebody has typed something."""
    made = begun().session_id
    Tab(made).type("response_", TYPED)
    return made


def _stored(store: JournalStore, session_id: str) -> dict[str, str]:
    store.keep_drafts()
    return store.drafts(session_id)


def _typed(store: JournalStore, session_id: str) -> set[str]:
    texts = (json.loads(text) for text in _stored(store, session_id).values())
    return {str(value) for text in texts for value in text["values"].values()}


@pytest.mark.long
def test_a_duplicate_shows_what_was_typed_for_the_session(session_id: str, store: JournalStore) -> None:
    """Also what was typed in the moment before the click; each goes on with its own text from there."""
    tab = Tab(session_id).unfold(f"kept_menu_{session_id}")
    tab.fill("response_", OTHER).click(f"duplicate_{session_id}")
    copy = str(tab.session_id)
    assert copy != session_id
    assert tab.typed("response_") == OTHER
    assert Tab(copy).typed("response_") == OTHER
    tab.type("response_", TYPED).click(f"recent_{session_id}")
    assert tab.typed("response_") == OTHER
    assert tab.click(f"recent_{copy}").typed("response_") == TYPED


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
    """It named the session in what it kept; a text that names another session is not this one's, and one that is none does no harm."""
    registry().close(session_id)
    kept = {name: json.loads(text)["values"] for name, text in _stored(store, session_id).items()}
    (owner,) = [name for name, texts in kept.items() if TYPED in texts.values()]
    values = {"response": OTHER, "offered": "before"}
    call = "find_order", canonical({"order_id": "A-1001"})
    store.put_drafts(session_id, {owner: json.dumps({"of": with_id((session_id, *call)), "values": values})})
    tab = Tab(session_id)
    assert tab.typed("response_") == OTHER
    tab.type("response_", TYPED)
    assert with_id((session_id, *call)) not in _stored(store, session_id)[owner]
    registry().close(session_id)
    store.put_drafts(session_id, {owner: json.dumps({"of": with_id(("another", *call)), "values": values})})
    assert Tab(session_id).typed("response_") not in {OTHER, TYPED}
    for none in ("{", "[]", '{"of": [1], "values": {}}', '{"of": "", "values": []}', "[" * 10_000):
        registry().close(session_id)
        store.put_drafts(session_id, {owner: none})
        assert Tab(session_id).typed("response_") not in {OTHER, TYPED}, none[:40]
