"""What the studio has just exported has no findings, whatever the agent is made of."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.evaluation.local_eval_sets_manager import load_eval_set_from_file
from google.adk.events.event import Event
from google.adk.workflow import START, Workflow

from evalset import EvalSetWriter, GoldenTraceBuilder, export_cases
from evalset.cli.doctor_command import CLEAN, main
from evalset.doctor import Finding, examine, known_agent, mend
from evalset.golden_trace.builder import TraceForm
from evalset.golden_trace.golden_steps import without_confirmations
from evalset.recorded.known_agents import KnownAgent
from evalset.recorded.recorder import record, recorded_for
from evalset.recorded.recording_files import sidecar_of
from simulator import Seats, Simulation, demo_agent
from simulator.agent_config import SimulatedAgentConfig
from simulator.facts import Deferred, Raised, RaisedError
from simulator.seats.answers import ToolAnswer
from simulator.session import SessionState
from tests.evalset.ending import Ends
from tests.evalset.golden_trace.test_golden_replies import confirmed
from tests.evalset.replay.desk_agent import config, keep, write_desk
from tests.evalset.replay.desk_agent import played as played_desk
from tests.evalset.sessions import PATIENCE, answer, ask, opened
from tests.evalset.verify.small_agents import agent
from tests.simulator.runtime.playing import Play, played
from tests.simulator.runtime.shapes import SHAPES, Shape
from tests.simulator.runtime.traces import Traces

# ADK's older kinds of agents are shapes too.
pytestmark = pytest.mark.filterwarnings("ignore:.* is deprecated in favor of Workflow:DeprecationWarning")

UNFINISHED = {"silent", "raised_answers", "raised_in_parallel"}
"""Sessions that come to no final response, of which no case can be made."""

BASIC = {"agent_tool_with_schemas", "confirmed", "made_by_toolset", "plain", "rejected", "state_and_files"}
"""The shapes that are tried in each run; the others are breadth."""

FORMS: tuple[TraceForm, ...] = ("intermediate_data", "invocation_events")


def exported(folder: Path, shape: Shape, play: Play, form: TraceForm = "intermediate_data") -> Path:
    """Export a session with its environment, into a file of any name."""
    eval_set, session = folder / "any name.evalset.json", play.end.session
    case = GoldenTraceBuilder(session, form=form, eval_id="one", confirmations="beside").build()
    EvalSetWriter(eval_set, "stage").write_eval_case(case)
    facts = [fact for _, fact in play.journal.path()]
    record(eval_set, "one", session, facts, shape.config(Traces()).root_agent)
    return eval_set


def found(folder: Path, shape: Shape) -> list[Finding]:
    """Examine a folder against the agent of a shape."""
    agent = known_agent(shape.config(Traces()))
    return list(examine([folder], agents={agent.name: agent}).findings)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name in BASIC else pytest.mark.long)
        for name in sorted(SHAPES.keys() - UNFINISHED)
    ],
)
def test_a_fresh_export_has_no_findings(tmp_path: Path, name: str) -> None:
    """Tool sets, graphs, sub-agents, agents as tools and confirmations: not even a note, but that calls in events are parallel."""
    shape = SHAPES[name]
    play = played(shape, "held")
    assert play.end.session.state is SessionState.COMPLETED
    for form in FORMS:
        folder = tmp_path / form
        folder.mkdir()
        exported(folder, shape, play, form)
        codes = [each.code for each in found(folder, shape)]
        assert set(codes) <= ({"parallel-calls"} if form == "invocation_events" else set()), codes


def test_a_workflow_may_end_with_a_message_of_the_users_role(tmp_path: Path) -> None:
    """ADK gives a node's message the role of the user; no evaluation reads it, so nothing is wrong."""

    def hello() -> Event:
        return Event(message="hello")

    def graph(_: Traces) -> Any:
        return Workflow(name="graph", edges=[(START, hello)])

    shape = Shape(graph)
    play = played(shape, "held")
    exported(tmp_path, shape, play)
    assert '"role": "user"' in (tmp_path / "any name.evalset.json").read_text().split("final_response")[1]
    assert found(tmp_path, shape) == []


