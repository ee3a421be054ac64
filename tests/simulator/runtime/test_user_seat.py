"""Proves that whoever sits in the user's seat speaks as they should, and that a person can hold, change and take over."""

from __future__ import annotations

import json
from typing import Any

import pytest
from google.adk.tools.function_tool import FunctionTool
from google.genai import types

from simulator.base.json_values import JsonObject
from simulator.facts import UserPlayer, UserSeated
from simulator.journal import Journal
from simulator.runtime import Simulation, SimulationError
from simulator.runtime.models.json_client import Timeouts
from simulator.session import SessionState
from simulator.session.history import SessionNote, UserQuery
from tests.simulator.runtime.speaking import SCENARIO, desk, held, said, seat, speaker, status
from tests.simulator.runtime.stage import PATIENCE, agent_of, call, opened, say


def test_what_is_said_beside_the_stop_signal_is_dropped_unless_a_person_keeps_it() -> None:
    """ADK discards the whole message; here it does not go out by itself, a person may send it, and nobody is asked for another."""
    model = speaker("Thank you, that is all. </Finished>", "never said")
    with desk() as sim:
        seat(sim, model, hold=False)
        assert said(sim) == ["Where is my order?"]
        assert sim.session.state is SessionState.COMPLETED
        assert status(sim) == "stop_signal_detected"
        assert held(sim) == "Thank you, that is all."
        assert "ADK discards" in sim.view().user.words
        assert not sim.view().user.may_go_on
        with Simulation.resume(Journal.from_json(sim.journal.to_json()), sim.config, wait=PATIENCE) as again:
            assert said(again) == ["Where is my order?"]
        assert sim.accept(wait=PATIENCE)
        assert said(sim) == ["Where is my order?", "Thank you, that is all."]
        assert status(sim) == "stop_signal_detected"
    assert len(model.asked) == 1


def test_a_held_message_is_accepted_edited_or_replaced() -> None:
    """Each is said as the person wants it, and who made it is kept."""
    with desk() as sim:
        seat(sim, speaker("one", "two", "three"))
        assert (held(sim), said(sim)) == ("Where is my order?", [])
        assert sim.accept(wait=PATIENCE)
        assert held(sim) == "one"
        assert sim.accept(wait=PATIENCE)
        assert sim.accept("two, edited", wait=PATIENCE)
        assert sim.query("my own", wait=PATIENCE)
        assert said(sim) == ["Where is my order?", "one", "two, edited", "my own"]
        queries = [entry for entry in sim.session.history if isinstance(entry, UserQuery)]
        made = [(entry.provenance.source, entry.provenance.by) for entry in queries if entry.provenance]
    assert made == [("written", "scenario"), ("generated", "speaker"), ("edited", None), ("written", None)]


def test_a_person_takes_over_and_hands_back() -> None:
    """The scenario goes on with the same conversation: its starting prompt is not said again, and turns meanwhile count."""
    limit = {"max_allowed_invocations": 4}
    with desk() as sim:
        seat(sim, speaker("one", "two"), config=limit)
        assert sim.accept(wait=PATIENCE)
        assert sim.set_user("person", wait=PATIENCE)
        assert held(sim) is None
        assert sim.query("as a person", wait=PATIENCE)
        seat(sim, speaker("back again"), config=limit)
        assert held(sim) == "back again"
        assert sim.view().user.seat.left == 2
        notes = [entry.content for entry in sim.session.history if isinstance(entry, SessionNote)]
    assert ["scenario" in note for note in notes] == [True, False]


@pytest.mark.parametrize("limit", [0, 1, 3])
def test_the_limit_counts_the_first_message_and_is_never_passed(limit: int) -> None:
    """As many messages as ADK would allow, and its status."""
    with desk() as sim:
        seat(sim, speaker(*"abcdef"), config={"max_allowed_invocations": limit}, hold=False)
        assert len(said(sim)) == limit
        assert status(sim) == "turn_limit_reached"
        assert sim.view().user.seat.left == 0


