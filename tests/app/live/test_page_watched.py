"""Whoever looks at a shared session reads all of it: what answers are drawn from, and what the user would say next."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from app.live import shared_sessions
from app.live.live_sessions import LiveSession, registry
from simulator.environment.declared_tools import DeclaredTool
from simulator.environment.recordings.recorded_calls import ObservedCall
from simulator.environment.world.tool_settings import ToolSettings
from simulator.store import JournalStore
from tests.app.desk_sessions import begun
from tests.app.live.test_page_shared import played_to_its_end
from tests.app.page_driver import HOSTILE, Tab
from tests.app.server.test_page_people import ANNE, BEN, WORDS, owner_of
from tests.simulator.runtime.speaking import until


@pytest.fixture
def annes(store: JournalStore) -> Iterator[LiveSession]:
    """A session of Anne's that has come to its end, and may go on."""
    live = begun(WORDS, owner_of(ANNE))
    played_to_its_end(live)
    store.share(live.session_id)
    yield live
    shared_sessions._at_rest.clear()


def _bens(annes: LiveSession, store: JournalStore, *, rests: bool, view: str | None = None) -> Tab:
    """The page as Ben sees it, live or at rest."""
    annes.simulation.journal.keep()
    if rests:
        registry().close(annes.session_id)
    token = str(store.record(annes.session_id).shared_token)
    return Tab(shared=token, user=BEN, view=view) if view else Tab(shared=token, user=BEN)


def _part(tab: Tab, name: str) -> str:
    tab.choose("world_to_read_part", name)
    assert tab.live_marks() == []
    return f"{tab.literal}\n{tab.words}"


def test_recordings_and_what_is_set_for_tools_are_read(annes: LiveSession, store: JournalStore) -> None:
    """Their calls, schemas, shared states, words and the model; nothing of it is an input, and nothing comes alive."""
    tab = _bens(annes, store, rests=False, view="environment")
    assert "No recordings." in _part(tab, "Recordings")
    assert "No tool settings" in _part(tab, "Tools")
    environment = annes.simulation.environment
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
        _reads_what_was_given(_bens(annes, store, rests=rests, view="environment"))


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
def test_a_message_that_is_held_is_read(annes: LiveSession, store: JournalStore, message: Any) -> None:
    """With who speaks and how much is left; it is for its owner to accept, change or replace it."""
    annes.simulation.set_user("script", script=[message, "second"], hold=True)
    until(lambda: annes.simulation.view().user.held is not None)
    for rests in (False, True):
        tab = _bens(annes, store, rests=rests)
        assert HOSTILE in tab.literal
        assert "2 of 2" in tab.words
        assert tab.live_marks() == []
        assert not tab.keys("query")
        assert not tab.keys("user_go_on")
        assert ("have it open" in tab.words) == rests
        tab.choose("context_view", "Seats")
        assert "Script" in tab.literal


def test_a_conversation_that_is_over_says_so(annes: LiveSession, store: JournalStore) -> None:
    """Its owner has said so; nobody waits for a further word."""
    annes.simulation.complete()
    for rests in (False, True):
        tab = _bens(annes, store, rests=rests)
        assert "has ended" in tab.words, rests
        assert "can continue" not in tab.words
        assert not tab.has("go_on_after_all")
