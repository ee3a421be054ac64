"""What a person typed when a graph or an agent asked for input replays as confirmations do: in verify, under `adk eval`, in scripts."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.apps import App
from google.adk.runners import InMemoryRunner
from google.genai import types

from evalset import GoldenTraceBuilder, HermeticEnvironment, read_cases
from evalset.editing.case_play import script_with_recording
from evalset.golden_trace.builder import TraceForm
from evalset.recorded.added_answers import add_played, new_answers
from evalset.recorded.recorded_script import script_of_recorded
from evalset.recorded.recorder import recorded_case
from evalset.recorded.recording import RecordedCase, RecordedEnvironment, RecordedTurn, without_golden
from evalset.recorded.recording_files import put_cases, read_environment, sidecar_of
from evalset.recorded.tolerances import PatternTolerance
from evalset.verify import RunResult, keep_tolerances, verify
from simulator import Simulation
from simulator.scripts import Script, ScriptedSession, read_script, write_script
from simulator.session.history import FinalResponse
from simulator.session.model import REQUEST_INPUT
from tests.evalset.replay import asking
from tests.evalset.replay.asking import kept, played
from tests.evalset.verify.desks import divergence_of
from tests.harness.adk_process import run_adk_eval
from tests.simulator.runtime.stage import Scripted, say

SHAPES: dict[str, tuple[Callable[[], Any], Sequence[Any]]] = {
    "one": (asking.one, ["blue"]),
    "of a fixed id": (lambda: asking.one(interrupt_id="which"), ["blue"]),
    "several": (asking.several, ["Oslo", "Rome"]),
    "side by side": (asking.side_by_side, ["a", "b"]),
    "side by side, the second first": (asking.side_by_side, ["the last", "b"]),
    "with a schema": (asking.with_schema, [{"city": "Rome", "nights": 3}]),
    "into an agent": (asking.into_agent, ["blue"]),
    "run again": (asking.resumed, ["blue"]),
    "by the tool": (asking.by_tool, ["blue"]),
}
shapes = pytest.mark.parametrize(("make", "answers"), SHAPES.values(), ids=SHAPES)


def the_run(eval_set: Path, agent: Any, models: Any = "auto") -> RunResult:
    """Verify the only case of a set once."""
    (case,) = verify(eval_set, agent=asking.config(agent), models=models).cases
    (run,) = case.runs
    return run


def recorded_of(eval_set: Path) -> RecordedCase:
    """Read what was recorded of the only case."""
    (case,) = read_environment(sidecar_of(eval_set)).cases.values()
    return case


def final_text(session: Any) -> str:
    """Return what was said last."""
    last = session.history[-1]
    assert isinstance(last, FinalResponse)
    return last.content


@shapes
def test_a_golden_with_input_passes_its_own_verification(
    make: Callable[[], Any], answers: Sequence[Any], tmp_path: Path
) -> None:
    """Whatever asks, and whoever answers for the models; the real tools do not run.

    An older release kept the user's replies and no questions: they are found by their ids, and where those are new, in their order.
    """
    eval_set = kept(played(make(), answers), tmp_path)
    for models in ("real", "recorded"):
        run = the_run(eval_set, make(), models)
        assert (run.passed, run.error, run.unrecorded) == (True, "", ())
    old = _without_questions(recorded_of(eval_set))
    assert RecordedEnvironment(cases={"case": old}).version < 4
    if answers[0] != "the last":  # of two that ask the same, nothing tells which was answered first
        put_cases(sidecar_of(eval_set), {"case": old})
        assert the_run(eval_set, make()).passed


def _without_questions(case: RecordedCase) -> RecordedCase:
    turns = tuple(turn.model_copy(update={"inputs": ()}) for turn in case.turns)
    return without_golden(case.model_copy(update={"turns": turns}))


FORMS: Sequence[TraceForm] = ("intermediate_data", "invocation_events")


@shapes
def test_scripts_answer_as_the_person_did(
    make: Callable[[], Any], answers: Sequence[Any], tmp_path: Path
) -> None:
    """The script of the recorded case by its moves, and the ones of the eval set's case in both forms."""
    simulation = played(make(), answers)
    recorded = recorded_case(simulation.session, [fact for _, fact in simulation.journal.path()])
    cases = [
        GoldenTraceBuilder(simulation.session, form=form, confirmations="beside").build() for form in FORMS
    ]
    scripts = [
        script_of_recorded("case", recorded, agent="moves").script,
        *(script_with_recording(case, recorded).script for case in cases),
    ]
    for script in scripts:
        again = play(make(), script)
        assert (again.waits, again.refused, again.failure, again.leftovers) == ((), None, "", ())
        assert final_text(again.session) == final_text(simulation.session)


