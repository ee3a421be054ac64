"""Scripts and recorded cases on the page: one is brought along and plays, asks, is stopped and goes on; and a session leaves as one."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from app.export.export_case import PlayedCase, exportable, played_case, remember_played
from app.live.agent_catalogue import catalogue
from app.live.destinations import check_place, default_destination
from app.live.live_sessions import LiveSession, registry
from app.screens.session_list import ImportSession, carry_out
from app.screens.start_panel import PATH_KEY, TEXT_KEY
from app.scripts import script_play
from app.scripts.script_play import _DRAFT, ScriptForm, open_script, text_of_upload, without_places
from app.server.owners import LOCAL
from evalset.recorded.recorder import record
from evalset.recorded.recording import RecordedCase
from evalset.recorded.recording_files import parted, put_cases, read_environment
from simulator import Seats, Simulation, demo_agent
from simulator.agent_config import SimulatedAgentConfig
from simulator.facts import Returned
from simulator.scripts import ScriptProgress, read_script
from simulator.session import FinalResponse, UserQuery
from simulator.store import JournalStore
from tests.app.desk_sessions import live_of, server_ends
from tests.app.page_driver import HOSTILE, Tab, live_marks
from tests.simulator.runtime.stage import PATIENCE
from tests.simulator.scripts.recording import record_demo

HEAD = "format: golden-trace-studio/script\nversion: 1\n"
LOST = HEAD + (
    "turns:\n- say: Where is order A-1002?\n"
    "- say: And order A-1003?\n  moves: [{tool: find_order, returns: {order_id: A-1003, status: lost}}]\n"
)


def test_a_session_of_a_file_names_no_file_of_this_machine() -> None:
    """The script that it plays comes along without its recording's path; what is none is left out, and other texts stay."""
    kept = {"reply": "Hello?"}
    form = json.dumps({"text": "turns: []", "recorded_in": "/srv/secret.evalset.json"})
    assert without_places({**kept, _DRAFT: form}) == {**kept, _DRAFT: json.dumps({"text": "turns: []"})}
    assert without_places({**kept, _DRAFT: "{"}) == without_places(kept) == kept


@pytest.fixture
def scripted(start: Tab) -> Tab:
    """The start page with the place for a script open."""
    return start.choose("start_from", "Script").run()


def play(tab: Tab, text: str, otherwise: str = "") -> LiveSession:
    """Paste a script and play it; return the session."""
    tab.fill(TEXT_KEY, text)
    tab.fill("start_script_otherwise", otherwise).run().click("play_script")
    return live_of(tab.session_id)


def test_a_script_plays_asks_for_what_it_lacks_and_goes_on_then(scripted: Tab) -> None:
    """The first call has no line and waits in the page; stopped there, it goes on with what it has not said, marked as its."""
    live = play(scripted, LOST)
    until(live, "asks")
    asked = told(scripted.run())
    assert asked.startswith("Turn 1 of 2")
    assert all(each in asked for each in ("find_order", "order_desk"))
    answers_what_waits(scripted, live)
    scripted.click("stop_script")
    stopped = until(live, "over").played
    assert stopped is not None
    assert stopped.stopped
    assert stopped.stopped in told(scripted)
    assert not scripted.has("stop_script")
    scripted.click(scripted.key("accept_"))
    assert len(live.simulation.session.turns) == 1
    scripted.click("play_script_on")
    assert comes_through(live)
    scripted.run()
    assert "2" in told(scripted).split()
    assert "lost" in live.simulation.session.history[-1].content  # type: ignore[union-attr] # the final response
    assert [turn.number for turn in live.simulation.session.turns] == [0, 1]
    labels = [each.label for each in scripted.app.expander]
    assert any("**User**" in label and "violet-badge[script]" in label for label in labels)
    assert any("**find_order**" in label and "violet-badge[script]" in label for label in labels)
    scripted.click("forget_script")
    assert scripted.keys("script_strip") == []


