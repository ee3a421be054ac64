"""A session is shared read-only: whoever has the link sees it as it goes on, reads all of it, and nothing that they do changes it."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from app.live import shared_sessions
from app.live.agent_catalogue import PAGES
from app.live.live_sessions import LiveSession, registry
from app.live.shared_sessions import GONE, NotSharedError, ReadOnlyError, shared_session
from app.screens import session_page, shared_page
from app.screens.session_list import ShareSession, carry_out
from app.session import page_fragments
from app.session.page_commands import PageWork, hand
from app.session.timeline_view import counted_steps
from simulator.environment.recordings import ObservedCall
from simulator.environment.world.entities import EntityChange
from simulator.environment.world.tool_settings import DeclaredTool, ToolSettings
from simulator.runtime import SimulationError
from simulator.runtime.commanding import Commanding, SimulatedEnvironment
from simulator.scripts import read_script
from simulator.seats.answers import returned
from simulator.session.commands import AnswerRequest, Command
from simulator.store import JournalStore
from tests.app.desk_sessions import begun, live_of, server_ends
from tests.app.page_driver import HOSTILE, Tab
from tests.app.server.test_page_people import ANNE, BEN, WORDS, drawn, owner_of
from tests.simulator.runtime.speaking import until

TYPED = '{"order_id": "A-1001", "status": "typed by Anne, not sent"}'


@pytest.fixture
def annes(store: JournalStore) -> Iterator[LiveSession]:
    """A session of Anne's that waits for an answer, for which she has typed something."""
    live = begun(WORDS, owner_of(ANNE))
    Tab(live.session_id, user=ANNE).type("response_", TYPED)
    live.simulation.journal.keep()
    yield live
    shared_sessions._at_rest.clear()


@pytest.fixture
def ended(annes: LiveSession, store: JournalStore) -> LiveSession:
    """It has come to its end, and may go on."""
    played_to_its_end(annes)
    store.share(annes.session_id)
    return annes


@pytest.fixture
def token(annes: LiveSession, store: JournalStore) -> str:
    """What the link to it holds."""
    return store.share(annes.session_id)


def _live_then_at_rest(session_id: str) -> Iterator[bool]:
    """Give False, and then True, when nobody has the session open on this server any more."""
    yield False
    registry().close(session_id)
    yield True


def played_to_its_end(live: LiveSession) -> None:
    """Let its owner take each draft."""
    hers = Tab(live.session_id, user=ANNE)
    while not hers.has("query_send"):
        hers.click(hers.key("accept_"))
    live_of(live.session_id).simulation.journal.keep()


def test_its_owner_shares_it_in_its_menu(annes: LiveSession, store: JournalStore) -> None:
    """A click gives the link, and another one ends it; the link holds neither the session's id nor its owner's."""
    tab = Tab(annes.session_id, user=ANNE)
    tab.in_menu("share", annes.session_id)
    token = store.record(annes.session_id).shared_token
    assert token is not None
    assert len(token) >= 22
    (link,) = [code.value for code in tab.app.code if "shared=" in code.value]
    assert link.endswith(f"?shared={token}")
    assert annes.session_id not in link
    assert owner_of(ANNE) not in link
    tab.in_menu("unshare", annes.session_id)
    assert store.record(annes.session_id).shared_token is None
    assert tab.has(f"share_{annes.session_id}")


@pytest.mark.long
def test_whoever_has_the_link_sees_it_and_can_press_nothing_in_it(annes: LiveSession, token: str) -> None:
    """The steps, what waits, the rules and the state are there; nothing to answer, undo, stop or shape it with."""
    tab = Tab(shared=token, user=BEN)
    assert "Read-only" in drawn(tab)
    assert WORDS in tab.literal
    assert '"order_id": "A-1001"' in tab.literal
    assert "typed by Anne" not in drawn(tab)
    assert not tab.keys("response_")
    assert not tab.keys("recent_")
    leads = (
        "context_hide context_show new_session open_sets search open_world open_export copy_shared log_out"
    )
    assert {str(button.key) for button in tab.app.button} <= set(leads.split())
    assert not tab.app.toggle
    assert not tab.app.text_area


