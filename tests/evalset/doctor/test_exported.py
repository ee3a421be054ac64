"""Golden traces that the studio exports are sound, and tell at once when their agent changes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from google.adk.agents import LlmAgent

from evalset import EvalSetWriter, GoldenTraceBuilder
from evalset.doctor import Finding, Migration, RenamedArgument, examine, known_agent, migrate
from evalset.recorded.known_agents import KnownAgent
from evalset.recorded.recording_export import record
from simulator import Seats, Simulation, demo_agent
from simulator.agent_config import SimulatedAgentConfig
from simulator.environment.world.connections import ToolShape
from simulator.facts import Deferred, Raised, RaisedError
from simulator.seats.answers import ToolAnswer
from tests.evalset.replay.desk_agent import config, keep, played, write_desk

PATIENCE = 60.0
NAME = "order_desk"


def exported(folder: Path) -> SimulatedAgentConfig:
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


def found(folder: Path, agent: KnownAgent) -> list[Finding]:
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
        with played(desk, [query], answers, real=real) as simulation:
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
    agent = known_agent(exported(tmp_path))
    path = tmp_path / f"{NAME}_evals.evalset.json"
    path.write_text(path.read_text().replace('"status": "sent"', '"status": "on its way"'))
    (finding,) = found(tmp_path, agent)
    assert finding.code == "environment-answers-differ"
    assert 'refund_order responded "sent" at status' in finding.meaning
    told = agent_with_callback()
    assert told.rewrites
    assert not agent.rewrites
    assert found(tmp_path, agent._replace(rewrites=True)) == []


def agent_with_callback() -> KnownAgent:
    """Return an agent that has its say on what its tools answer."""
    agent = LlmAgent(name="desk", model="none", after_tool_callback=lambda **_: {"status": "on its way"})
    return known_agent(SimulatedAgentConfig("desk", agent, "x.evalset.json"))


def _renamed(agent: KnownAgent, old: str, new: str, argument: tuple[str, str]) -> KnownAgent:
    """Make the agent that has another name for a tool and for one of its arguments."""
    shape = agent.tools[old]
    parameters: dict[str, Any] = dict(shape.parameters)
    properties = {
        argument[1] if name == argument[0] else name: held for name, held in parameters["properties"].items()
    }
    required = [argument[1] if name == argument[0] else name for name in parameters.get("required", [])]
    parameters |= {"properties": properties, "required": required, "additionalProperties": False}
    changed = ToolShape(name=new, parameters=parameters, response_schema=shape.response_schema)
    others = frozenset(name for name in agent.others if name != old)
    tools = {name: tool for name, tool in agent.tools.items() if name != old} | {new: changed}
    return agent._replace(tools=tools, others=others)


def test_a_renamed_tool_is_told_and_a_migration_makes_it_fit_again(tmp_path: Path) -> None:
    """Tool and argument are renamed in the agent: set and environment are found guilty, and migrated they are sound."""
    agent = known_agent(exported(tmp_path))
    changed = _renamed(agent, "find_order", "look_up", ("order_id", "order"))
    codes = {each.code for each in found(tmp_path, changed)}
    assert {"unknown-tool", "environment-tool-gone"} <= codes
    migration = Migration(
        tools={"find_order": "look_up"},
        renamed=(RenamedArgument(tool="find_order", old="order_id", new="order"),),
    )
    done = migrate([tmp_path], migration, agents={agent.name: changed})
    assert [change.problem for change in done.files] == ["", ""]
    assert found(tmp_path, changed) == []
    assert migrate([tmp_path], migration, agents={agent.name: changed}).files == ()