def answers_what_waits(tab: Tab, live: LiveSession) -> None:
    """Check that nothing waits for a person while the script plays by itself, on any page."""
    work = live.script
    assert work is not None
    told_as_waiting = ("Paused", "waiting for you")
    for playing in (False, True):
        if playing:
            place = ("turns", 0, "moves", 2)
            step = work.progress.step.model_copy(
                update={"words": "A line is turns.0.moves.2", "place": place}
            )
            live.script = SimpleNamespace(progress=ScriptProgress(step=step))  # type: ignore[assignment] # as far as it is drawn
            assert told(tab.run()).endswith(" line 3 of turn 1")
        shown = "\n".join([tab.run().words, *(each.label for each in tab.app.expander)])
        assert [each in shown for each in told_as_waiting] == [not playing] * 2
        assert bool(tab.keys("accept_")) is not playing
        assert tab.click("open_environment").has("environment_answer") is not playing
        assert ("Paused" in tab.words) is not playing
        tab.click("environment_back")
    live.script = work
    tab.run()


@pytest.mark.long
def test_it_goes_on_after_the_server_was_away(store: JournalStore, scripted: Tab) -> None:
    """The script ends with the session, which comes back with it at rest: nobody is asked before a person lets it play on."""
    live = play(scripted, LOST)
    until(live, "asks")
    session_id = live.session_id
    server_ends()
    assert live.script is not None
    assert live.script.progress.is_over
    tab = Tab(session_id)
    at_rest = told(tab)
    again = live_of(session_id)
    assert again.script is None
    tab.click("play_script_on")
    until(again, "asks")
    assert told(tab.run()) not in {"", at_rest}
    tab.click(tab.key("accept_"))
    assert comes_through(again)
    assert store is not None


def test_a_script_with_an_error_says_where_and_what(scripted: Tab) -> None:
    """On the start page, with the text still there; nothing was opened. So are an eval set and a session that cannot be played."""
    before = len(registry().newest_first())
    scenario = {"startingPrompt": "Hi", "conversationPlan": "Ask."}
    plan = {"eval_set_id": "set", "eval_cases": [{"evalId": "plan", "conversationScenario": scenario}]}
    for text, where in (
        ("", ()),
        (LOST.replace("returns", "retruns"), ("line 6: turns.1.moves.0.retruns", "'returns'")),
        ("turns: [", ("invalid YAML",)),
        (f"{HEAD}turns: {HOSTILE!r}", ("line 3: turns: ",)),
        (json.dumps(plan), ("case", "conversation")),
        ('{"eval_cases": 3}', ("ADK", "eval_set_id: Field required")),
    ):
        scripted.fill(TEXT_KEY, text).run().click("play_script")
        assert scripted.app.error, text
        assert all(each in scripted.literal for each in where), text
        assert scripted.typed(TEXT_KEY) == text
        assert len(registry().newest_first()) == before
        assert scripted.live_marks() == []
    scripted.fill(TEXT_KEY, '{"format": "golden-trace-studio/session", "version": 1}')
    assert not scripted.run().has("play_script")


def test_an_upload_becomes_the_text_that_can_be_changed(scripted: Tab) -> None:
    """And a file that is no text is refused; the text stays."""
    scripted.app.file_uploader[0].set_value(("lost.yaml", LOST.encode(), "application/yaml"))
    scripted.run()
    assert scripted.typed(TEXT_KEY) == LOST
    assert not scripted.app.error
    scripted.app.file_uploader[0].set_value(("lost.yaml", b"\xff\xfe", "application/yaml"))
    assert scripted.run().app.error
    assert scripted.typed(TEXT_KEY) == LOST


@pytest.mark.long
def test_how_it_ended_is_told_with_the_line(scripted: Tab) -> None:
    """A line that is missing, misplaced, too many, or lets the turn fail."""
    asked = "- say: Where is order A-1002?\n"
    for number, (text, wanted) in enumerate(
        (
            (f"otherwise: fail\nturns:\n{asked}", ("Turn 1",)),
            ("turns:\n- say: hi\n- confirm: true\n", ("confirm",)),
            (
                f"turns:\n{asked}  moves: [{{tool: find_order, raises: 'ValueError: no'}}]\n",
                ("Turn 1", "ValueError: no"),
            ),
            ("turns:\n- say: hi\n  moves: [{tool: xxxxxxxxx, returns: 1}]\n", ("xxxxxxxxx",)),
        )
    ):
        tab = scripted if not number else Tab().choose("start_from", "Script").run()
        live = play(tab, HEAD + text)
        played = until(live, "over").played
        assert played is None or played.leftovers or not played.came_through, text
        assert all(each in tab.run().literal for each in wanted), text
        assert tab.live_marks() == []