def test_it_is_seen_as_it_goes_on(annes: LiveSession, token: str, store: JournalStore) -> None:
    """What its owner does is there at the next look; at rest, what another server has stored."""
    tab, hers = Tab(shared=token, user=BEN), Tab(annes.session_id, user=ANNE)
    hers.click(hers.key("accept_"))
    assert counted_steps(len(annes.simulation.session.history)) in drawn(tab.run())
    annes.simulation.journal.keep()
    registry().close(annes.session_id)
    assert WORDS in tab.run().literal
    assert registry().get(annes.session_id) is None
    elsewhere = store.load(annes.session_id)
    steps = len(elsewhere.session().history)
    elsewhere.move_head(elsewhere.head - 2)
    elsewhere.keep()
    assert len(elsewhere.session().history) != steps
    seen = shared_session(token)
    assert seen is not None
    assert seen.simulation.view().head == elsewhere.head
    assert counted_steps(len(elsewhere.session().history)) in drawn(tab.run())


@pytest.mark.long
@pytest.mark.parametrize("rests", [False, True])
def test_each_page_of_it_can_be_read(annes: LiveSession, token: str, rests: bool) -> None:
    """World, branches and export, live and at rest; with the way back. An unfinished one leaves as a script."""
    if rests:
        registry().close(annes.session_id)
    unfinished = Tab(shared=token, user=BEN, view="export")
    assert unfinished.has("download_script")
    (script,) = [each.value for each in unfinished.app.code if "turns:" in each.value]
    assert [turn.say for turn in read_script(script).script.turns] == [WORDS]
    played_to_its_end(annes)
    if rests:
        registry().close(annes.session_id)
    world, branches, export = (
        Tab(shared=token, view=view, user=BEN) for view in ("environment", "branches", "export")
    )
    assert "A-1001" in world.literal
    assert not world.app.get("data_editor")
    assert "refund_order" in world.choose("world_to_read_part", "Connections").literal
    assert "No rules" in world.choose("world_to_read_part", "Rules").words
    assert WORDS in export.literal
    assert not export.has("export_write")
    assert not export.keys("export_path")
    assert export.has("export_download")
    for tab, view in ((world, "environment"), (branches, "branches"), (export, "export")):
        tab.click(f"{view}_back")
        assert tab.app.query_params.get("view") is None
        assert WORDS in tab.literal


def test_whoever_may_not_see_it_sees_nothing_of_it(
    annes: LiveSession, token: str, store: JournalStore
) -> None:
    """Without a login that is demanded, by its id or its id beside the token, while it is deleted, and as soon as it is not shared any more."""
    locked = Tab(shared=token, user={"is_logged_in": False}, secrets={"auth": {"client_id": "x"}})
    assert locked.has("log_in_default")
    other = Tab(annes.session_id, shared=token, user=BEN)
    store.delete(annes.session_id)
    for tab in (locked, other, Tab(shared=annes.session_id, user=BEN), Tab(shared=token, user=BEN)):
        assert WORDS not in drawn(tab)
    store.restore(annes.session_id)
    tab = Tab(shared=token, user=BEN)
    assert WORDS in drawn(tab)
    hers = Tab(shared=token, user=ANNE)
    assert hers.session_id == annes.session_id
    assert hers.keys("accept_")
    carry_out(store, ShareSession(session_id=annes.session_id, shared=False), owner_of(ANNE))
    tab.run()
    assert WORDS not in drawn(tab)
    assert drawn(tab).replace(token, "x" * 24) == drawn(Tab(shared="x" * 24, user=BEN))
    assert shared_session(token) is None


def test_a_copy_is_ones_own(annes: LiveSession, token: str, store: JournalStore) -> None:
    """It has the same steps and goes its own way; what was typed and not sent, and the notes, are not in it."""
    store.note(annes.session_id, "Annes notes")
    tab = Tab(shared=token, user=BEN)
    tab.click("copy_shared")
    made = tab.session_id
    assert made not in {None, annes.session_id}
    record = store.record(str(made))
    assert (record.owner, record.notes, record.shared_token) == (owner_of(BEN), "", None)
    assert "typed by Anne" not in drawn(tab)
    length = len(annes.simulation.journal)
    tab.click(tab.key("accept_"))
    assert len(annes.simulation.journal) == length
    assert not Tab(made, user=ANNE).keys("accept_")


def _kinds(of: Any) -> Iterator[Any]:
    """Return every command that a feature of the page knows."""
    for kind in of.__subclasses__():
        yield kind
        yield from _kinds(kind)


def _made(kind: Any) -> Any:
    """Some command of a kind, whatever it says."""
    said = dict.fromkeys(kind.model_fields, "x")
    return kind.model_construct(**said | {"rules": (), "fields": {}, "answers": (_ANSWER,)})


_ANSWER = AnswerRequest(key="x", answer=returned({}))


