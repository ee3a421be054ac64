"""Who may answer tools: what each lacks, and the switch with which a session goes on by itself."""

from __future__ import annotations

import re

from app.live.player_names import NO_MODEL, NO_RECORDING, NOTHING_RECORDED, PLAYERS, lacks
from simulator.environment.recordings.recorded_calls import ObservedCall
from simulator.facts import EVERY, Failed, Provenance, Returned
from tests.app.fakes import FakeSimulation, put_live, tool_request
from tests.app.page_driver import Tab

RECORDED = (ObservedCall(tool_name="find_order", arguments={}, response={}, place="trace 1"),)


def test_a_player_that_has_all_it_needs_lacks_nothing() -> None:
    """With a model and a recording of the tool everybody can play; without them two cannot, and another tool's does not help."""
    assert {lacks(player, "find_order", "gemini", RECORDED) for player in PLAYERS} == {""}
    missing = {player: lacks(player, "find_order", "", ()) for player in PLAYERS}
    lacking = {"model": NO_MODEL, "recorded": NOTHING_RECORDED}
    assert missing == {player: lacking.get(player, "") for player in PLAYERS}
    assert lacks("recorded", "refund_order", "", RECORDED) == NOTHING_RECORDED
    assert lacks("recorded", EVERY, "", RECORDED) == ""
    assert lacks("recorded", EVERY, "", ()) == NO_RECORDING


def opened(simulation: FakeSimulation) -> Tab:
    """Open a page of the session."""
    put_live(simulation)
    return Tab(simulation.session.session_id)


def test_one_switch_lets_the_session_go_on_by_itself_and_back() -> None:
    """It is one change of seats each way, and the switch shows what is so; a seat that lacks something stays empty and says why."""
    simulation = FakeSimulation().ask("Go").call("c1")
    simulation.pending = (tool_request("c1"),)
    tab = opened(simulation)
    for on, player in ((True, "auto"), (False, "person")):
        tab.fill("auto_switch", on).run()
        assert simulation.asked[-1] == ("set_player", ("tool", player, EVERY))
        assert tab.app.toggle(key="auto_switch").value is on
    simulation.asked.clear()
    tab.choose("context_view", "Seats").app.selectbox(key="seat_tool_find_order").set_value("model")
    tab.run()
    assert simulation.asked == []
    assert NO_MODEL in tab.words
    tab.fill("seat_tool_find_order", "offline").run()
    assert simulation.asked == [("set_player", ("tool", "offline", "find_order"))]
    assert PLAYERS["offline"].does in tab.words


def test_the_timeline_tells_what_was_seen_from_what_really_happened() -> None:
    """Each source has a word of its own in the line; the body holds both answers, the notes and the rules that fired."""
    whole = Returned(value={"status": "in full"})
    simulation = FakeSimulation().ask("Go")
    made = {
        "offline": Provenance(source="generated", by="offline", notes=("from the tables",)),
        "model": Provenance(source="generated", by="gemini-x", notes=("gemini-x, 1.0 s",)),
        "recorded": Provenance(source="recorded", by="trace 1"),
        "cut": Provenance(source="edited", fired=("cutter",), notes=("4 letters",)),
        "lost": Provenance(source="written", fired=("loser",)),
    }
    for name, provenance in made.items():
        simulation.call(name)
        outcome = Failed(error_code=504, error_message="late") if name == "lost" else None
        beneath = whole if name in {"cut", "lost"} else None
        simulation.give(name, outcome, provenance=provenance, beneath=beneath)
    tab = opened(simulation)
    lines = " ".join(str(one.label) for one in tab.app.expander)
    badges = set(re.findall(r"badge\[([^\]]*)", lines))
    assert len(badges) >= len(made)
    assert any("gemini" in badge for badge in badges)
    places = [
        place
        for place, entry in enumerate(simulation.session.history)
        if getattr(entry, "beneath", None) is not None
    ]
    assert not any(each in tab.literal for each in ("in full", "4 letters", "cutter"))
    tab.unfold(f"step_{places[0]}")
    assert all(each in tab.literal for each in ("in full", "4 letters", "cutter"))