def play(agent: Any, script: Script) -> Any:
    """Play a script, after a way through its text."""
    assert read_script(write_script(script)).script == script
    with ScriptedSession(asking.config(agent), script) as session:
        return session.play()


@pytest.mark.parametrize("interrupt_id", ["", "which"])
def test_a_question_that_holds_an_id_of_its_own_is_answered_and_said_to_vary(
    interrupt_id: str, tmp_path: Path
) -> None:
    """The node asks the same but for words with digits. With the proposed tolerance the case passes; other words are another question."""

    def make() -> Any:
        return asking.one(lambda: f"Which color for order {uuid.uuid4()}?", interrupt_id)

    eval_set = kept(played(make(), ["blue"]), tmp_path)
    run = the_run(eval_set, make(), "recorded")
    assert (run.passed, run.unrecorded, divergence_of(run).verdict) == (False, (), "varies")
    (varying,) = run.varying
    assert (varying.holds, varying.tolerance.tool, varying.tolerance.path) == (
        "an id",
        REQUEST_INPUT,
        "message",
    )
    keep_tolerances(eval_set, "case", [varying.tolerance])
    assert the_run(eval_set, make(), "recorded").passed
    other = the_run(eval_set, asking.one("Which size for order 7?", interrupt_id), "recorded")
    assert (other.passed, divergence_of(other).verdict) == (False, "agent_changed")


@pytest.mark.long
def test_each_turn_has_its_own_inputs(tmp_path: Path) -> None:
    """Two queries, each with a question of the same words."""
    eval_set = kept(played(asking.one(), ["blue", "red"], ["go", "once more"]), tmp_path)
    recorded = recorded_of(eval_set)
    typed = [[each.response["result"] for each in turn.inputs] for turn in recorded.turns]
    assert typed == [["blue"], ["red"]]
    assert the_run(eval_set, asking.one()).passed


def test_the_recording_keeps_the_question(tmp_path: Path) -> None:
    """Who asked what, and what was answered; such a file is one of version 4, which older releases name as newer than they read."""
    eval_set = kept(played(asking.with_schema(), [{"city": "Rome", "nights": 3}]), tmp_path)
    written = json.loads(sidecar_of(eval_set).read_text())
    (asked,) = recorded_of(eval_set).turns[0].inputs
    assert written["version"] == 4
    assert asked.path == "graph@1/ask@1"
    assert asked.arguments is not None
    assert set(asked.arguments) == {"message", "payload", "response_schema"}
    assert asked.response == {"city": "Rome", "nights": 3}


TRIP = {"city": "Rome", "nights": 3}


@pytest.mark.parametrize(
    ("before", "after", "what"),
    [
        ((asking.one(), "blue"), asking.one("Which color?"), "arguments"),
        ((asking.one("From where?"), "blue"), asking.several(), "call"),
        ((asking.with_schema(), TRIP), asking.with_schema(dict[str, int]), "arguments"),
    ],
    ids=["other words", "one question more", "another schema"],
)
def test_a_question_that_changed_is_named(
    before: tuple[Any, Any], after: Any, what: str, tmp_path: Path
) -> None:
    """It gets no answer that was given to another one: the divergence is the question, and the error says what was asked then."""
    eval_set = kept(played(before[0], [before[1]]), tmp_path)
    run = the_run(eval_set, after)
    found = divergence_of(run)
    assert found.what == what
    assert found.pairs[0].actual is not None
    assert found.pairs[0].actual.tool == "adk_request_input"
    assert "turn 1 has no " in run.error


def test_a_question_that_is_not_asked_any_more_is_named(tmp_path: Path) -> None:
    """The run comes to its end, and the golden's question is missing in it."""
    eval_set = kept(played(asking.one("Where to?"), ["Rome"]), tmp_path)
    run = the_run(eval_set, asking.silent())
    found = divergence_of(run)
    first = found.pairs[0]
    assert first.golden is not None
    assert (found.what, first.golden.tool) == ("call", "adk_request_input")
    assert not run.error


def test_a_tolerance_lets_the_words_differ(tmp_path: Path) -> None:
    """As of any call: a question that holds the time of day, for one."""
    eval_set = kept(played(asking.one("It is 10:00. Which one?"), ["blue"]), tmp_path)
    later = asking.one("It is 11:30. Which one?")
    assert not the_run(eval_set, later).passed
    pattern = PatternTolerance(
        tool="adk_request_input", path="message", pattern="It is [0-9:]+. Which one\\?"
    )
    keep_tolerances(eval_set, "case", [pattern])
    assert the_run(eval_set, asking.one("It is 11:30. Which one?")).passed