@pytest.mark.parametrize(
    ("config", "words", "became"),
    [
        ({"model": ""}, "No model", None),
        ({"model": "nobody-knows-me"}, "nobody-knows-me", "failed"),
        ({}, "API_KEY", "failed"),
    ],
)
def test_a_model_that_cannot_be_asked_is_told_in_words(
    config: JsonObject, words: str, became: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """None, one that ADK does not know, its default without a key: the starting prompt goes out, then a person is asked each time. Without one, nothing has failed."""
    monkeypatch.delenv("GOOGLE_API_KEY", raising=False)
    monkeypatch.delenv("GEMINI_API_KEY", raising=False)
    with desk() as sim:
        seat(sim, config=config, hold=False)
        user = sim.view().user
        goes_on = became is not None
        assert (said(sim), status(sim), user.may_go_on) == (["Where is my order?"], became, goes_on)
        assert words in user.words
        assert sim.query("what next?", wait=PATIENCE)
        assert status(sim) == became


def test_a_failed_turn_holds_the_scenario_until_a_person_lets_it_go_on() -> None:
    """ADK's run would be over; here the person reads why, and lets the scenario speak again."""
    with desk([say("reply 1")], ConnectionError("the line is dead"), [say("reply 2")]) as sim:
        model = speaker("one", "two")
        seat(sim, model, hold=False)
        assert said(sim) == ["Where is my order?", "one"]
        assert "the line is dead" in sim.view().user.words
        assert len(model.asked) == 1
        assert sim.go_on(wait=PATIENCE)
        assert said(sim) == ["Where is my order?", "one", "two"]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ([], "empty response (3 attempts)"),
        ([types.Part(text="hm", thought=True)], "thinking tokens (3 attempts)"),
        (ValueError("not today"), "not today"),
    ],
)
def test_a_message_that_cannot_be_made_asks_the_person(
    line: Any, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where ADK raises, the reason is told, after a bounded number of tries; another try may succeed."""
    # The waits between the tries are all that is long here.
    monkeypatch.setattr("simulator.runtime.user_player.PATIENCE", Timeouts(retry_delay=0))
    model = speaker(*[line] * 3, "at last")
    with desk() as sim:
        seat(sim, model)
        assert sim.accept(wait=PATIENCE)
        assert status(sim) == "failed"
        assert sim.view().user.words.endswith(words)
        model.lines = ["at last"] * 9
        assert sim.go_on(wait=PATIENCE)
        assert held(sim) == "at last"


def test_a_script_says_its_messages_and_a_recording_says_where_they_come_from() -> None:
    """One message per turn in order, texts or contents; then ADK's status of a conversation that is over."""
    script: list[str | JsonObject] = ["first", {"parts": [{"text": "second"}]}]
    players: tuple[tuple[UserPlayer, str], ...] = (("script", "written"), ("recording", "recorded"))
    for player, source in players:
        with desk() as sim:
            assert sim.set_user(player, script=script, hold=False, wait=PATIENCE)
            assert said(sim) == ["first", "second"]
            assert status(sim) == "stop_signal_detected"
            first = next(each for each in sim.session.history if isinstance(each, UserQuery))
            assert first.provenance
            assert first.provenance.source == source


def test_a_held_message_goes_out_without_being_made_again_when_it_need_not_be_held() -> None:
    """Only who sits there, or how they speak, makes another message."""
    model = speaker("one")
    with desk() as sim:
        seat(sim, model)
        assert sim.accept(wait=PATIENCE)
        seat(sim, model, hold=True)
        assert len(model.asked) == 1
        seat(sim, model, hold=False)
        assert said(sim) == ["Where is my order?", "one"]
        assert len(model.asked) == 2


def test_the_player_waits_for_a_person_where_the_agent_asks_the_user() -> None:
    """A confirmation is a person's to give; then the script goes on."""

    def pay(amount: int) -> str:
        """Pay."""
        return "paid"

    agent = agent_of(
        [call("pay", amount=5)], [say("done")], tools=[FunctionTool(pay, require_confirmation=True)]
    )
    with opened(agent, tools="real") as sim:
        assert sim.set_user("script", script=["pay", "thanks"], hold=False, wait=PATIENCE)
        assert said(sim) == ["pay"]
        assert "a person" in sim.view().user.words
        (open_call,) = sim.session.open_calls
        assert sim.confirm(open_call.call_id, confirmed=True, wait=PATIENCE)
        assert sim.session.turns[-1].message["parts"] == [{"text": "thanks"}]


def test_an_undo_gives_the_message_back_and_holds_the_player() -> None:
    """Undo leads to where the message was held; nothing is said or asked before a person lets it."""
    model = speaker("one", "two")
    with desk() as sim:
        seat(sim, model, hold=False)
        asked = len(model.asked)
        assert sim.undo(wait=PATIENCE)
        assert said(sim) == ["Where is my order?", "one"]
        assert held(sim) == "two"
        assert sim.view().user.may_go_on
        assert sim.undo(wait=PATIENCE)
        assert sim.undo(wait=PATIENCE)
        assert (said(sim), held(sim)) == ([], "Where is my order?")
        assert sim.undo(wait=PATIENCE)
        assert sim.view().user.seat.player == "person"
        for _ in range(4):
            assert sim.redo(wait=PATIENCE)
        assert said(sim) == ["Where is my order?", "one", "two"]
        assert len(model.asked) == asked


@pytest.mark.long
def test_any_prefix_of_the_journal_resumes_and_asks_no_model_for_what_was_said() -> None:
    """From each fact the same conversation comes about; a message that was made is not made again."""
    model = speaker("one", "two")
    with desk() as sim:
        seat(sim, model, hold=False)
        journal, config = sim.journal, sim.config
        whole = said(sim)
    seated = next(number for number, fact in journal.path() if isinstance(fact, UserSeated))
    for number in range(seated, len(journal)):
        cut = Journal.from_json(journal.branched(number).to_json())
        made = sum(fact.kind == "user_proposed" and fact.by == "speaker" for _, fact in cut.path())
        later = speaker(*["one", "two"][made:])
        with Simulation.resume(cut, config, wait=PATIENCE) as back:
            if made < 3:
                back._engine.user.models["speaker"] = later
                assert back.go_on(wait=PATIENCE)
            assert said(back) == whole
            assert len(later.asked) == 3 - made


def test_an_old_journal_still_reads() -> None:
    """Facts without the new fields mean what they meant."""
    with desk() as sim:
        assert sim.query("hello", wait=PATIENCE)
        document = json.loads(sim.journal.to_json())
    for node in document["nodes"]:
        if node["fact"]["kind"] == "turn_started":
            assert node["fact"].pop("provenance") is None
    old = Journal.from_json(json.dumps(document))
    assert old.fold.user.player == "person"
    entry: Any = old.session().history[0]
    assert (entry.content, entry.provenance) == ("hello", None)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"scenario": {"starting_prompt": "hi"}}, "conversation"),
        ({"scenario": {**SCENARIO, "user_persona": "WIZARD"}}, "'WIZARD'.* EXPERT, NOVICE"),
        ({"scenario": {**SCENARIO, "starting_prompt": " "}}, "starting prompt"),
        ({"scenario": {**SCENARIO, "plan": "x"}}, "plan"),
        ({"config": {"max_allowed_invocation": 3}}, "max_allowed_invocation$"),
        ({"config": {"custom_instructions": "no placeholder"}}, "custom_instructions"),
        ({"config": {"model_configuration": {"warmth": 1}}}, "model_configuration.warmth"),
        ({"config": {"type": "llm_audio"}}, "'llm_audio' sends audio.*'llm_backed'"),
        ({"config": {"type": "llm_video"}}, "'llm_video' is neither"),
        ({"scenario": None}, "no scenario"),
    ],
)
def test_what_adk_would_not_take_is_refused_with_its_place(more: dict[str, Any], words: str) -> None:
    """Nothing changes, and the text names the field."""
    with desk() as sim:
        head = sim.view().head
        with pytest.raises(SimulationError, match=words):
            sim.set_user("scenario", **{"scenario": SCENARIO, **more})
        with pytest.raises(SimulationError, match="message 2 of the script"):
            sim.set_user("script", script=["a", " "])
        with pytest.raises(SimulationError, match="has no messages"):
            sim.set_user("recording")
        with pytest.raises(SimulationError, match="is held"):
            sim.accept()
        assert sim.view().head == head


