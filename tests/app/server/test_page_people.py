"""Several people on one server: each sees their own sessions, and nothing leads to those of another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from app.live.live_sessions import Registry, RegistryFullError, registry
from app.live.reopened_sessions import reopened
from app.live.session_store import server_store
from app.screens.session_list import (
    ArchiveSession,
    DeleteSession,
    DescribeSession,
    DuplicateSession,
    ImportSession,
    KeptCommand,
    ShareSession,
    carry_out,
    of_owner,
)
from app.server.owners import LOCAL, Arrival, visitor_of
from simulator.store import JournalStore, UnknownSessionError
from tests.app.desk_sessions import begun, live_of, server_ends
from tests.app.fakes import FakeAgent, FakeSimulation
from tests.app.page_driver import HOSTILE, Tab

ANNE = {
    "is_logged_in": True,
    "iss": "https://id.example",
    "sub": "anne",
    "name": "Anne",
    "email": "anne@b.example",
}
BEN = {**ANNE, "sub": "ben", "name": "Ben", "email": "ben@b.example"}
WORDS = "Please cancel order A-1001, says Anne alone."
NOBODYS = "0123456789abcdef0123456789abcdef"
VIEWS = ("session", "export", "environment", "branches")


def owner_of(user: dict[str, Any]) -> str:
    """Whose sessions somebody has."""
    return visitor_of(Arrival(user=user), None).owner


@pytest.fixture
def annes(store: JournalStore) -> str:
    """A session of Anne's, which waits for an answer."""
    live = begun(WORDS, owner_of(ANNE))
    live.simulation.journal.keep()
    store.rename(live.session_id, "Annes own")
    return live.session_id


def drawn(tab: Tab) -> str:
    """All that a page says and holds, and what its address is."""
    held = [f"{node.type} {getattr(node, 'proto', '')} {getattr(node, 'value', '')}" for node in tab.nodes()]
    return "\n".join((*held, str(dict(tab.app.query_params))))


