"""What the studio has just exported has no findings, whatever the agent is made of."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from google.adk.events.event import Event
from google.adk.workflow import START, Workflow

from evalset import EvalSetWriter, GoldenTraceBuilder, export_cases
from evalset.cli.doctor_command import CLEAN, main
from evalset.doctor import Finding, examine, known_agent
from evalset.golden_trace.builder import TraceForm
from evalset.recorded.recording_export import record, recorded_for
from simulator.session import SessionState
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
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--agent` decides where several agents are given; a demo agent needs no folder."""
    path = tmp_path / "old.test.json"
    path.write_text(
        '[{"name": "a", "data": [{"query": "x", "expected_tool_use": [{"tool_name": "nobody", "tool_input": {}}], "reference": "y"}]}]'
    )
    for name in ("one", "two"):
        folder = tmp_path / "agents" / name
        folder.mkdir(parents=True)
        (folder / "agent.py").write_text(
            f"from google.adk.agents import LlmAgent\nroot_agent = LlmAgent(name={name!r}, model='none')\n"
        )
    agents = ["--agents-dir", str(tmp_path / "agents")]
    assert main([str(path), *agents]) == CLEAN
    assert "--agent." in capsys.readouterr().out
    assert main([str(path), *agents, "--agent", "two"]) != CLEAN
    told = capsys.readouterr().out
    assert all(each in told for each in ("error unknown-tool: ", "'two'", "'nobody'"))
    assert main([str(path), "--agent", "order_desk"]) != CLEAN
    told = capsys.readouterr().out
    assert all(each in told for each in ("error unknown-tool: ", "'order_desk'", "'nobody'"))
    assert main([str(path), *agents, "--agent", "three"]) == 2
    told = capsys.readouterr().err
    assert "'three'" in told
    assert "one, two" in told
