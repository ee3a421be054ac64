"""A recorded case replays on the page: what was not recorded waits for its author, and joins the case by a click."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from app.export.case_names import PlayedCase, played_case, remember_played
from app.live.agent_catalogue import catalogue
from app.live.destinations import check_place, default_destination
from app.live.live_sessions import LiveSession
from app.screens.session_list import ImportSession, carry_out
from app.screens.start_panel import PATH_KEY
from app.scripts import recorded_play
from evalset.recorded.recording import RecordedCase
from evalset.recorded.recording_export import record
from evalset.recorded.recording_files import put_cases, read_environment
from simulator import Seats, Simulation, demo_agent
from simulator.facts import Returned
from simulator.store import JournalStore
from tests.app.desk_sessions import live_of
from tests.app.page_driver import HOSTILE, Tab
from tests.app.scripts.scripts_played import told, until
from tests.simulator.runtime.stage import PATIENCE

QUERIES = ["Where is order A-1002?", "And order A-1003?"]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A recorded case of two turns, whose second answer was forgotten."""
    config = demo_agent("order_desk")
    with Simulation.open(config, seats=Seats(tools={"*": "offline"}), seed="seed") as simulation:
        for query in QUERIES:
            assert simulation.query(query, wait=PATIENCE)
        session = simulation.session
        facts = [fact for _, fact in simulation.journal.path()]
    found = record(tmp_path / "orders.evalset.json", "two", session, facts, config.root_agent)
    put_cases(found, {"two": without_last_answer(read_environment(found).cases["two"])})
    return found


def without_last_answer(case: RecordedCase) -> RecordedCase:
    """Forget what was answered in the last turn."""
    *turns, last = case.turns
    return case.model_copy(update={"turns": (*turns, last.model_copy(update={"calls": ()}))})


@pytest.fixture
def start(monkeypatch: pytest.MonkeyPatch) -> Tab:
    """The start page with the place for recorded cases open; the command line is an input of the process."""
    monkeypatch.setattr("sys.argv", ["main.py"])
    catalogue().load_all()
    tab = Tab()
    tab.choose("start_from", "Recorded case")
    return tab.run()


def replay(tab: Tab, path: Path | str) -> LiveSession:
    """Replay the case of a file; return the session."""
    tab.fill(PATH_KEY, str(path)).run().click("play_recorded")
    return live_of(tab.session_id)


def test_a_replay_pauses_where_nothing_was_recorded_and_learns_the_answer(start: Tab, path: Path) -> None:
    """It says what is nearest; the answer of the author joins the case, which then replays by itself."""
    live = replay(start, path.with_name("orders.evalset.json"))
    until(live, "asks")
    asked = told(start.run())
    assert asked.startswith("Turn 2 of 2")
    assert all(each in asked for each in ("find_order", "order_desk", "turn 1, call 1"))
    assert re.search(r"args\.order_id .*'A-1002'.*'A-1003'", asked)
    assert not start.has("add_answers")
    start.click(start.key("accept_"))
    until(live, "over")
    lacking = told(start.run())
    start.click("add_answers")
    assert not start.has("add_answers")
    case = read_environment(path).cases["two"]
    (call,) = case.turns[1].calls
    assert call.arguments == {"order_id": "A-1003"}
    assert isinstance(call.outcome, Returned)
    assert call.author.source in {"generated", "edited", "written"}
    assert told(start) != lacking
    again = Tab()
    again.choose("start_from", "Recorded case")
    live = replay(again.run(), path)
    until(live, "over")
    assert told(again.run()) == told(start)


def test_a_file_that_is_none_is_named(start: Tab, tmp_path: Path) -> None:
    """The agent's own set is not there at first, which is no error, and there is nothing to press; any other is named."""
    assert not start.app.error
    assert start.app.button(key="play_recorded").disabled
    damaged = tmp_path / f"{'x'}.environment.json"
    damaged.write_text("{")
    start.fill(PATH_KEY, str(damaged))
    assert "not valid JSON" in start.run().literal
    assert start.app.error
    assert start.app.button(key="play_recorded").disabled
    start.fill(PATH_KEY, str(tmp_path / "none.evalset.json"))
    assert str(tmp_path / "none.environment.json") in start.run().literal


@pytest.mark.long
def test_a_damaged_file_is_not_written_over(start: Tab, path: Path) -> None:
    """The strip says what is wrong with it, and nothing is lost of the session; names and words of it are shown literally."""
    (case,) = read_environment(path).cases.values()
    put_cases(path, {"two": None, HOSTILE: case})
    live = replay(start, path)
    until(live, "asks")
    assert start.run().live_marks() == []
    start.click(start.key("accept_"))
    until(live, "over")
    path.write_text("{")
    start.run()
    assert "not valid JSON" in start.literal
    assert not start.has("add_answers")
    with pytest.raises(ValueError, match="not valid JSON"):
        recorded_play.add_answers(live)
    assert path.read_text() == "{"


def test_others_on_a_server_read_and_write_beside_the_agent_only(path: Path) -> None:
    """As they do with eval sets."""
    config = demo_agent("order_desk")
    theirs = default_destination("somebody", config).parent.resolve()
    with pytest.raises(ValueError, match=re.escape(str(theirs))):
        recorded_play.recorded_cases(str(path), "somebody", config)
    check_place(str(path), "local", config)


@pytest.mark.long
def test_a_session_file_names_no_file_of_this_machine(store: JournalStore, start: Tab, path: Path) -> None:
    """Of another's session neither is read what it says was recorded, nor are answers added there; damaged, it is left out."""
    live = replay(start, path)
    remember_played(live.drafts, PlayedCase(path=str(path), eval_id="one"))
    store.keep_drafts()
    text = store.export(live.session_id)
    assert json.dumps(str(path))[1:-1] in json.loads(text)["drafts"]["script that plays"]
    made = carry_out(store, ImportSession(text=text), "local")
    assert made is not None
    assert json.loads(store.drafts(made)["script that plays"])["recorded_case"]
    assert "recorded_in" not in json.loads(store.drafts(made)["script that plays"])
    assert played_case(store.drafts(made)) is None
    live.owner = "somebody"
    view = recorded_play.view_of(live)
    assert view is not None
    assert "Several people" in view.problem
    live.drafts["script that plays"] = "{"
    assert recorded_play.view_of(live) is None