@pytest.mark.long
@pytest.mark.parametrize(
    ("then", "views"),
    [("live", VIEWS), ("kept", ("session", "export")), ("cannot be opened", ("session",))],
    ids=["live", "kept", "cannot be opened"],
)
def test_another_person_finds_nothing_under_the_address(
    annes: str, then: str, views: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Live, in the store alone, or broken: each page of it is for them what it is for an id that nobody has, right after its owner saw it listed."""
    if then != "live":
        server_ends()
    if then == "cannot be opened":
        monkeypatch.setattr("sys.argv", ["app", "--no-demos"])
    server_store()  # the first page that needs it opens it beside being drawn
    assert "Annes own" in drawn(Tab(user=ANNE))
    for view in views:
        his, nobodys = drawn(Tab(annes, user=BEN, view=view)), drawn(Tab(NOBODYS, user=BEN, view=view))
        assert "choose_order_desk" in his or then == "cannot be opened", view
        assert "Annes own" not in his, view
        assert WORDS not in his, view
        assert his.replace(annes, NOBODYS) == nobodys, view
    assert registry().newest_first(owner_of(BEN)) == []
    assert "Annes own" in drawn(Tab(annes, user=ANNE, view="session"))


@pytest.mark.long
def test_a_session_begins_as_its_owners(store: JournalStore) -> None:
    """What somebody begins on the page is theirs, in the store too."""
    live = live_of(Tab(user=BEN).click("start_session").session_id)
    assert live.owner == owner_of(BEN)
    assert store.record(live.session_id).owner == owner_of(BEN)


COMMANDS: tuple[Callable[[str], KeptCommand], ...] = (
    lambda session_id: DescribeSession(session_id=session_id, name="mine"),
    lambda session_id: DuplicateSession(session_id=session_id),
    lambda session_id: ArchiveSession(session_id=session_id),
    lambda session_id: DeleteSession(session_id=session_id),
    lambda session_id: DeleteSession(session_id=session_id, deleted=False),
    lambda session_id: ShareSession(session_id=session_id),
    lambda session_id: ShareSession(session_id=session_id, shared=False),
)


def test_nothing_can_be_asked_of_anothers_session(annes: str, store: JournalStore) -> None:
    """Each command is refused where it is carried out, in the words for an id that nobody has; nothing is changed."""
    before = store.record(annes)
    for command in COMMANDS:
        refusals = []
        for session_id in (annes, NOBODYS):
            with pytest.raises(UnknownSessionError) as refused:
                carry_out(store, command(session_id), owner_of(BEN))
            refusals.append(str(refused.value).replace(session_id, ""))
        assert refusals[0] == refusals[1], command(NOBODYS)
    assert store.record(annes) == before
    assert store.records(owner_of(BEN)) == []
    assert registry().get(annes) is not None


def test_nobody_brings_back_or_writes_out_anothers_session(annes: str, store: JournalStore) -> None:
    """Not live, and not out of the store; the owner can do both."""
    assert reopened(annes, owner_of(BEN)) is None
    with pytest.raises(UnknownSessionError):
        of_owner(store, annes, owner_of(BEN))
    assert of_owner(store, annes, owner_of(ANNE)) == annes
    registry().close_all()
    assert reopened(annes, owner_of(BEN)) is None
    assert registry().get(annes) is None
    assert reopened(annes, owner_of(ANNE)) is not None


def test_a_file_does_not_say_whose_id_is_taken(annes: str, store: JournalStore) -> None:
    """Who takes in a file gets another id, whether somebody has that one or not."""
    text = store.export(annes)
    taken = carry_out(store, ImportSession(text=text), owner_of(BEN))
    free = carry_out(store, ImportSession(text=text.replace(annes, NOBODYS)), owner_of(BEN))
    assert not {taken, free} & {annes, NOBODYS, None}
    assert carry_out(store, ImportSession(text=text.replace(annes, NOBODYS)), LOCAL) == NOBODYS


def test_a_guess_costs_nobody_their_place(annes: str, store: JournalStore) -> None:
    """Where the server is full, a guessed id puts no session to rest; and the words count nobody's sessions."""
    live = live_of(annes)
    small = Registry(limit=1)
    agent: Any = FakeAgent()
    simulation = FakeSimulation()
    small.add(
        simulation, live.config.__class__(name="a", agent=agent, eval_set_path="x.json"), live.directory
    )
    with pytest.raises(RegistryFullError) as full:
        small.check_room()
    assert not any(letter.isdigit() for letter in str(full.value))
    for guess in (annes, NOBODYS):
        assert reopened(guess, owner_of(BEN)) is None
    assert registry().get(annes) is live


def test_where_a_login_is_configured_nobody_sees_anything_without_it(annes: str) -> None:
    """Neither a session nor a list nor an agent to begin with: only each provider as a way in, by the name of its section."""
    google = {"client_id": "x", "server_metadata_url": "https://id.example"}
    for secrets, ways in (
        ({"auth": {"client_id": "x"}}, ["default"]),
        ({"auth": {"cookie_secret": "x", "google": google, "okta": google}}, ["google", "okta"]),
    ):
        for session_id, view in ((annes, "session"), (annes, "export"), (None, "session")):
            tab = Tab(session_id, user={"is_logged_in": False}, secrets=secrets, view=view)
            assert [button.key for button in tab.app.button] == [f"log_in_{way}" for way in ways]
            assert "default" in ways or [button.label.split()[-1] for button in tab.app.button] == ways
            assert "order_desk" not in drawn(tab)
            assert WORDS not in drawn(tab)


def test_who_is_logged_in_is_shown_as_it_is() -> None:
    """Names come from outside; the way out is beside them, and leads to the way in."""
    tab = Tab(user={**ANNE, "name": HOSTILE}, secrets={"auth": {"client_id": "x"}})
    assert HOSTILE in tab.literal
    assert "anne@b.example" in tab.literal
    assert tab.live_marks() == []
    tab.click("log_out").run()
    assert tab.has("log_in_default")
    assert not Tab().has("log_out")


def test_a_choice_that_cannot_be_followed_lets_nobody_in(annes: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is wrong is named, and nobody sees a session meanwhile."""
    monkeypatch.setenv("GOLDEN_TRACE_PEOPLE", "everyone")
    tab = Tab(annes)
    assert "'everyone'" in tab.literal
    assert WORDS not in drawn(tab)
    assert not tab.app.button