def test_a_simulator_of_ones_own_goes_on_after_an_undo_and_a_resume() -> None:
    """It is made anew and sees the same conversation, so that its next message is the one that it would have said."""
    path = {"type": "tests.simulator.runtime.own_user.Counting"}
    lines = ["line 1 after 0", "line 2 after 2", "line 3 after 4"]
    with desk() as sim:
        seat(sim, config=path)
        assert (held(sim), said(sim)) == (lines[0], [])
        assert sim.accept(wait=PATIENCE)
        assert held(sim) == lines[1]
        assert sim.accept(wait=PATIENCE)
        assert held(sim) == lines[2]
        assert sim.undo(wait=PATIENCE)
        journal = Journal.from_json(sim.journal.to_json())
        assert sim.go_on(wait=PATIENCE)
        assert held(sim) == lines[1]
        assert sim.accept(wait=PATIENCE)
        assert held(sim) == lines[2]
        with Simulation.resume(journal, sim.config, wait=PATIENCE) as again:
            assert again.accept(wait=PATIENCE)
            assert held(again) == lines[2]
            assert again.accept(wait=PATIENCE)
            assert status(again) == "stop_signal_detected"
            assert said(again) == lines


def test_a_simulator_that_nobody_named_here_is_not_imported_by_a_journal() -> None:
    """A session file cannot have a module of its choice imported: a person has to choose the simulator again."""
    with desk() as sim:
        seat(sim, config={"type": "tests.simulator.runtime.own_user.Counting"})
        text = sim.journal.to_json().replace("own_user.Counting", "own_user.Elsewhere")
        cut = Journal.from_json(text)
        number = next(number for number, fact in cut.path() if fact.kind == "user_proposed")
        with Simulation.resume(cut.branched(number - 1), sim.config, wait=PATIENCE) as again:
            assert again.go_on(wait=PATIENCE)
            assert "Elsewhere" in again.view().user.words


