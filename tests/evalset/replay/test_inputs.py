"""What a person typed when a graph or an agent asked for input replays as confirmations do: in verify, under `adk eval`, in scripts."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents import LlmAgent, ParallelAgent
from google.adk.agents.invocation_context import InvocationContext
from google.adk.apps import App
from google.adk.code_executors import BaseCodeExecutor
from google.adk.code_executors.code_execution_utils import CodeExecutionInput, CodeExecutionResult
from google.adk.evaluation.eval_case import Invocation
from google.adk.runners import InMemoryRunner
from google.adk.workflow import START, Workflow, node

from evalset import GoldenTraceBuilder, HermeticEnvironment, UnrecordedCallError, read_cases
from evalset.editing.case_play import script_with_recording
from evalset.golden_trace.builder import TraceForm
from evalset.golden_trace.golden_steps import spoken
from evalset.recorded.recorded_script import add_played, new_answers, script_of_recorded
from evalset.recorded.recorder import recorded_case
from evalset.recorded.recording import RecordedCase, RecordedEnvironment, RecordedTurn, without_golden
from evalset.recorded.recording_files import change_environment, put_cases, read_environment, sidecar_of
from evalset.verify import RunResult, verify
from simulator import Seats, Simulation
from simulator.scripts import Script, ScriptedSession, read_script, write_script
from simulator.seats.answers import CodeAnswer
from simulator.session.history import FinalResponse
from tests.evalset.replay import asking
from tests.evalset.replay.asking import book, kept, played
from tests.evalset.verify.desks import divergence_of
from tests.evalset.verify.small_agents import agent as written_agent
from tests.evalset.verify.small_agents import played as by_script
from tests.evalset.verify.small_agents import verified
from tests.harness.adk_process import run_adk_eval
from tests.simulator.runtime.stage import PATIENCE, Scripted, agent_of, call, opened, say

TRIP = {"city": "Rome", "nights": 3}
SHAPES: dict[str, tuple[Callable[[], Any], Sequence[Any]]] = {
    "one": (asking.one, ["blue"]),
    "of a fixed id": (lambda: asking.one(interrupt_id="which"), ["blue"]),
    "several": (asking.several, ["Oslo", "Rome"]),
    "side by side": (asking.side_by_side, ["a", "b"]),
    "side by side, the second first": (asking.side_by_side, ["the last", "b"]),
    "with a schema": (asking.with_schema, [TRIP]),
    "into an agent": (asking.into_agent, ["blue"]),
    "run again": (asking.resumed, ["blue"]),
    "by the tool": (asking.by_tool, ["blue"]),
}
shapes = pytest.mark.parametrize(("make", "answers"), SHAPES.values(), ids=SHAPES)


def the_run(eval_set: Path, agent: Any, models: Any = "auto", **more: Any) -> RunResult:
    """Verify the only case of a set once."""
    (case,) = verify(eval_set, agent=asking.config(agent), models=models, **more).cases
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
        assert (run.passed, run.error, run.unrecorded) == (True, "", ()), run.model_dump_json(indent=1)
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


@pytest.mark.long
@pytest.mark.parametrize("answers", [["a", "b"], ["the last", "b"]], ids=["in order", "the second first"])
def test_which_of_two_branches_asks_first_is_chance(answers: Sequence[Any], tmp_path: Path) -> None:
    """A replay in which the other one comes to it first passes, and shows the questions in their recorded order."""
    for late, other in (("left", "right"), ("right", "left")):
        folder = tmp_path / late
        folder.mkdir()
        eval_set = kept(played(asking.side_by_side(late=late), answers), folder)
        asked = [each.asked for each in recorded_of(eval_set).turns[0].inputs]
        assert sorted(asked) == [1, 2]
        for models in ("real", "recorded"):
            run = the_run(eval_set, asking.side_by_side(late=other), models)
            assert run.passed, run.divergence


def test_the_recording_keeps_the_question(tmp_path: Path) -> None:
    """Who asked what, and what was answered; such a file is one of version 10, which older releases name as newer than they read."""
    eval_set = kept(played(asking.with_schema(), [TRIP]), tmp_path)
    (asked,) = recorded_of(eval_set).turns[0].inputs
    assert json.loads(sidecar_of(eval_set).read_text())["version"] == 10
    assert (asked.path, asked.response) == ("graph@1/ask@1", TRIP)
    assert set(asked.arguments or {}) == {"message", "payload", "response_schema"}


@pytest.mark.parametrize(
    ("before", "answer", "after", "what"),
    [
        (asking.one(), "blue", asking.one("Which color?"), "arguments"),
        (asking.one("From where?"), "blue", asking.several(), "call"),
        (asking.with_schema(), TRIP, asking.with_schema(dict[str, int]), "arguments"),
        (asking.one("Where to?"), "Rome", asking.silent(), "call"),
    ],
    ids=["other words", "one question more", "another schema", "not asked any more"],
)
def test_a_question_that_changed_is_named(
    before: Any, answer: Any, after: Any, what: str, tmp_path: Path
) -> None:
    """It gets no answer that was given to another one: the divergence is the question, and the error says what was asked then."""
    run = the_run(kept(played(before, [answer]), tmp_path), after)
    found = divergence_of(run)
    is_asked = after.name != "silent"
    step = found.pairs[0].actual if is_asked else found.pairs[0].golden
    assert step is not None
    assert (found.what, step.tool) == (what, "adk_request_input")
    assert "turn 1 has no " in run.error if is_asked else not run.error


def run_of(agent: Any, *plugins: HermeticEnvironment) -> list[Any]:
    """Run a query under ADK's own runner."""

    async def run() -> list[Any]:
        async with InMemoryRunner(app=App(name="stage", root_agent=agent, plugins=[*plugins])) as runner:
            return await runner.run_debug("go", quiet=True)

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
    assert {event.invocation_id for event in events if event.author != "user"} == {events[-1].invocation_id}
    assert events[-1].is_final_response()
    assert json.loads(events[-1].content.parts[0].text) == {"booked": {"place": "blue"}}


