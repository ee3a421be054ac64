"""Replays recorded sessions under ADK's own runner and under `adk eval`: no real tool runs, and each case gets its own answers."""

from __future__ import annotations

import asyncio
import importlib.util
from pathlib import Path
from typing import Any

import pytest
from google.adk.apps import App
from google.adk.runners import InMemoryRunner

from evalset import HermeticEnvironment, UnrecordedCallError
from evalset.recorded.recording import Author, RecordedCall
from evalset.recorded.recording_files import put_cases, read_environment
from evalset.replay.model_choice import Policy
from simulator import SimulatedAgentConfig, Simulation
from simulator.facts import Deferred, Returned
from simulator.seats.answers import ToolAnswer, failed, raised, returned
from simulator.session.history import FinalResponse
from tests.evalset.replay.desk_agent import keep, played, write_desk
from tests.harness.adk_process import adk_web, run_adk_eval

EVERYTHING = "check A, check B; note A; advisor visas; break; wipe A; check A; transfer refunds"
ANSWERS: dict[str, Any] = {
    "check": [{"status": "shipped"}, {"status": "lost"}, {"status": "found again"}],
    "note": returned({"noted": True}, state_delta={"noted": "A"}),
    "look_up": {"rule": "none needed"},
    "breaks": raised("ValueError", "it broke"),
    "wipe": {"wiped": 3},
    "pay": failed(402, "no money"),
}


