"""A recorded case is played up to a step: people say again what they had said, and what comes after is drafted as it was recorded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.tools.agent_tool import AgentTool

from evalset import write_golden_trace
from evalset.editing.case_edits import SetCall, SetResponse
from evalset.editing.case_parts import CaseStep, calls_of, steps_of, turns_of
from evalset.editing.case_play import script_until
from evalset.editing.set_work import SetWork
from evalset.golden_trace.builder import TraceForm
from evalset.recorded.recording import RecordedCase
from simulator import SimulatedAgentConfig
from simulator.facts import ModelAnswered
from simulator.runtime.knowledge.knowledge import agents_as_tools
from simulator.scripts import ScriptedSession, read_script, write_script
from simulator.scripts.script_lines import NextLines
from simulator.seats.answers import called, returned
from simulator.seats.requests import ToolRequest
from simulator.session.adk_event_fields import calls_in, parts_of
from tests.evalset.editing.editing_sets import work_on
from tests.evalset.recorded.test_playing import answers_of
from tests.evalset.replay.desk_agent import PATIENCE, keep, played
from tests.evalset.replay.test_hermetic import ANSWERS

TRIP = """
format: golden-trace-studio/script
version: 1
agent: person
otherwise: fail
turns:
- say: Is Lisbon fine?
  moves:
  - agent: helper
    calls: [{name: city, args: {code: LIS}}, {name: days, args: {code: LIS}}]
  - {tool: city, returns: {visa: false}}
  - {tool: days, returns: {days: 3}}
  - agent: helper
    calls: [{name: packer, args: {request: Lisbon}}]
  - {agent: packer, text: A raincoat.}
  - {agent: helper, text: Pack a raincoat.}
- say: It costs too much.
  moves:
  - {agent: helper, transfer: complaints}
  - agent: complaints
    calls: [{name: city, args: {code: OSL}}]
  - {tool: city, returns: {visa: false}}
  - {agent: complaints, text: I am sorry.}
- say: Still.
  moves:
  - {agent: complaints, text: I know.}
"""
WIPES = ["check A, wipe A; note A; wipe B, check C", "check B"]
FORMS: tuple[TraceForm, ...] = ("intermediate_data", "invocation_events")
CHECKS = {"check": [{"status": "new"}, {"status": "old"}, {"status": "gone"}]}


def scripted(desk: SimulatedAgentConfig, work: SetWork, turn: int, steps: int) -> ScriptedSession:
    """Open the session in which a case is played up to a step, after a way through the script's text."""
    held = work.held("case")
    assert held.recorded is not None
    made = script_until(held.case, turn, steps, held.recorded)
    script = read_script(write_script(made.script)).script
    assert script == made.script
    return ScriptedSession(desk, script)


def pending_at(desk: SimulatedAgentConfig, work: SetWork, turn: int, step: CaseStep) -> ToolRequest:
    """Play a case so that it stops behind a step; return the one call that then waits."""
    steps = steps_of(work.case("case"), turn).index(step) + 1
    with scripted(desk, work, turn, steps) as session:
        done = session.play()
        assert (done.refused, done.failure) == (None, "")
        (waiting,) = session.simulation.pending
    assert isinstance(waiting, ToolRequest)
    return waiting


@pytest.mark.parametrize(
    ("form", "confirmations", "allowed"),
    [
        ("intermediate_data", "beside", True),
        ("intermediate_data", "in_case", False),
        ("invocation_events", "beside", False),
        ("invocation_events", "in_case", True),
    ],
)
def test_what_a_person_had_said_is_said_again(
    desk: SimulatedAgentConfig, tmp_path: Path, form: str, confirmations: str, *, allowed: bool
) -> None:
    """Wherever the questions are kept, the whole case is played, and its tools answer the same."""
    simulation = played(desk, WIPES, {**ANSWERS, "check": {"status": "new"}, "confirmed": allowed})
    path = tmp_path / "case.evalset.json"
    keep(simulation, path, "case", form=form, confirmations=confirmations)
    work = work_on(path)
    last = len(turns_of(work.case("case"))) - 1
    with scripted(desk, work, last, len(steps_of(work.case("case"), last))) as session:
        again = session.play()
    assert (again.waits, again.refused, again.failure, again.leftovers) == ((), None, "", ())

    def told(session: Any) -> list[tuple[str, str]]:
        return sorted((name, str(answer)) for name, answer in answers_of(session))

    assert told(again.session) == told(simulation.session)