def test_no_command_is_carried_out(annes: LiveSession, token: str) -> None:
    """Whatever a page asks for, every command that there is ends where it would be carried out, and what it does to the session is refused too."""
    for name in ("app.screens.page", *PAGES):  # they put all features together
        importlib.import_module(name)
    kinds = {kind.__name__: kind for of in (Command, PageWork) for kind in _kinds(of)}
    assert {"AnswerRequest", "SetRules", "GiveData", "AddScenario"} <= kinds.keys()
    for _ in _live_then_at_rest(annes.session_id):
        seen = shared_session(token)
        assert seen is not None
        before = seen.simulation.journal.to_json()
        for kind in kinds.values():
            with pytest.raises(ReadOnlyError):
                hand(seen.simulation, _made(kind))
            if issubclass(kind, Command):
                with pytest.raises(ReadOnlyError):
                    seen.simulation.send(_made(kind))
        _cannot_be_shaped(seen.simulation.environment)
        assert seen.simulation.journal.to_json() == before


def _cannot_be_shaped(environment: SimulatedEnvironment) -> None:
    """Try to change the world, data, recordings, tools, settings and models of a session that is only looked at."""
    for shape in (
        lambda: environment.change(invariants=("stock >= 0",)),
        lambda: environment.give_data('{"orders": []}'),
        lambda: environment.edit(EntityChange(kind="order", id="A-1", op="delete")),
        lambda: environment.rename("order", "A-1", "A-2"),
        lambda: environment.clear_state("x"),
        lambda: environment.give_recording("x", []),
        lambda: environment.drop_recording("x"),
        environment.declare,
        lambda: environment.ask_for_draft("x"),
        lambda: environment.stop_drafting("x"),
        lambda: environment.use_model(""),
        environment.analyse_connections,
        environment.stop_analysing,
    ):
        with pytest.raises(SimulationError, match="read-only"):
            shape()