def loaded(folder: Path) -> Any:
    """Load the agent's module anew, as a process of its own would."""
    spec = importlib.util.spec_from_file_location("desk_replayed", folder / "agent.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


Heard = tuple[list[str], list[tuple[str, Any]], dict[str, Any]]
"""The texts of a run, what its tools answered, and the session's state after it."""


def replayed(
    module: Any, plugin: HermeticEnvironment, *queries: str, state: dict[str, Any] | None = None
) -> Heard:
    """Run queries under ADK's runner."""

    async def run() -> Heard:
        app = App(name="desk", root_agent=module.root_agent, plugins=[plugin])
        async with InMemoryRunner(app=app) as runner:
            made = await runner.session_service.create_session(app_name="desk", user_id="user", state=state)
            texts, answers = list[str](), list[tuple[str, Any]]()
            for query in queries:
                for event in await runner.run_debug(query, session_id=made.id, user_id="user", quiet=True):
                    texts += [
                        part.text for part in (event.content and event.content.parts) or [] if part.text
                    ]
                    answers += [(said.name or "", said.response) for said in event.get_function_responses()]
            kept = await runner.session_service.get_session(
                app_name="desk", user_id="user", session_id=made.id
            )
            return texts, answers, dict(kept.state) if kept else {}

    return asyncio.run(run())


def final_text(simulation: Simulation) -> str:
    """Return what the agent said last in a session that was played."""
    last = simulation.session.history[-1]
    assert isinstance(last, FinalResponse)
    return last.content


@pytest.mark.long
@pytest.mark.parametrize("models", ["real", "recorded"])
def test_everything_is_answered_as_recorded(
    desk: SimulatedAgentConfig, tmp_path: Path, real: Any, monkeypatch: pytest.MonkeyPatch, models: Any
) -> None:
    """Parallel calls, state, an agent as a tool, an exception, a confirmation, a repeated call, a sub-agent, an error.

    With the recorded models no model is asked, and so no key is needed.
    """
    simulation = played(desk, [EVERYTHING], ANSWERS)
    sidecar = keep(simulation, tmp_path / "desk.evalset.json", "all")
    monkeypatch.setenv("NO_MODEL", "1" if models == "recorded" else "")
    plugin = HermeticEnvironment(sidecar, models=models)
    texts, answers, state = replayed(real, plugin, EVERYTHING)
    assert answers == [
        ("check", {"status": "shipped"}),
        ("check", {"status": "lost"}),
        ("note", {"noted": True}),
        ("advisor", {"result": "look_up says {'rule': 'none needed'}"}),
        ("breaks", {"broke": "it broke"}),
        ("wipe", {"wiped": 3}),
        ("check", {"status": "found again"}),
        ("transfer_to_agent", {"result": None}),
        ("pay", {"error_code": 402, "error_message": "no money"}),
    ]
    assert texts[-1] == final_text(simulation)
    assert state == {"noted": "A"}
    assert plugin.missed == []


def test_a_rejected_call_is_rejected_again(desk: SimulatedAgentConfig, tmp_path: Path, real: Any) -> None:
    """What a person did not allow does not run, and the agent is told so."""
    simulation = played(desk, ["wipe A"], {"confirmed": False})
    sidecar = keep(simulation, tmp_path / "desk.evalset.json", "no")
    texts, answers, _ = replayed(real, HermeticEnvironment(sidecar), "wipe A")
    ((tool, answer),) = answers
    assert (tool, list(answer)) == ("wipe", ["error"])
    assert texts[-1] == final_text(simulation)


@pytest.mark.long
@pytest.mark.parametrize("at_first", [ToolAnswer(outcome=Deferred()), {"status": "begun"}])
def test_what_came_later_is_there_at_once(
    desk: SimulatedAgentConfig, tmp_path: Path, real: Any, monkeypatch: pytest.MonkeyPatch, at_first: Any
) -> None:
    """A long-running tool was answered in a later message, or got a first answer and then another one.

    Nobody sends that in a replay, and the agent goes on with the late answer at once, with either model.
    """
    simulation = played(desk, ["wait; check A"], {**ANSWERS, "takes_long": at_first, "later": True})
    sidecar = keep(simulation, tmp_path / "desk.evalset.json", "late")
    expected = [("takes_long", {"status": "finished"}), ("check", {"status": "shipped"})]
    assert replayed(real, HermeticEnvironment(sidecar), "wait; check A")[1] == expected
    monkeypatch.setenv("NO_MODEL", "1")
    plugin = HermeticEnvironment(sidecar, models="recorded")
    texts, answers, _ = replayed(real, plugin, "wait; check A")
    assert (answers[0], texts[-1]) == (expected[0], final_text(simulation))


@pytest.mark.parametrize("approved", [True, False])
def test_a_tool_that_asks_for_itself_is_confirmed_again(
    desk: SimulatedAgentConfig, tmp_path: Path, real: Any, monkeypatch: pytest.MonkeyPatch, *, approved: bool
) -> None:
    """It ran twice, before and after the yes or no; a replay gives the second answer, and nobody is asked."""
    monkeypatch.setenv("MAY_SHIP", "1")
    simulation = played(desk, ["ship A"], {"confirmed": approved}, real="ship")
    sidecar = keep(simulation, tmp_path / "desk.evalset.json", "ship")
    monkeypatch.delenv("MAY_SHIP")
    plugin = HermeticEnvironment(sidecar)
    texts, answers, _ = replayed(real, plugin, "ship A")
    assert answers == [("ship", {"shipped": approved})]
    assert (texts[-1], plugin.missed) == (final_text(simulation), [])


def test_an_agent_tool_of_which_only_the_answer_is_known_does_not_run(
    desk: SimulatedAgentConfig, tmp_path: Path, real: Any
) -> None:
    """As in what was imported; beside it a case of which all that happened inside is recorded is replayed inside."""
    whole = keep(played(desk, ["advisor visas"], ANSWERS), tmp_path / "desk.evalset.json", "whole")
    case = read_environment(whole).cases["whole"]
    (turn,) = case.turns
    told = RecordedCall(
        tool="advisor",
        arguments={"request": "visas"},
        outcome=Returned(value={"result": "none needed"}),
        author=Author(source="recorded"),
    )
    models = tuple(model for model in turn.models if not model.within)
    alone = turn.model_copy(update={"calls": (told,), "models": models})
    put_cases(whole, {"alone": case.model_copy(update={"turns": (alone,)})})
    for name, answer in (("whole", "look_up says {'rule': 'none needed'}"), ("alone", "none needed")):
        plugin = HermeticEnvironment(whole, case=name)
        assert replayed(real, plugin, "advisor visas")[1] == [("advisor", {"result": answer})]


def test_what_was_not_recorded_is_named_with_what_is_nearest(
    desk: SimulatedAgentConfig, tmp_path: Path, module: Any
) -> None:
    """The case, the turn, the call, and what differs from the nearest one."""
    simulation = played(desk, ["check A"], {"check": returned({"status": "shipped"})})
    sidecar = keep(simulation, tmp_path / "desk.evalset.json", "one")
    sidecar.write_text(sidecar.read_text().replace('"text": "check A"', '"text": "check B"'))
    nearest = r"^case 'one', turn 1 .*closest .* check\(order=\"A\"\); args\.order was 'A' .*'B'"
    plugin = HermeticEnvironment(sidecar)
    with pytest.raises(UnrecordedCallError, match=nearest):
        replayed(module, plugin, "check B")
    assert len(plugin.missed) == 1


def test_two_cases_that_begin_alike_are_told_apart(
    desk: SimulatedAgentConfig, tmp_path: Path, module: Any
) -> None:
    """By the session's first state, by what the user says later, by the calls that only one holds; else a name is asked for."""
    eval_set = tmp_path / "desk.evalset.json"
    keep(played(desk, ["check A", "check B"], {"check": returned({"status": "one"})}), eval_set, "one")
    sidecar = keep(
        played(desk, ["check A", "check C"], {"check": returned({"status": "two"})}), eval_set, "two"
    )
    policies: tuple[Policy, ...] = ("fail", "generate")  # a draft would hide which case is meant
    for unrecorded in policies:
        with pytest.raises(UnrecordedCallError, match=r"'one' and 'two' .*responses .* check"):
            replayed(module, HermeticEnvironment(sidecar, unrecorded=unrecorded), "check A")
    for case in ("one", "two"):
        _, answers, _ = replayed(module, HermeticEnvironment(sidecar, case=case), "check A")
        assert answers == [("check", {"status": case})]
    with pytest.raises(UnrecordedCallError, match=r"'check Z' .*turn 1"):
        replayed(module, HermeticEnvironment(sidecar), "check Z")
    with pytest.raises(UnrecordedCallError, match=r"'three'; .*'one', 'two'"):
        HermeticEnvironment(sidecar, case="three")


def write_app(tmp_path: Path, sidecar: Path, more: str = "") -> Path:
    """Write the agent with the plugin, as a person adds it."""
    return write_desk(tmp_path / "evaluated", f"{str(sidecar)!r}{more}")


@pytest.mark.long
@pytest.mark.process
def test_adk_eval_gives_each_of_its_parallel_cases_its_own_answers(
    desk: SimulatedAgentConfig, tmp_path: Path
) -> None:
    """Cases with the same first message and different answers pass together; a changed answer makes its case fail."""
    eval_set = tmp_path / "desk.evalset.json"
    for number in range(6):
        answers = {"check": [{"status": "no"}] * number + [{"status": "done"}], "note": {"noted": number}}
        sidecar = keep(played(desk, ["until A; note A"], answers), eval_set, f"case-{number}")
    criteria = {"tool_trajectory_avg_score": 1.0, "response_match_score": 1.0}
    outcome = run_adk_eval(write_app(tmp_path, sidecar), eval_set, criteria=criteria)
    assert (outcome.passed, outcome.failed) == (6, 0), outcome.output
    sidecar.write_text(sidecar.read_text().replace('"noted": 3', '"noted": 33'))
    changed = run_adk_eval(write_app(tmp_path, sidecar), eval_set, criteria=criteria)
    assert [case.eval_id for case in changed.cases if not case.passed] == ["case-3"], changed.output


@pytest.mark.long
@pytest.mark.process
def test_everything_passes_adk_eval_with_recorded_models(
    desk: SimulatedAgentConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither a tool nor a model runs, nobody is asked, and the comparison is exact: confirmations and late answers, too.

    Of a trace that holds the question, as all did once, only the comparison fails.
    """
    eval_set = tmp_path / "desk.evalset.json"
    keep(played(desk, [EVERYTHING], ANSWERS), eval_set, "all")
    keep(played(desk, [EVERYTHING], ANSWERS), eval_set, "events", form="invocation_events")
    for name, approved in (("yes", True), ("no", False)):
        session = played(desk, ["check A, wipe A; note A", "check B"], {**ANSWERS, "confirmed": approved})
        keep(session, eval_set, name)
    late = {**ANSWERS, "takes_long": ToolAnswer(outcome=Deferred())}
    keep(played(desk, ["wait; check A", "check B"], late), eval_set, "late")
    later = {**ANSWERS, "takes_long": {"status": "begun"}, "later": True}
    keep(played(desk, ["wait; check A", "check B"], later), eval_set, "later")
    monkeypatch.setenv("MAY_SHIP", "1")
    keep(played(desk, ["ship A; check A"], ANSWERS, real="ship"), eval_set, "asks itself")
    sidecar = keep(played(desk, ["wipe A"], ANSWERS), eval_set, "old", confirmations="in_case")
    folder = write_app(tmp_path, sidecar, ', models="recorded"')
    criteria = {"tool_trajectory_avg_score": 1.0, "response_match_score": 1.0}
    outcome = run_adk_eval(folder, eval_set, criteria=criteria, environment={"NO_MODEL": "1", "MAY_SHIP": ""})
    assert [case.eval_id for case in outcome.cases if not case.passed] == ["old"], outcome.output
    assert outcome.scores["old"]["response_match_score"] == 1.0
    assert outcome.passed == 7


@pytest.mark.long
@pytest.mark.process
def test_adk_web_replays_a_chat_and_evaluates_its_cases(desk: SimulatedAgentConfig, tmp_path: Path) -> None:
    """A chat gets the answers of the case that begins like it; its page's evaluation gives each case its own."""
    agents_dir = tmp_path / "evaluated"
    eval_set = agents_dir / "desk" / "desk_evals.evalset.json"
    write_desk(agents_dir, "'desk_evals.environment.json'")
    keep(played(desk, ["check A", "note A"], ANSWERS), eval_set, "one")
    keep(played(desk, ["check A", "note A"], {**ANSWERS, "check": {"status": "late"}}), eval_set, "two")
    keep(played(desk, ["check B"], ANSWERS), eval_set, "three")
    with adk_web(agents_dir) as web:
        events = web.chat("desk", "check B")
        answers = [
            part["functionResponse"]["response"]
            for event in events
            for part in event.get("content", {}).get("parts", [])
            if "functionResponse" in part
        ]
        assert answers == [{"status": "shipped"}]
        outcomes = web.run("desk", "desk_evals", ["one", "two", "three"])
    assert {each.eval_id: each.passed for each in outcomes} == {"one": True, "two": True, "three": True}