def exported(tab: Tab) -> str:
    """Return the script that the export shows."""
    (code,) = [each.value for each in tab.app.code if each.value.startswith("#") and HEAD in each.value]
    return str(code)


def test_a_session_leaves_as_a_script(scripted: Tab) -> None:
    """The export shows it, with the agent's moves or for its own model; it can be read."""
    config = catalogue().config("order_desk")
    live = open_script(ScriptForm(agent="order_desk", text=LOST, otherwise="generate"), config, LOCAL)
    until(live, "over")
    tab = Tab(live.session_id).click("open_export")
    tab.app.session_state["export_script"] = True
    tab.run()
    script = read_script(exported(tab)).script
    assert [turn.say for turn in script.turns] == [
        entry.content for entry in live.simulation.session.history if isinstance(entry, UserQuery)
    ]
    assert script.agent == "person"
    chosen: Any = tab.app.segmented_control(key=tab.key("export_script_agent"))
    chosen.set_value("model")
    tab.run()
    assert read_script(exported(tab)).script.agent == "model"


@pytest.mark.long
def test_an_unfinished_session_leaves_as_a_script_that_comes_to_the_same_point(scripted: Tab) -> None:
    """It says what was done so far, and asks a person where the session itself does; nothing in it comes alive."""
    live = open_script(ScriptForm(agent="order_desk", text=LOST), catalogue().config("order_desk"), LOCAL)
    until(live, "asks")
    tab = Tab(live.session_id).click("open_export")
    code = exported(tab)
    again = open_script(ScriptForm(agent="order_desk", text=code), catalogue().config("order_desk"), LOCAL)
    until(again, "asks")
    one, two = (each.simulation.view() for each in (live, again))
    assert [entry.type for entry in two.session.history] == [entry.type for entry in one.session.history]
    assert [request.arguments for request in two.pending] == [request.arguments for request in one.pending]  # type: ignore[union-attr] # tool calls
    assert len(two.pending) == 1


def _unsaid(hostile: "Any") -> None:  # noqa: UP037 - the script has no imports
    from app.export.export_panel import script_so_far  # noqa: PLC0415 - as above
    from app.forms.widget_store import KeptInputs  # noqa: PLC0415 - as above
    from app.live.live_sessions import UnsentTexts  # noqa: PLC0415 - the function's text is the page's script
    from simulator.scripts import ScriptError  # noqa: PLC0415 - as above

    def written(_: object) -> str:
        raise ScriptError(f"turn 1: {hostile}")

    script_so_far(KeptInputs(UnsentTexts(), "export"), "name", written)


def test_an_unfinished_session_that_no_script_can_say_says_why() -> None:
    """In the place of the script and its download stands the reason, which comes from outside."""
    page = AppTest.from_function(_unsaid, kwargs={"hostile": HOSTILE}, default_timeout=PATIENCE).run()
    assert not page.exception
    assert page.error
    assert HOSTILE in page.code[0].value
    assert live_marks(page.main) == []
    assert not page.get("download_button")


def _played() -> None:
    from types import SimpleNamespace  # noqa: PLC0415 - as above

    from app.scripts.script_panel import script_strip  # noqa: PLC0415 - as above
    from simulator.scripts import ScriptProgress  # noqa: PLC0415 - as above
    from simulator.scripts.script_player import Played, ScriptStep  # noqa: PLC0415 - as above

    step = ScriptStep(turn=3, turns=3, words="")
    progress = ScriptProgress.model_construct(step=step, played=Played.model_construct(session=None))  # type: ignore[arg-type] # no session is drawn
    script_strip(SimpleNamespace(progress=progress), "", case=(3, 2))  # type: ignore[arg-type] # as far as it is drawn