def test_a_runner_without_the_plugin_stops_at_the_question() -> None:
    """ADK is as it was: the question waits for the user."""
    HermeticEnvironment(RecordedEnvironment())
    assert run_of(asking.one())[-1].long_running_tool_ids


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


AN_HOUR = 3_600.0


def agent() -> Any:
    """Make an agent that calls one tool."""
    return agent_of([call("book", place="Rome")], [say("booked")], tools=[book], name="agent")


def slow(eval_set: Path, source: str = "real") -> Path:
    """Record that the call took an hour, and was answered by this source."""

    def change(before: RecordedEnvironment) -> RecordedEnvironment:
        case = before.cases["case"]
        (turn,) = case.turns
        (recorded,) = turn.calls
        author = recorded.author.model_copy(update={"source": source})
        calls = (recorded.model_copy(update={"latency_ms": AN_HOUR * 1000, "author": author}),)
        turns = (turn.model_copy(update={"calls": calls}),)
        return before.model_copy(update={"cases": {"case": case.model_copy(update={"turns": turns})}})

    change_environment(sidecar_of(eval_set), change)
    return eval_set


@pytest.mark.parametrize(
    ("source", "latencies", "waits"),
    [
        ("real", True, True),
        ("real", False, False),
        *((who, True, False) for who in ("written", "edited", "generated")),
    ],
)
def test_a_tool_takes_its_time_where_that_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, source: str, latencies: bool, waits: bool
) -> None:
    """By default nothing is waited for; nor for an answer that somebody wrote, or took as a draft: the latency is theirs."""
    eval_set = slow(kept(played(agent(), []), tmp_path), source)
    waited, sleep = list[float](), asyncio.sleep

    async def at_once(seconds: float, *_: Any) -> None:
        waited.append(seconds)
        await sleep(0)

    monkeypatch.setattr(asyncio, "sleep", at_once)
    events = run_of(agent(), HermeticEnvironment(sidecar_of(eval_set), latencies=latencies))
    assert events[-1].content.parts[0].text == "booked"
    assert (AN_HOUR in waited) is waits


def test_a_run_is_cancelled_in_the_middle_of_a_latency(tmp_path: Path) -> None:
    """`verify` ends it at its timeout, and says so; without the latency it passes."""
    eval_set = slow(kept(played(agent(), []), tmp_path))
    late = verify(eval_set, agent=asking.config(agent()), latencies=True, timeout=0.5)
    assert "0.5 s" in late.cases[0].runs[0].error
    assert verify(eval_set, agent=asking.config(agent())).status == "passed"


# ADK warns of agents that are still everywhere.


def look(mark: str) -> dict[str, str]:
    """Look at something."""
    raise SystemExit("a real tool ran")


def _said_last(request: Any) -> str:
    texts = [part.text for content in request.contents for part in content.parts or () if part.text]
    return str(texts[-1])