def test_a_download_is_named_as_its_set(tmp_path: Path) -> None:
    """The files of an export, under the name that a person gave them, have no findings either."""
    shape = SHAPES["confirmed"]
    play = played(shape, "held")
    session = play.end.session
    case = GoldenTraceBuilder(session, eval_id="one", confirmations="beside").build()
    facts = [fact for _, fact in play.journal.path()]
    recorded = {"one": recorded_for(session, facts, shape.config(Traces()).root_agent)}
    for file in export_cases([case], "evalset", environments=recorded, name="My Refund").files:
        (tmp_path / file.path).write_text(file.text)
    assert found(tmp_path, shape) == []


def test_what_a_tool_set_may_bring_is_a_note_where_nothing_is_recorded(tmp_path: Path) -> None:
    """Without a recording nobody knows whether the call is right: that is no error and no warning."""
    for name in ("made_by_toolset", "made_at_run_time", "tool_run_by_node"):
        folder = tmp_path / name
        folder.mkdir()
        exported(folder, SHAPES[name], played(SHAPES[name], "held"))
        (folder / "any name.environment.json").unlink()
        codes = {(each.severity, each.code) for each in found(folder, SHAPES[name])}
        assert codes <= {("note", "unknown-tool")} | {("warning", "unknown-agent")}, codes


def test_the_command_checks_files_of_no_app_against_the_agent_that_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], ends: Ends
) -> None:
    """`--agent` decides where several agents are given; a demo agent needs no folder."""
    path = tmp_path / "old.test.json"
    path.write_text(
        '[{"name": "a", "data": [{"query": "x", "expected_tool_use": [{"tool_name": "nobody", "tool_input": {}}], "reference": "y"}]}]'
    )
    for name in ("one", "two"):
        agent(tmp_path / "agents", f"root_agent = LlmAgent(name={name!r}, model='none')\n", name)
    agents = ["--agents-dir", str(tmp_path / "agents")]
    assert "--agent." in ends(CLEAN, path, *agents, program=main).out
    assert main([str(path), *agents, "--agent", "two"]) != CLEAN
    told = capsys.readouterr().out
    assert all(each in told for each in ("error unknown-tool: ", "'two'", "'nobody'"))
    assert main([str(path), "--agent", "order_desk"]) != CLEAN
    told = capsys.readouterr().out
    assert all(each in told for each in ("error unknown-tool: ", "'order_desk'", "'nobody'"))
    told = ends(2, path, *agents, "--agent", "three", program=main).err
    assert "'three'" in told
    assert "one, two" in told


NAME = "order_desk"


def exported_demo(folder: Path) -> SimulatedAgentConfig:
    """Play a session with a demo agent, and export it with its environment."""
    config = demo_agent(NAME)
    with Simulation.open(config, seats=Seats(tools={"*": "offline"}), seed="seed") as simulation:
        assert simulation.query("Please cancel order A-1001 and refund me.", wait=PATIENCE)
        session = simulation.session
        facts = [fact for _, fact in simulation.journal.path()]
    eval_set = folder / f"{NAME}_evals.evalset.json"
    case = GoldenTraceBuilder(session, eval_id="one").build()
    EvalSetWriter(eval_set, NAME).write_eval_case(case)
    record(eval_set, "one", session, facts, config.root_agent)
    return config


def apart(folder: Path) -> list[str]:
    """Return the codes of what speaks against a set and its recorded environment belonging together, notes too."""
    return [each.code for each in examine([folder]).findings if each.code.startswith("environment-")]


def found_beside(folder: Path, agent: KnownAgent) -> list[Finding]:
    """Return what is found, save what is a mere note."""
    examination = examine([folder], agents={agent.name: agent})
    assert examination.skipped == ()
    assert examination.unreadable == ()
    return [each for each in examination.findings if each.severity != "note"]