def test_a_case_that_was_played_has_the_turns_of_the_case() -> None:
    """The script has another turn for a late result, which the case has not."""
    page = AppTest.from_function(_played, default_timeout=PATIENCE).run()
    assert not page.exception
    assert {each.value for each in page.text} == {"All 2 turns completed."}


def eval_set(*ids: str) -> str:
    """Write an eval set with the same trace under several names; what the agent said on the way has no time."""
    data = {
        "toolUses": [{"name": "find_order", "args": {"order_id": "A-1002"}}],
        "toolResponses": [{"name": "find_order", "response": {"status": "lost"}}],
        "intermediateResponses": [["order_desk", [{"text": "One moment."}]]],
    }
    turn = {
        "userContent": {"parts": [{"text": "Where is A-1002?"}]},
        "finalResponse": {"parts": [{"text": "It is lost."}]},
        "intermediateData": data,
    }
    cases = [{"evalId": each, "conversation": [turn]} for each in ids]
    return json.dumps({"eval_set_id": "set", "eval_cases": cases})


def test_a_golden_trace_of_an_eval_set_plays_again(scripted: Tab) -> None:
    """Of several one is chosen first; what the trace does not tell is said, and the session does what it tells."""
    scripted.fill(TEXT_KEY, eval_set("first", HOSTILE)).click("play_script")
    assert scripted.session_id is None
    chosen = scripted.app.selectbox(key="start_script_case")
    assert chosen.options == ["first", HOSTILE]
    assert any("turn 1" in line and "'first'" in line for line in scripted.literal.splitlines())
    chosen.set_value("first")
    scripted.run().click("play_script")
    live = live_of(scripted.session_id)
    until(live, "over")
    types = [entry.type for entry in live.simulation.session.history]
    assert types[types.index("user_query") :] == ["user_query", "tool_call", "tool_output", "final_response"]
    assert "It is lost." in scripted.run().literal


@pytest.mark.long
def test_a_downloaded_confirmed_case_plays_to_its_end() -> None:
    """The download holds what a person had confirmed: nothing is asked again. The case alone stops at the confirmation."""
    with record_demo("expense_approver") as simulation:
        facts = [fact for _, fact in simulation.journal.path()]
        config = demo_agent("expense_approver")
        made = exportable(simulation.session, "intermediate_data", "one", facts, config)
    text = text_of_upload(made.archive)
    assert text_of_upload(made.document.encode()) == made.document
    assert made.misread is None
    live = open_script(ScriptForm(agent="expense_approver", text=text, case="one", otherwise="fail"), config)
    progress = until(live, "over")
    assert progress.played is not None, progress
    assert (progress.played.waits, progress.played.refused, progress.played.leftovers) == ((), None, ())
    said = [entry.content for entry in live.simulation.session.history if isinstance(entry, FinalResponse)]
    assert said == [entry.content for entry in simulation.session.history if isinstance(entry, FinalResponse)]
    for each in (text, made.document):
        recorded = parted("x", each).environment
        assert recorded is not None
        assert any(call.confirmed for turn in recorded.cases["one"].turns for call in turn.calls)
    alone = open_script(ScriptForm(agent="expense_approver", text=parted("x", text).text, case="one"), config)
    assert "confirmation" in until(alone, "asks").asks[0].words


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
def recorded(start: Tab) -> Tab:
    """The recorded page with the place for recorded cases open."""
    return start.choose("start_from", "Recorded case").run()


def replay(tab: Tab, path: Path | str) -> LiveSession:
    """Replay the case of a file; return the session."""
    tab.fill(PATH_KEY, str(path)).run().click("play_recorded")
    return live_of(tab.session_id)