def test_a_page_with_every_button_changes_nothing(
    annes: LiveSession, token: str, store: JournalStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Patched to draw the owner's own page, as if no button were hidden: each press is refused, with a word.

    That is what a forged press comes to: the page carries out what it was not to ask for.
    """
    monkeypatch.setattr(shared_page, "watching", session_page.draw_session)
    length, record = len(annes.simulation.journal), store.record(annes.session_id)
    for start in ("accept_", "undo_step", "stop_turn"):
        tab = Tab(shared=token, user=BEN)
        tab.click(tab.key(start))
        assert "read-only" in tab.literal, start
    tab = Tab(shared=token, user=BEN)
    assert "typed by Anne" not in tab.typed("response_")
    tab.type("response_", '{"forged": true}').click(tab.key("accept_"))
    tab = Tab(shared=token, user=BEN)
    tab.fill("auto_switch", True)
    assert "read-only" in tab.run().literal
    assert len(annes.simulation.journal) == length
    assert store.record(annes.session_id) == record
    assert TYPED in "".join(annes.drafts.values()).replace('\\"', '"')


def test_what_is_typed_beside_a_shared_session_is_not_its_owners(
    annes: LiveSession, token: str, store: JournalStore
) -> None:
    """Neither while it is on the screen nor after it was left, live or at rest, does anything reach the owner's drafts."""
    played_to_its_end(annes)
    for _ in _live_then_at_rest(annes.session_id):
        before = store.drafts(annes.session_id)
        tab = Tab(shared=token, view="export", user=BEN)
        tab.fill("export_eval_id_", "typed by Ben").run()
        assert tab.app.text_input(key=tab.key("export_eval_id_")).value == "typed by Ben"
        tab.click("new_session").run()
        assert store.drafts(annes.session_id) == before
        assert "typed by Ben" not in str(dict(annes.drafts))


def test_a_session_whose_agent_is_gone_can_be_read_through_its_link(
    annes: LiveSession, token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The steps are there, the journal is not handed out with all that is beside them."""
    server_ends()
    monkeypatch.setattr("sys.argv", ["app", "--no-demos"])
    tab = Tab(shared=token, user=BEN)
    assert WORDS in tab.literal
    assert not tab.app.get("download_button")


def test_nothing_of_it_is_given_out_when_the_sharing_has_ended(
    annes: LiveSession, token: str, store: JournalStore
) -> None:
    """Not to a page that was drawn before and is silent since, live or at rest: each thing that it holds asks again."""
    asked: tuple[Callable[[Commanding], object], ...] = (
        lambda simulation: simulation.session,
        lambda simulation: simulation.journal,
        lambda simulation: simulation.environment.now,
        lambda simulation: simulation.view(),
        lambda simulation: simulation.model_view(),
        lambda simulation: simulation.wait(0),
    )
    for _ in _live_then_at_rest(annes.session_id):
        seen = shared_session(token)
        assert seen is not None
        for ask in asked:
            ask(seen.simulation)
        assert seen.simulation.version != GONE
        store.unshare(annes.session_id)
        for ask in asked:
            with pytest.raises(NotSharedError):
                ask(seen.simulation)
        assert seen.simulation.version == GONE
        token = store.share(annes.session_id)
        with pytest.raises(NotSharedError):
            seen.simulation.view()


def test_parts_of_pages_are_made_in_one_place() -> None:
    """Streamlit's own fragment would draw what it was given at first, whoever may not see it any more."""
    places = {
        path.name
        for path in Path(page_fragments.__file__).parents[1].rglob("*.py")
        if "st.fragment" in path.read_text()
    }
    assert places == {"page_fragments.py"}


def _bens(ended: LiveSession, store: JournalStore, *, rests: bool, view: str | None = None) -> Tab:
    """The page as Ben sees it, live or at rest."""
    ended.simulation.journal.keep()
    if rests:
        registry().close(ended.session_id)
    token = str(store.record(ended.session_id).shared_token)
    return Tab(shared=token, user=BEN, view=view) if view else Tab(shared=token, user=BEN)


def _part(tab: Tab, name: str) -> str:
    tab.choose("world_to_read_part", name)
    assert tab.live_marks() == []
    return f"{tab.literal}\n{tab.words}"


def test_recordings_and_what_is_set_for_tools_are_read(ended: LiveSession, store: JournalStore) -> None:
    """Their calls, schemas, shared states, words and the model; nothing of it is an input, and nothing comes alive."""
    tab = _bens(ended, store, rests=False, view="environment")
    assert "No recordings." in _part(tab, "Recordings")
    assert "No tool settings" in _part(tab, "Tools")
    environment = ended.simulation.environment
    asked = {"order_id": HOSTILE}
    call = ObservedCall(tool_name="find_order", arguments=asked, response={"status": "lost"}, place="line 1")
    environment.give_recording(f"traces {HOSTILE}", [call])
    schema = {"type": "object", "properties": {"seen": {"type": "string", "description": HOSTILE}}}
    settings = ToolSettings(
        name="find_order", output_schema=schema, share_state_id="desk", initial_state_description=HOSTILE
    )
    environment.change(tools={"find_order": settings}, simulation_model="some-model", drafts_by_model=True)
    environment.declare(DeclaredTool(name="track_parcel", description=f"Tracks. {HOSTILE}"))
    for rests in (False, True):
        _reads_what_was_given(_bens(ended, store, rests=rests, view="environment"))


def _reads_what_was_given(tab: Tab) -> None:
    read = _part(tab, "Recordings")
    assert f"traces {HOSTILE}" in read
    assert "1 call: find_order 1" in read
    assert "lost" in read
    read = _part(tab, "Tools")
    wanted = ("some-model", "Shared state: desk", f"Initial state: {HOSTILE}", '"seen"', f"Tracks. {HOSTILE}")
    assert [words for words in wanted if words not in read] == []
    leads = {"new_session", "open_sets", "search", "environment_back", "log_out"}
    assert {str(button.key) for button in tab.app.button} <= leads
    assert [node.type for node in tab.nodes() if node.type in {"text_area", "toggle"}] == []


@pytest.mark.long
@pytest.mark.parametrize("message", [HOSTILE, {"role": "user", "parts": [{"text": "a"}, {"text": HOSTILE}]}])
def test_a_message_that_is_held_is_read(ended: LiveSession, store: JournalStore, message: Any) -> None:
    """With who speaks and how much is left; it is for its owner to accept, change or replace it."""
    ended.simulation.set_user("script", script=[message, "second"], hold=True)
    until(lambda: ended.simulation.view().user.held is not None)
    for rests in (False, True):
        tab = _bens(ended, store, rests=rests)
        assert HOSTILE in tab.literal
        assert "2 of 2" in tab.words
        assert tab.live_marks() == []
        assert not tab.keys("query")
        assert not tab.keys("user_go_on")
        assert ("have it open" in tab.words) == rests
        tab.choose("context_view", "Seats")
        assert "Script" in tab.literal


def test_a_conversation_that_is_over_says_so(ended: LiveSession, store: JournalStore) -> None:
    """Its owner has said so; nobody waits for a further word."""
    ended.simulation.complete()
    for rests in (False, True):
        tab = _bens(ended, store, rests=rests)
        assert "has ended" in tab.words, rests
        assert "can continue" not in tab.words
        assert not tab.has("go_on_after_all")