@pytest.mark.parametrize("form", ["intermediate_data", "invocation_events"])
def test_a_call_that_waits_behind_a_confirmation_is_drafted_as_recorded(
    desk: SimulatedAgentConfig, tmp_path: Path, form: str
) -> None:
    """The case shows no question, so none is asked at the step: the call itself waits, for the answer that was edited last."""
    path = tmp_path / "case.evalset.json"
    simulation = played(desk, ["check A; wipe A; note A"], {**ANSWERS, **CHECKS, "confirmed": True})
    keep(simulation, path, "case", form=form)
    work = work_on(path)
    _, wipes, _ = calls_of(work.case("case"), 0)
    work.apply(SetCall(case="case", where=wipes.call.where, name="wipe", arguments={"order": "Z"}))
    work.apply(SetResponse(case="case", where=wipes.answers[0].where, response={"wiped": 99}))
    _, wipes, _ = calls_of(work.case("case"), 0)
    waiting = pending_at(desk, work, 0, wipes.call)
    assert (waiting.tool_name, waiting.arguments, waiting.draft) == ("wipe", {"order": "Z"}, {"wiped": 99})


def test_the_call_that_waits_and_those_after_it_are_drafted_as_recorded(
    desk: SimulatedAgentConfig, tmp_path: Path
) -> None:
    """The same question asked again gets the next of its recorded answers, at the step and when a person goes on from there."""
    path = tmp_path / "case.evalset.json"
    simulation = played(desk, ["check A; check A; note A; check A"], {**ANSWERS, **CHECKS})
    keep(simulation, path, "case")
    work = work_on(path)
    calls = calls_of(work.case("case"), 0)
    told = [seen.answers[0].value["response"] for seen in calls]
    assert [pending_at(desk, work, 0, seen.call).draft for seen in calls] == told
    steps = steps_of(work.case("case"), 0).index(calls[1].call) + 1
    with scripted(desk, work, 0, steps) as session:
        session.play()
        simulation = session.simulation
        simulation.answer(simulation.pending[0], returned(told[1]), wait=PATIENCE)
        simulation.answer(simulation.pending[0], called(("check", {"order": "A"})), wait=PATIENCE)
        (waiting,) = simulation.pending
        assert isinstance(waiting, ToolRequest)
        assert waiting.draft == waiting.candidates[0].value == told[3]


def test_a_draft_as_recorded_has_the_recorded_state_changes_and_actions(
    desk: SimulatedAgentConfig, tmp_path: Path
) -> None:
    """At the step, among the candidates, and where the recording plays: the tool's code does not show them, the recording has them."""
    path = tmp_path / "case.evalset.json"
    effects: dict[str, Any] = {"state_delta": {"reserved": "T-1"}, "actions": {"skip_summarization": True}}
    simulation = played(desk, ["check A; note A"], {**ANSWERS, "note": returned({"noted": True}, **effects)})
    keep(simulation, path, "case")
    work = work_on(path)
    note = calls_of(work.case("case"), 0)[1]
    waiting = pending_at(desk, work, 0, note.call)
    assert waiting.draft_effects.written == waiting.candidates[0].effects.written == effects
    steps = steps_of(work.case("case"), 0).index(note.call) + 1
    with scripted(desk, work, 0, steps) as session:
        session.simulation.set_player("tool", "recorded", "note")
        assert session.play().session.current_state["reserved"] == "T-1"


def city(code: str) -> dict[str, Any]:
    """Look up a city."""
    return {"visa": False}


def days(code: str) -> dict[str, Any]:
    """Count the days."""
    return {"days": 3}