def run_of(agent: Any, plugin: HermeticEnvironment, query: str = "go") -> list[Any]:
    """Run a query under ADK's own runner."""

    async def run() -> list[Any]:
        async with InMemoryRunner(app=App(name="stage", root_agent=agent, plugins=[plugin])) as runner:
            session = await runner.session_service.create_session(app_name="stage", user_id="user")
            message = types.UserContent(query)
            running = runner.run_async(user_id="user", session_id=session.id, new_message=message)
            return [event async for event in running]

    return asyncio.run(run())


def test_one_run_holds_question_answer_and_all_that_follows(tmp_path: Path) -> None:
    """With the ids of the recording, so that it is the golden's trajectory; the graph's data are its final response."""
    eval_set = kept(played(asking.one(), ["blue"]), tmp_path)
    events = run_of(asking.one(), HermeticEnvironment(sidecar_of(eval_set)))
    calls = [call for event in events for call in event.get_function_calls()]
    answers = [answer for event in events for answer in event.get_function_responses()]
    golden = (read_cases(eval_set.read_text())["case"].conversation or [])[0]
    assert [(call.id, call.args) for call in calls] == [
        (call.id, call.args)
        for call in golden.intermediate_data.tool_uses  # type: ignore[union-attr] # of this form
    ]
    assert [(answer.id, answer.response) for answer in answers] == [(calls[0].id, {"result": "blue"})]
    assert len({event.invocation_id for event in events}) == 1
    assert events[-1].is_final_response()
    assert json.loads(events[-1].content.parts[0].text) == {"booked": {"place": "blue"}}


def test_a_runner_without_the_plugin_stops_at_the_question() -> None:
    """ADK is as it was: the question waits for the user."""
    HermeticEnvironment(RecordedEnvironment())

    async def run() -> list[Any]:
        async with InMemoryRunner(app=App(name="stage", root_agent=asking.one())) as runner:
            return await runner.run_debug("go", quiet=True)

    events = asyncio.run(run())
    assert events[-1].long_running_tool_ids


def test_what_was_asked_for_the_first_time_is_added(tmp_path: Path) -> None:
    """The author answers a new question while the case is played: its recording then has the answer."""
    eval_set = kept(played(asking.one(), ["blue"]), tmp_path)
    changed: Simulation = played(asking.one("Which color?"), ["red"])
    facts = [fact for _, fact in changed.journal.path()]
    now = recorded_case(changed.session, facts)
    assert len(new_answers(recorded_of(eval_set), now).inputs[0]) == 1
    add_played(sidecar_of(eval_set), "case", now)
    assert [each.response["result"] for each in recorded_of(eval_set).turns[0].inputs] == ["blue", "red"]
    assert new_answers(recorded_of(eval_set), now).total == 0


def test_an_agent_of_its_own_has_no_questions(tmp_path: Path) -> None:
    """What a model says is its final response; nothing is added to it."""
    agent = LlmAgent(name="agent", model=Scripted(turns=[[say("hello")]]))
    eval_set = kept(played(agent, []), tmp_path)
    events = run_of(agent, HermeticEnvironment(sidecar_of(eval_set)))
    assert [event.content.parts[0].text for event in events] == ["hello"]
    assert not any(turn.inputs for turn in recorded_of(eval_set).turns)
    assert RecordedTurn(query={}).inputs == ()


AGENT = """
from evalset import HermeticEnvironment
from google.adk.apps import App
from tests.evalset.replay import asking

root_agent = asking.side_by_side()
app = App(name="stage", root_agent=root_agent, plugins=[HermeticEnvironment(ENVIRONMENT)])
"""


@pytest.mark.long
@pytest.mark.process
def test_adk_eval_passes(tmp_path: Path) -> None:
    """ADK's own command sends the query alone: branches that ask at once go on with what was typed, in each of two turns."""
    answers = ["a", "b", "the last", "c"]
    eval_set = kept(played(asking.side_by_side(), answers, ["go", "again"]), tmp_path)
    folder = tmp_path / "agents" / "stage"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("from . import agent\n")
    (folder / "agent.py").write_text(AGENT.replace("ENVIRONMENT", repr(str(sidecar_of(eval_set)))))
    criteria = {"tool_trajectory_avg_score": 1.0, "response_match_score": 1.0}
    root = str(Path(__file__).parents[3])
    outcome = run_adk_eval(folder, eval_set, criteria=criteria, environment={"PYTHONPATH": root})
    assert outcome.passed == 1, outcome.output