def test_a_replay_pauses_where_nothing_was_recorded_and_learns_the_answer(recorded: Tab, path: Path) -> None:
    """It says what is nearest; the answer of the author joins the case, which then replays by itself."""
    live = replay(recorded, path.with_name("orders.evalset.json"))
    until(live, "asks")
    asked = told(recorded.run())
    assert asked.startswith("Turn 2 of 2")
    assert all(each in asked for each in ("find_order", "order_desk", "turn 1, call 1"))
    assert re.search(r"args\.order_id .*'A-1002'.*'A-1003'", asked)
    assert not recorded.has("add_answers")
    assert recorded.keys("choose_recorded")
    recorded.click(recorded.key("accept_"))
    until(live, "over")
    lacking = told(recorded.run())
    recorded.click("add_answers")
    assert not recorded.has("add_answers")
    case = read_environment(path).cases["two"]
    (call,) = case.turns[1].calls
    assert call.arguments == {"order_id": "A-1003"}
    assert isinstance(call.outcome, Returned)
    assert call.author.source in {"generated", "edited", "written"}
    assert told(recorded) != lacking
    again = Tab()
    again.choose("start_from", "Recorded case")
    live = replay(again.run(), path)
    until(live, "over")
    assert told(again.run()) == told(recorded)


def test_a_file_that_is_none_is_named(recorded: Tab, tmp_path: Path) -> None:
    """The agent's own set is not there at first, which is no error, and there is nothing to press; any other is named."""
    assert not recorded.app.error
    assert recorded.app.button(key="play_recorded").disabled
    damaged = tmp_path / f"{'x'}.environment.json"
    damaged.write_text("{")
    recorded.fill(PATH_KEY, str(damaged))
    assert "not valid JSON" in recorded.run().literal
    assert recorded.app.error
    assert recorded.app.button(key="play_recorded").disabled
    recorded.fill(PATH_KEY, str(tmp_path / "none.evalset.json"))
    assert str(tmp_path / "none.environment.json") in recorded.run().literal


@pytest.mark.long
def test_a_damaged_file_is_not_written_over(recorded: Tab, path: Path) -> None:
    """The strip says what is wrong with it, and nothing is lost of the session; names and words of it are shown literally."""
    (case,) = read_environment(path).cases.values()
    put_cases(path, {"two": None, HOSTILE: case})
    live = replay(recorded, path)
    until(live, "asks")
    assert recorded.run().live_marks() == []
    recorded.click(recorded.key("accept_"))
    until(live, "over")
    path.write_text("{")
    recorded.run()
    assert "not valid JSON" in recorded.literal
    assert not recorded.has("add_answers")
    with pytest.raises(ValueError, match="not valid JSON"):
        script_play.add_answers(live)
    assert path.read_text() == "{"


def test_others_on_a_server_read_and_write_beside_the_agent_only(path: Path) -> None:
    """As they do with eval sets."""
    config = demo_agent("order_desk")
    theirs = default_destination("somebody", config).parent.resolve()
    with pytest.raises(ValueError, match=re.escape(str(theirs))):
        script_play.recorded_cases(str(path), "somebody", config)
    check_place(str(path), "local", config)


def test_a_relative_path_starts_at_the_folder_of_the_agents_set(path: Path) -> None:
    """A recorded case is found by the name of its set there."""
    config = SimulatedAgentConfig(
        name="order_desk",
        agent=demo_agent("order_desk").agent,
        eval_set_path=path.with_name("new.evalset.json"),
    )
    assert list(script_play.recorded_cases("orders.evalset.json", "local", config)) == ["two"]


@pytest.mark.long
def test_a_session_file_names_no_file_of_this_machine(store: JournalStore, recorded: Tab, path: Path) -> None:
    """Of another's session neither is read what it says was recorded, nor are answers added there; damaged, it is left out."""
    live = replay(recorded, path)
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
    view = script_play.view_of(live)
    assert view is not None
    assert "Several people" in view.problem
    live.drafts["script that plays"] = "{"
    assert script_play.view_of(live) is None


def until(live: LiveSession, state: str) -> ScriptProgress:
    """Wait until it asks, or is over."""
    assert live.script is not None
    assert live.script.wait(lambda progress: state == "asks" and bool(progress.asks), PATIENCE)
    return live.script.progress


def comes_through(live: LiveSession) -> bool:
    """Wait until it is over; tell whether it did all that it says."""
    played = until(live, "over").played
    return played is not None and played.came_through


def told(tab: Tab) -> str:
    """Return the line on the page that tells how far it is."""
    return str(tab.block("script_words").text[0].value)
