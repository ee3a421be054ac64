"""The conversation beside the timeline: values of calls and responses, found by their words, however long the session is."""

from __future__ import annotations

from simulator.facts import Returned
from tests.app.desk_sessions import live_of
from tests.app.fakes import FakeSimulation, put_live
from tests.app.page_driver import HOSTILE, Tab

ID = "session-0071-abcdef"


def _long(calls: int) -> None:
    simulation = FakeSimulation(ID).ask("Check all orders")
    for number in range(calls):
        simulation.call(f"c{number}", order_id=f"A-{number}")
        simulation.give(f"c{number}", Returned(value={"status": "shipped", "carrier": f"Van {number}"}))
    put_live(simulation.say("All are on their way").end())


def test_it_shows_values_and_finds_one_among_many() -> None:
    """The newest entries stand there with arguments and responses; a search draws what contains its words, marked."""
    _long(60)
    tab = Tab(ID).choose("timeline_view", "Conversation")
    assert len(tab.keys("said_")) == 20
    assert {"order_id", "status", "carrier"} <= set(tab.words.split())
    assert "A-59\nshipped\nVan 59\n" in tab.literal
    assert "{" not in tab.literal
    assert "Van 17" not in tab.literal
    tab.fill("conversation_search", "VAN 17").run()
    assert len(tab.keys("said_")) == 1
    assert "Van 17" in tab.literal.split("\n")
    tab.fill("conversation_json", True)
    assert '"carrier": "Van 17"' in tab.run().literal
    assert ":orange-background[**Van 17**]" in tab.words
    assert f"1 of {len(live_of(ID).simulation.session.history)}" in tab.words
    tab.fill("conversation_search", "no such words").run()
    assert tab.keys("said_") == []
    tab.fill("conversation_search", "").run().click("show_earlier_said")
    assert len(tab.keys("said_")) == 40


def test_words_from_outside_stay_words() -> None:
    """Names, values and what was searched for come alive nowhere."""
    simulation = FakeSimulation(ID).ask(HOSTILE).call("c1", HOSTILE, order_id=HOSTILE)
    simulation.give("c1", Returned(value={"note": HOSTILE}), HOSTILE)
    put_live(simulation)
    tab = Tab(ID).choose("timeline_view", "Conversation")
    tab.fill("conversation_search", "bold").run()
    assert tab.keys("said_")
    assert tab.live_marks() == []
