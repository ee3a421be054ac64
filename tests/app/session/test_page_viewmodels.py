"""Steps of the timeline, in which words; who may answer tools, and what each lacks; what was typed about the user's seat becomes what sits down there."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.live.player_names import AGENT_PLAYERS, NO_MODEL, NO_RECORDING, NOTHING_RECORDED, PLAYERS, lacks
from app.live.session_opening import StartForm, read_form
from app.session.provenance_labels import sentence
from app.session.timeline_view import FILTERS, Filter, newest_steps, rows, steps_of, waiting_steps
from app.session.user_form import (
    OWN_PERSONA,
    FormError,
    ScenarioForm,
    form_of,
    script_of,
    script_text,
    seat_words,
)
from simulator.environment.recordings import ObservedCall
from simulator.facts import EVERY, Failed, Provenance, Returned
from simulator.session import SimulationSession
from simulator.session.commands import SetPlayer
from simulator.session.history import SessionNote, UserQuery, UserReply
from simulator.session.model import UserSeat
from tests.app.fakes import FakeSimulation, put_live, tool_request
from tests.app.page_driver import Tab


def session_of(outcomes: list[bool]) -> SimulationSession:
    """A session with one call for each outcome: True returned, False failed."""
    simulation = FakeSimulation().ask("Go")
    for number, good in enumerate(outcomes):
        outcome = None if good else Failed(error_code=500, error_message="no")
        simulation.call(f"c{number}").give(f"c{number}", outcome)
    return simulation.say("Done").end("Done").session


@given(st.lists(st.booleans(), max_size=12), st.sampled_from(FILTERS), st.integers(0, 30))
def test_the_newest_steps_are_the_end_of_all_steps(outcomes: list[bool], chosen: Filter, count: int) -> None:
    """Whatever the filter and the number, what is shown is the end of all that the filter lets through.

    All is the whole history, Tools the calls with their answers, Errors the failed ones.
    """
    session = session_of(outcomes)
    everything = newest_steps(session, chosen, len(session.history))
    shown = newest_steps(session, chosen, count)
    assert shown.total == everything.total == len(everything.steps)
    assert shown.steps == everything.steps[max(0, everything.total - count) :]
    assert len(rows(session)) == len(session.history)
    totals = {"All": len(session.history), "Tools": 2 * len(outcomes), "Errors": outcomes.count(False)}
    assert {each: newest_steps(session, each, 0).total for each in FILTERS} == totals


@pytest.mark.parametrize(
    ("milliseconds", "took"),
    [(12.4, "12 ms"), (999.7, "1.0 s"), (29_594, "29.6 s"), (59_990, "1 min 0 s"), (200_000, "3 min 20 s")],
)
def test_how_long_an_answer_took_has_the_unit_of_a_person(milliseconds: float, took: str) -> None:
    """A model and a tool answer in milliseconds, a person does not."""
    assert sentence(Provenance(source="written"), milliseconds) == f"written, {took}"


def test_auto_seats_a_person_only_where_no_model_can_be_asked() -> None:
    """Of two agents the one without a model is played by the person, and the tools by the person as always."""
    seats = read_form(StartForm(agent="a"), {"second": "no key"}).seats
    assert (seats.of_agent("first"), seats.of_agent("second")) == ("model", "person")
    assert seats.of_tool("any") == "person"
    held = read_form(StartForm(agent="a", agent_player="held"), {"second": "no key"}).seats
    assert held.agents == {EVERY: "held"}


def test_the_timeline_says_how_a_confirmation_was_decided() -> None:
    """Yes and no are told apart. The late result of a tool is its own, and no word of the user."""
    at = datetime(2026, 1, 1, tzinfo=UTC)
    replies = [
        ("adk_request_confirmation", {"confirmed": True}),
        ("adk_request_confirmation", {"confirmed": False}),
    ]
    history = [
        UserReply(fact=1, turn=1, timestamp=at, call_id=f"c{place}", tool_name=tool, response=response)
        for place, (tool, response) in enumerate([*replies, ("approve", {"confirmed": True})])
    ]
    session = SimulationSession.model_construct(history=tuple(history))
    labels = [step.label for step in newest_steps(session, "All", 9).steps]
    yes, no = (label.partition("** ")[2].split() for label in labels[:2])
    assert "not" in no
    assert "not" not in yes
    assert ["User" in label for label in labels] == [True, True, False]
    assert "**approve** responded late" in labels[2]
    assert [row.who for row in rows(session)] == ["user", "user", "approve"]


def test_calls_that_wait_are_told_apart_by_their_arguments() -> None:
    """Of three calls of one tool each waiting line says which it is."""
    pending = [tool_request(f"c{city}", arguments={"city": city}) for city in ("Rome", "Lisbon", "Athens")]
    labels = [step.label for step in waiting_steps(pending, ())]
    assert ["Rome" in labels[0], "Lisbon" in labels[1], "Athens" in labels[2]] == [True, True, True]
    assert len(set(labels)) == len(labels)


@pytest.mark.parametrize(
    ("content", "about", "named"),
    [
        ("injections: added slow", "Rules", "added slow"),
        ("environment: data loaded", "Environment", "data loaded"),
        ("tool seat of a: offline", "Seats", f"a: {PLAYERS['offline'].name}"),
        ("agent seat of all others: held", "Seats", f"all other agents: {AGENT_PLAYERS['held']}"),
        ("tool seat of all others: person", "Seats", f"all other tools: {PLAYERS['person'].name}"),
        ("something else", "Changed", "something else"),
    ],
)
def test_the_timeline_calls_changes_as_the_page_does(content: str, about: str, named: str) -> None:
    """What was changed heads the line, and rules and players are called as everywhere on the page."""
    note = SessionNote(fact=1, turn=0, timestamp=datetime(2026, 1, 1, tzinfo=UTC), content=content)
    session = SimulationSession.model_construct(history=(note,))
    (step,) = newest_steps(session, "All", 1).steps
    assert step.label.replace("\\", "").replace("\u2060", "") == f"**{about}** \u00b7 {named}"


@pytest.mark.parametrize(
    ("contents", "words"),
    [
        (
            ["agent seat of all others: person", "tool seat of all others: person"],
            "all agents, all tools: You",
        ),
        (
            ["agent seat of all others: model", "tool seat of all others: person", "tool seat of a: person"],
            f"all agents: {AGENT_PLAYERS['model']}; all tools: You",
        ),
        (
            ["tool seat of all others: person", "tool seat of a: person", "tool seat of a: offline"],
            f"all other tools: You; a: {PLAYERS['offline'].name}",
        ),
    ],
)
def test_who_plays_at_first_is_one_line(contents: list[str], words: str) -> None:
    """A later change of a seat has a line of its own. The table has each. The line counts as one step."""
    at = datetime(2026, 1, 1, tzinfo=UTC)
    query = UserQuery(fact=9, turn=0, timestamp=at, content="Go")
    notes = [SessionNote(fact=1, turn=0, timestamp=at, content=each) for each in (*contents, contents[0])]
    session = SimulationSession.model_construct(history=(*notes[:-1], query, notes[-1]))
    shown = newest_steps(session, "All", 9)
    first, *later = shown.steps
    assert first.label.replace("\\", "").replace("\u2060", "") == f"**Seats** \u00b7 {words}"
    assert [*first.others, first.index] == list(range(len(contents)))
    assert [step.index for step in later] == [len(contents), len(contents) + 1]
    assert (shown.total, shown.hidden) == (len(contents) + 2, 0)
    assert newest_steps(session, "All", 2).hidden == 1
    assert steps_of(session).startswith("3 ")
    assert newest_steps(session, "All", 2).steps == tuple(later)


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
        assert simulation.asked[-1] == SetPlayer(seat="tool", player=player, target=EVERY)
        assert tab.app.toggle(key="auto_switch").value is on
    simulation.asked.clear()
    tab.choose("context_view", "Seats").app.selectbox(key="seat_tool_find_order").set_value("model")
    tab.run()
    assert simulation.asked == []
    assert NO_MODEL in tab.words
    tab.fill("seat_tool_find_order", "offline").run()
    assert simulation.asked == [SetPlayer(seat="tool", player="offline", target="find_order")]
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


WHOLE = ScenarioForm(starting_prompt="Hi", conversation_plan="Talk.")


def _content(text: str) -> dict[str, object]:
    return {"role": "user", "parts": [{"text": text}]}


@given(st.lists(st.text(min_size=1), min_size=1, max_size=4))
def test_a_script_reads_back_as_it_was(texts: list[str]) -> None:
    """Lines where that holds them, else JSON; blanks around and line breaks stay."""
    script = tuple(_content(text) for text in texts if text.strip())
    if not script:
        return
    read = script_of(script_text(script))  # type: ignore[arg-type] # texts are JSON
    assert [each if isinstance(each, str) else None for each in read] == [t for t in texts if t.strip()]


def test_a_script_has_a_message_on_each_line_or_is_named_as_none() -> None:
    """Empty lines are none; a script without any is told from one whose messages are none."""
    assert script_of("a\n \n b \n") == ("a", "b")
    said: dict[str, str] = {}
    for text in ("", "[]", "[1]", "["):
        with pytest.raises(FormError, match=r"^Messages: ") as raised:
            script_of(text)
        said[text] = str(raised.value)
    assert said[""] == said["[]"]
    assert len(set(said.values())) == 3


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"starting_prompt": " "}, "Starting prompt"),
        ({"conversation_plan": ""}, "Plan"),
        ({"persona": OWN_PERSONA, "own_persona": "["}, "Persona"),
    ],
)
def test_what_is_missing_is_named(change: dict[str, str], field: str) -> None:
    """The field of the form."""
    with pytest.raises(FormError, match=field):
        WHOLE.model_copy(update=change).scenario()
    with pytest.raises(FormError, match="Model configuration"):
        WHOLE.model_copy(update={"model_configuration": "1"}).config()


def test_a_form_gives_adks_words_and_takes_them_back() -> None:
    """What is not set is left to ADK, but for the model: an empty one is none."""
    form = WHOLE.model_copy(
        update={
            "persona": OWN_PERSONA,
            "own_persona": '{"id": "SHY"}',
            "model": " talker ",
            "model_configuration": '{"temperature": 0}',
            "limit": 3,
            "custom_instructions": "x",
            "include_function_calls": True,
        }
    )
    assert form.scenario()["user_persona"] == {"id": "SHY"}
    assert form.config() == {
        "model": "talker",
        "max_allowed_invocations": 3,
        "model_configuration": {"temperature": 0},
        "custom_instructions": "x",
        "include_function_calls": True,
    }
    again = form_of(form.scenario(), form.config())
    assert (again.scenario(), again.config()) == (form.scenario(), form.config())
    assert WHOLE.config() == {"model": "", "max_allowed_invocations": 20}
    assert "user_persona" not in WHOLE.scenario()


def test_the_seat_is_told_in_words() -> None:
    """Who, how much is left, and whether messages are held."""
    scenario = UserSeat(player="scenario", config={"max_allowed_invocations": 5}, said=2)
    assert "3 of 5" in seat_words(scenario)
    endless = UserSeat(player="scenario", config={"max_allowed_invocations": -1})
    said = [UserSeat(), scenario, endless, endless.model_copy(update={"hold": False})]
    assert len({seat_words(each) for each in said}) == len(said)
    assert not any(digit.isdigit() for digit in seat_words(endless))