@pytest.fixture(scope="module")
def helper() -> SimulatedAgentConfig:
    """An agent that asks another one as a tool, and hands over to a third."""
    packer, complaints = (
        LlmAgent(name=name, tools=tools) for name, tools in (("packer", []), ("complaints", [city]))
    )
    tools: list[Any] = [city, days, AgentTool(agent=packer)]
    root = LlmAgent(name="helper", tools=tools, sub_agents=[complaints])
    return SimulatedAgentConfig(name="helper", agent=root, eval_set_path="helper.evalset.json")


def trip(helper: SimulatedAgentConfig, path: Path, form: TraceForm) -> SetWork:
    """Play the trip, and write it as a golden with its recording."""
    with ScriptedSession(helper, read_script(TRIP).script) as session:
        assert session.play().came_through
        keep(session.simulation, path, "case", form=form)
    return work_on(path)


def moves_at_once(recorded: RecordedCase | None) -> list[tuple[str, int]]:
    """Return the agents of a recording in their order, each with how many calls it made at once."""
    assert recorded is not None
    turns = (model for turn in recorded.turns for model in turn.models)
    return [(model.agent, len([*calls_in(model.responses)])) for model in turns]


@pytest.mark.parametrize("form", FORMS)
def test_what_agents_did_at_once_is_done_at_once_again(
    helper: SimulatedAgentConfig, tmp_path: Path, form: TraceForm
) -> None:
    """The recording tells who made each call and which were one turn, also where the case is cut between them."""
    path = tmp_path / "case.evalset.json"
    work = trip(helper, path, form)
    held, nested = work.held("case"), agents_as_tools(helper.root_agent)
    last = len(turns_of(held.case)) - 1
    made = script_until(held.case, last, len(steps_of(held.case, last)), held.recorded, nested)
    assert made.losses == ()
    with ScriptedSession(helper, made.script) as session:
        assert session.play().came_through
        write_golden_trace(session.simulation, path, eval_id="case", replace=True)
    assert moves_at_once(work_on(path).held("case").recorded) == moves_at_once(held.recorded)
    (first, _, _) = calls_of(held.case, 0)
    until = steps_of(held.case, 0).index(first.call) + 1
    with ScriptedSession(helper, script_until(held.case, 0, until, held.recorded, nested).script) as session:
        session.play()
        waiting = [request for request in session.simulation.pending if isinstance(request, ToolRequest)]
        assert [request.tool_name for request in waiting] == ["city", "days"]


@pytest.mark.parametrize("form", FORMS)
def test_each_agent_is_offered_its_own_steps_of_the_golden(
    helper: SimulatedAgentConfig, tmp_path: Path, form: TraceForm
) -> None:
    """The recording tells whose they are; without one nobody is offered what can be another's, and it is said what got lost."""
    work = trip(helper, tmp_path / "case.evalset.json", form)
    held, nested = work.held("case"), agents_as_tools(helper.root_agent)
    whole = script_until(held.case, 2, len(steps_of(held.case, 2)), held.recorded, nested)
    alone = script_until(held.case, 2, len(steps_of(held.case, 2)), None, nested)
    with ScriptedSession(helper, read_script(TRIP).script) as session:
        facts = session.play().facts
    seen = {"recorded": 0, "alone": 0}
    for place, fact in enumerate(facts):
        if not isinstance(fact, ModelAnswered):
            continue
        for name, script in (("recorded", whole.script), ("alone", alone.script)):
            offered = NextLines(script, facts[:place], root="helper").move(fact.agent)
            if offered is not None:
                said = parts_of(fact.responses[0]["content"])
                assert [_plain(part) for part in offered.parts] == [_plain(part) for part in said]
                assert offered.is_here
                seen[name] += 1
    assert seen == {"recorded": 8, "alone": 1 if form == "intermediate_data" else 7}
    assert bool(alone.losses) is (form == "intermediate_data")


def _plain(part: Any) -> Any:
    call = part.get("function_call")
    return (call["name"], call["args"]) if call else part["text"]