def test_no_answer_of_an_export_contradicts_what_was_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Like calls, agents as tools, late answers, confirmations given and refused, exceptions: set and environment agree."""
    monkeypatch.setenv("MAY_SHIP", "1")
    write_desk(tmp_path / "agents")
    desk = config(tmp_path / "agents")
    checks = [{"status": "shipped"}, {"status": "lost"}]
    late = {"takes_long": {"status": "begun"}, "later": True, "check": {"status": "shipped"}}
    never = {"takes_long": ToolAnswer(outcome=Deferred()), "check": {"status": "shipped"}}
    raised = ToolAnswer(outcome=Raised(error=RaisedError(type="ValueError", message="it broke")))
    sessions: dict[str, tuple[str, dict[str, Any]]] = {
        "like": ("check A, check A; advisor visas", {"check": checks, "look_up": {"rule": "none"}}),
        "late": ("wait; check A, check A", late),
        "awaited": ("wait; check A", never),
        "given": ("wipe A", {"wipe": {"wiped": 3}}),
        "refused": ("wipe A", {"confirmed": False}),
        "broken": ("break", {"breaks": raised}),
        "asks itself": ("ship A", {}),
    }
    folders = [
        tmp_path / form / confirmations
        for form in ("intermediate_data", "invocation_events")
        for confirmations in ("in_case", "beside")
    ]
    for eval_id, (query, answers) in sessions.items():
        real = "ship" if eval_id == "asks itself" else "*none*"
        with played_desk(desk, [query], answers, real=real) as simulation:
            for folder in folders:
                form, beside = folder.parts[-2:]
                keep(simulation, folder / "desk.evalset.json", eval_id, form=form, confirmations=beside)
    for folder in folders:
        assert apart(folder) == []
        eval_set = folder / "desk.evalset.json"
        text = eval_set.read_text().replace('"lost"', '"gone"').replace('"finished"', '"gone"')
        eval_set.write_text(text.replace('"wiped": 3', '"wiped": 4'))
        assert set(apart(folder)) == {"environment-answers-differ"}
        guilty = [each.eval_id for each in examine([folder]).findings if each.code in apart(folder)]
        assert sorted(guilty) == ["awaited", "given", "late", "like"]


def test_an_agent_whose_callbacks_change_answers_hears_others_than_were_recorded(tmp_path: Path) -> None:
    """Nothing is found where the agent is known to do so."""
    agent = known_agent(exported_demo(tmp_path))
    path = tmp_path / f"{NAME}_evals.evalset.json"
    path.write_text(path.read_text().replace('"status": "sent"', '"status": "on its way"'))
    (finding,) = found_beside(tmp_path, agent)
    assert finding.code == "environment-answers-differ"
    assert 'refund_order responded "sent" at status' in finding.meaning
    told = agent_with_callback()
    assert told.rewrites
    assert not agent.rewrites
    assert found_beside(tmp_path, agent._replace(rewrites=True)) == []


def agent_with_callback() -> KnownAgent:
    """Return an agent that has its say on what its tools answer."""
    agent = LlmAgent(name="desk", model="none", after_tool_callback=lambda **_: {"status": "on its way"})
    return known_agent(SimulatedAgentConfig("desk", agent, "x.evalset.json"))


@pytest.mark.parametrize("form", ["intermediate_data", "invocation_events"])
@pytest.mark.parametrize("approved", [True, False])
def test_what_is_recorded_beside_a_case_need_not_stand_in_it(
    tmp_path: Path, form: TraceForm, *, approved: bool
) -> None:
    """Mended, the case is what `without_confirmations` makes of it; alone, without its environment, it stays as it is."""
    path = tmp_path / "one.evalset.json"
    with opened(confirmed()) as sim:
        ask(sim, "Refund A-1.")
        assert sim.confirm(sim.session.open_calls[0].call_id, confirmed=approved, wait=PATIENCE)
        answer(sim, *[{"paid": 3}] * approved)
        case = GoldenTraceBuilder(sim.session, form=form, eval_id="case").build()
        EvalSetWriter(path, "one").write_eval_case(case)
        assert mend([path]).files == ()
        assert "confirmation-round" in {each.code for each in examine([path]).findings}
        facts = [fact for _, fact in sim.journal.path()]
        record(path, "case", sim.session, facts, confirmed())
    done = mend([path])
    assert {each.code for change in done.files for each in change.mended} == {"confirmation-round"}
    (mended,) = load_eval_set_from_file(str(path), "one").eval_cases
    assert mended == without_confirmations(case)
    assert "confirmation-round" not in {each.code for each in examine([path]).findings}
    assert sidecar_of(path).is_file()
