"""A recorded case plays in a session: everything is answered as recorded, and what was not is asked of the author and added."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.apps import App
from google.adk.plugins.base_plugin import BasePlugin

from evalset.recorded.recorded_script import Agents, add_played, script_of_recorded
from evalset.recorded.recorder import recorded_case, replay_lines
from evalset.recorded.recording import RecordedCase
from evalset.recorded.recording_files import put_cases, read_environment
from simulator import SimulatedAgentConfig
from simulator.facts import Deferred
from simulator.runtime import Simulation
from simulator.scripts import Played, ScriptedSession, read_script, write_script
from simulator.scripts.script_text import Waits
from simulator.seats.answers import ToolAnswer
from simulator.seats.requests import ToolRequest
from tests.evalset.replay.desk_agent import PATIENCE, keep, played
from tests.evalset.replay.test_hermetic import ANSWERS, EVERYTHING

LATE = {**ANSWERS, "takes_long": ToolAnswer(outcome=Deferred())}
LATER = {**ANSWERS, "takes_long": {"status": "begun"}, "later": True}


def of(simulation: Simulation) -> RecordedCase:
    """Record a session."""
    return recorded_case(simulation.session, [fact for _, fact in simulation.journal.path()])


def answers_of(session: Any) -> list[tuple[str, Any]]:
    """Return what the agent was told, in order."""
    return [
        (part["functionResponse"]["name"], part["functionResponse"].get("response"))
        for turn in session.turns
        for event in turn.events
        for part in event["content"].get("parts", [])
        if "functionResponse" in part
    ]


def play(desk: SimulatedAgentConfig, case: RecordedCase, agent: Agents, asks: Any = None) -> Played:
    """Play a recorded case, after a way through its text."""
    made = script_of_recorded("case", case, agent=agent)
    assert made.losses == ()
    script = read_script(write_script(made.script)).script
    assert script == made.script
    with ScriptedSession(desk, script, asks=asks) as scripted:
        return scripted.play()


@pytest.mark.parametrize(
    ("queries", "answers"),
    [
        ([EVERYTHING, "check C"], {**ANSWERS, "check": {"status": "shipped"}}),
        (["check A, wipe A; note A; wipe B", "check B"], ANSWERS),
        (["check A, wipe A; note A", "check B"], {**ANSWERS, "confirmed": False}),
        (["wait; check A", "check B"], LATE),
        (["wait; check A", "check B"], LATER),
    ],
    ids=["everything", "confirmed", "rejected", "late", "later"],
)
def test_a_recorded_case_gives_the_same_session(
    desk: SimulatedAgentConfig, queries: list[str], answers: dict[str, Any]
) -> None:
    """By its recorded moves, and with the agent's own model: the same answers in the same order, and nobody is asked."""
    simulation = played(desk, queries, answers)
    case = of(simulation)
    agents: tuple[Agents, ...] = ("moves", "model")
    for agent in agents:
        again = play(desk, case, agent)
        assert (again.waits, again.refused, again.failure, again.leftovers) == ((), None, "", ())
        assert answers_of(again.session) == answers_of(simulation.session)
        assert again.session.current_state == simulation.session.current_state