def test_it_is_said_after_a_final_response_once_and_taken_back_by_word_by_undo_and_by_speaking() -> None:
    """It comes back with the journal. Each way opens the conversation again; the notes stand before what was said next."""
    with desk() as sim:
        with pytest.raises(SimulationError, match="final response"):
            sim.complete()
        assert sim.query("hello", wait=PATIENCE)
        assert sim.complete(wait=PATIENCE)
        assert sim.view().user.seat.ended
        assert sim.session.state is SessionState.COMPLETED
        with pytest.raises(SimulationError, match="already"):
            sim.complete()
        with Simulation.resume(type(sim.journal).from_json(sim.journal.to_json()), sim.config) as again:
            assert again.view().user.seat.ended
        assert sim.complete(over=False, wait=PATIENCE)
        assert not sim.view().user.seat.ended
        assert sim.complete(wait=PATIENCE)
        assert sim.undo(wait=PATIENCE)
        assert not sim.view().user.seat.ended
        assert sim.redo(wait=PATIENCE)
        assert sim.view().user.seat.ended
        assert sim.query("one more", wait=PATIENCE)
        assert not sim.view().user.seat.ended
        notes = [entry.content for entry in sim.session.history if isinstance(entry, SessionNote)]
        assert ["reopened" in note for note in notes] == [False, True, False]
        assert said(sim) == ["hello", "one more"]


def test_who_sits_in_the_users_seat_says_no_more_until_it_goes_on() -> None:
    """A scenario that speaks by itself rests; what it had ready is there again."""
    model = speaker("two", "three")
    with desk() as sim:
        seat(sim, model)
        assert sim.accept(wait=PATIENCE)
        assert held(sim) == "two"
        assert sim.complete(wait=PATIENCE)
        assert sim.view().user.seat.ended
        assert sim.set_user("person", wait=PATIENCE)
        seat(sim, model, hold=False)
        assert len(said(sim)) == 1
        assert sim.complete(over=False, wait=PATIENCE)
        assert sim.wait(PATIENCE)
        assert len(said(sim)) > 1