def same_agent() -> Workflow:
    """Let one agent work on two items at once."""

    def items() -> list[str]:
        return ["a", "b"]

    turns = [
        lambda request: [call("look", mark=_said_last(request))],
        lambda request: [say(f"seen {_said_last(request)}")],
    ]
    worker = LlmAgent(name="worker", model=Scripted(turns=turns), tools=[look], mode="single_turn")
    return Workflow(name="graph", edges=[(START, items, node(worker, parallel_worker=True))])


def two_agents() -> ParallelAgent:
    """Let two agents work at once."""
    both = [
        LlmAgent(
            name=f"agent_{mark}",
            model=Scripted(turns=[[call("look", mark=mark)], [say(f"seen {mark}")]]),
            tools=[look],
        )
        for mark in ("a", "b")
    ]
    return ParallelAgent(name="both", sub_agents=both)


@pytest.mark.filterwarnings("ignore:ParallelAgent is deprecated:DeprecationWarning")
@pytest.mark.parametrize("make", [same_agent, two_agents])
@pytest.mark.parametrize("last", ["a", "b"])
def test_branches_speak_in_the_recorded_order(make: Callable[[], Any], last: str, tmp_path: Path) -> None:
    """Whichever was answered last spoke last, and that is the final response; in a replay all answers are there at once."""
    with Simulation.open(asking.config(make()), seats=Seats(tools={"*": "person"})) as simulation:
        simulation.query("go", wait=PATIENCE)
        for request in sorted(simulation.pending, key=lambda one: one.arguments["mark"] == last):  # type: ignore[union-attr] # calls of tools
            simulation.answer(request, {"saw": "it"}, wait=PATIENCE)
        eval_set = asking.kept(simulation, tmp_path)
    (case,) = verify(eval_set, agent=asking.config(make()), models="recorded").cases
    (run,) = case.runs
    assert (run.passed, run.error) == (True, "")
    said = [spoken(Invocation.model_validate(turn.invocation).final_response) for turn in run.turns]
    assert said == [f"seen {last}"]


CODE = "print(6 * 7)"


class Trap(BaseCodeExecutor):
    """Must not run in a replay."""

    def execute_code(
        self, invocation_context: InvocationContext, code_execution_input: CodeExecutionInput
    ) -> CodeExecutionResult:
        """Fail the test."""
        raise SystemExit("the code ran")


def coder(code: str = CODE) -> LlmAgent:
    """Make an agent that writes code, and then says something."""
    return agent_of([say(f"```python\n{code}\n```")], [say("So it is.")], name="coder", code_executor=Trap())


@pytest.fixture
def recorded() -> RecordedEnvironment:
    """A session in which a person said what the code prints."""
    simulation = opened(coder())
    simulation.query("go", wait=PATIENCE)
    simulation.answer(simulation.pending[0], CodeAnswer(stdout="42"), wait=PATIENCE)
    facts = [fact for _, fact in simulation.journal.path()]
    return RecordedEnvironment(cases={"one": recorded_case(simulation.session, facts)})


def said_by(agent: LlmAgent, plugin: HermeticEnvironment) -> str:
    """Ask the agent under ADK's own runner; return all that was said and printed."""
    return "\n".join(str(event.content) for event in run_of(agent, plugin))


@pytest.mark.long
def test_code_that_a_script_answers_replays_as_it_was_written(tmp_path: Path) -> None:
    """Also where the agent's folder has another name: the event of the code has no text of the model's answer."""
    source = """
from google.adk.code_executors import UnsafeLocalCodeExecutor

root_agent = LlmAgent(
    name="coder", model="gemini-2.5-flash", instruction="Count.", code_executor=UnsafeLocalCodeExecutor()
)
"""
    moves = [
        {"text": "```python\nprint(6 * 7)\n```"},
        {"agent": "coder", "prints": "42\n"},
        {"text": "So it is."},
    ]
    small = written_agent(tmp_path / "agents", source)
    assert verified(by_script(small, {"say": "Go.", "moves": moves}), small.parent) == 0


def test_code_prints_what_was_recorded(recorded: RecordedEnvironment) -> None:
    """And does not run."""
    heard = said_by(coder(), HermeticEnvironment(recorded))
    assert "42" in heard
    assert "So it is." in heard


def test_other_code_was_not_recorded(recorded: RecordedEnvironment) -> None:
    """It does not run either; the plugin says what is missing."""
    plugin = HermeticEnvironment(recorded)
    with pytest.raises(UnrecordedCallError, match=r"turn 1 .* coder: print\(1\)"):
        said_by(coder("print(1)"), plugin)
    assert len(plugin.missed) == 1