def test_a_tool_that_asked_for_itself_is_answered_at_once(
    desk: SimulatedAgentConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It does not run, so it cannot ask; its last answer stands."""
    monkeypatch.setenv("MAY_SHIP", "1")
    simulation = played(desk, ["ship A"], {"confirmed": True}, real="ship")
    monkeypatch.delenv("MAY_SHIP")
    again = play(desk, of(simulation), "model")
    assert again.came_through
    assert answers_of(again.session) == [("ship", {"shipped": True})]


def test_other_arguments_are_not_what_was_recorded(desk: SimulatedAgentConfig) -> None:
    """Neither more nor fewer: the script ends where the call is not exactly the same."""
    case = of(played(desk, ["check A"], {"check": {"status": "shipped"}}))
    (turn,) = case.turns
    fewer = turn.calls[0].model_copy(update={"arguments": {}})
    changed = case.model_copy(update={"turns": (turn.model_copy(update={"calls": (fewer,)}),)})
    again = play(desk, changed, "model")
    (waits,) = again.waits
    assert ("check" in waits.words, "desk" in waits.words) == (True, True)


def without(case: RecordedCase, *tools: str) -> RecordedCase:
    """Forget what some tools answered."""
    less = (tuple(call for call in turn.calls if call.tool not in tools) for turn in case.turns)
    turns = zip(case.turns, less, strict=True)
    return case.model_copy(
        update={"turns": tuple(turn.model_copy(update={"calls": calls}) for turn, calls in turns)}
    )


@pytest.mark.long
def test_what_the_author_answers_is_recorded_from_then_on(desk: SimulatedAgentConfig, tmp_path: Path) -> None:
    """The session pauses, knows the recorded calls, goes on with the answer; then the case comes through by itself."""
    simulation = played(desk, ["check A; note A", "check B; advisor visas"], {**ANSWERS})
    sidecar = keep(simulation, tmp_path / "desk.evalset.json", "one")
    case = read_environment(sidecar).cases["one"]
    whole = answers_of(simulation.session)
    put_cases(sidecar, {"one": without(case, "note", "look_up")})
    asked: list[tuple[str, str]] = []
    script = script_of_recorded("one", read_environment(sidecar).cases["one"], agent="moves").script

    def author(waits: tuple[Waits, ...]) -> bool:
        (request,) = scripted.simulation.pending
        assert isinstance(request, ToolRequest)
        asked.append((request.tool_name, request.agent))
        assert all(name in waits[0].words for name in asked[-1])
        assert scripted.simulation.session.environment.recordings.keys() == {"recorded environment"}
        answer = {"note": {"noted": True}, "look_up": {"rule": "none needed"}}[request.tool_name]
        facts = [fact for _, fact in scripted.simulation.journal.path()]
        before = recorded_case(scripted.simulation.session, facts, so_far=True)
        add_played(sidecar, "one", before)
        return bool(scripted.simulation.answer(request, answer, wait=PATIENCE))

    with ScriptedSession(desk, script, asks=lambda _: author) as scripted:
        done = scripted.play()
        facts = [fact for _, fact in scripted.simulation.journal.path()]
    assert done.came_through
    assert asked == [("note", "desk"), ("look_up", "advisor")]
    assert answers_of(done.session) == whole
    added = add_played(sidecar, "one", recorded_case(done.session, facts, so_far=True))
    assert [call.tool for call in added.calls[1]] == ["look_up"]
    now = read_environment(sidecar).cases["one"]
    assert [(call.tool, call.within) for call in now.turns[1].calls] == [
        ("check", ()),
        ("look_up", ("advisor",)),
    ]
    assert now.turns[1].calls[0] == case.turns[1].calls[0]
    assert play(desk, now, "moves").came_through


def test_an_app_gets_one_plugin_more(tmp_path: Path) -> None:
    """The lines run as they stand, behind the App of the module."""
    environment = tmp_path / "it's" / "desk.environment.json"
    environment.parent.mkdir()
    environment.write_text('{"format": "golden-trace-studio/environment", "version": 1, "cases": {}}')
    agent = LlmAgent(name="desk", model="gemini-2.5-flash")
    names: dict[str, Any] = {"app": App(name="desk", root_agent=agent, plugins=[BasePlugin("mine")])}
    lines = replay_lines("desk", environment, models="recorded", has_app=True)
    exec(compile(lines, "agent.py", "exec"), names)  # noqa: S102 - what a person is told to copy is to run
    assert [type(plugin).__name__ for plugin in names["app"].plugins] == ["BasePlugin", "HermeticEnvironment"]
    assert f"{str(environment)!r}, models='recorded'" in lines
