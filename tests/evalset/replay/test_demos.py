"""Authors a trace of each demo agent, and replays it ten times under `adk eval` with real tools that must not run."""

from __future__ import annotations

from pathlib import Path

import pytest

from evalset import EvalSetWriter, GoldenTraceBuilder
from evalset.recorded.recorder import record, recorded_case
from evalset.recorded.recording import RecordedCase
from evalset.recorded.recording_files import put_cases
from simulator import Seats, SimulatedAgentConfig, Simulation, demo_agent
from simulator.facts import Fact, Failed
from simulator.session import SimulationSession
from tests.harness.adk_process import run_adk_eval

pytestmark = [pytest.mark.process, pytest.mark.long]

TIMES = 10
PATIENCE = 60.0
QUERIES = {
    "order_desk": ["Please cancel order A-1001 and refund me.", "Where is order A-1002?"],
    "travel_planner": [
        "Plan a trip from Oslo to Rome from 2026-05-03 to 2026-05-06 for 2 people with a Norwegian passport.",
        "What is the weather like in Rome, Lisbon and Athens?",
    ],
    "expense_approver": ["E-7 of engineering: hotel 180 EUR and dinner 75 EUR"],
}

_MODULE = '''
"""A demo agent whose tools end the process, with the lines that replay its recorded world."""

import functools

from google.adk.tools import FunctionTool

from simulator import demo_agent
from simulator.runtime.adk.adk_private import children_of, node_of

root_agent = demo_agent("NAME").root_agent
trapped = []


def trap(function):
    @functools.wraps(function)
    def trapped_function(*_, **__):
        raise SystemExit("trapped")

    trapped.append(function)
    return trapped_function


def set_traps(node, seen):
    if id(node) in seen:
        return
    seen.add(id(node))
    tools = getattr(node, "tools", None)
    if tools:
        node.tools = [tool if hasattr(tool, "run_async") else trap(tool) for tool in tools]
    for tool in (*(getattr(node, "tools", None) or ()), getattr(node, "tool", None)):
        if isinstance(tool, FunctionTool):
            tool.func = trap(tool.func)
        if (inner := node_of(tool)) is not None:
            set_traps(inner, seen)
    for child in children_of(node):
        set_traps(child, seen)


set_traps(root_agent, set())
assert trapped

LINES
'''


def write_trapped(agents_dir: Path, config: SimulatedAgentConfig, environment: str) -> Path:
    """Write the folder of a demo agent whose tools must not run; `environment` are the arguments of the plugin, in Python."""
    folder = agents_dir / config.app_name
    folder.mkdir()
    (folder / "__init__.py").write_text("from . import agent\n")
    lines = (
        "from evalset import HermeticEnvironment\nfrom google.adk.apps import App\n"
        f"app = App(name={config.app_name!r}, root_agent=root_agent, plugins=[HermeticEnvironment({environment})])"
    )
    (folder / "agent.py").write_text(_MODULE.replace("NAME", config.app_name).replace("LINES", lines))
    return folder


def played_demo(config: SimulatedAgentConfig) -> tuple[SimulationSession, list[Fact]]:
    """Let the offline generator answer a demo agent; give the session and its facts."""
    with Simulation.open(config, seats=Seats(tools={"*": "offline"}), seed="seed") as simulation:
        for query in QUERIES[config.app_name]:
            assert simulation.query(query, wait=PATIENCE)
        return simulation.session, [fact for _, fact in simulation.journal.path()]


def with_a_failure(case: RecordedCase) -> RecordedCase:
    """Let the first call of a case fail."""
    first, *turns = case.turns
    call, *calls = first.calls
    down = call.model_copy(update={"outcome": Failed(error_code=503, error_message="down")})
    return case.model_copy(update={"turns": (first.model_copy(update={"calls": (down, *calls)}), *turns)})


@pytest.mark.parametrize("name", QUERIES)
def test_a_demos_trace_passes_ten_times_of_ten_and_no_real_tool_runs(name: str, tmp_path: Path) -> None:
    """The cases run four at a time. A case in which one recorded answer is another one fails, and no other does."""
    config = demo_agent(name)
    session, facts = played_demo(config)
    eval_set = tmp_path / "demo.evalset.json"
    for number in range(TIMES):
        case = GoldenTraceBuilder(session, eval_id=f"case-{number}").build()
        EvalSetWriter(eval_set, name).write_eval_case(case)
        sidecar = record(eval_set, case.eval_id, session, facts, config.root_agent)
    changed = "changed"
    case = GoldenTraceBuilder(session, eval_id=changed).build()
    EvalSetWriter(eval_set, name).write_eval_case(case)
    put_cases(sidecar, {changed: with_a_failure(recorded_case(session, facts))})
    folder = write_trapped(tmp_path, config, repr(str(sidecar)))
    criteria = {"tool_trajectory_avg_score": 1.0, "response_match_score": 1.0}
    outcome = run_adk_eval(folder, eval_set, criteria=criteria)
    assert [case.eval_id for case in outcome.cases if not case.passed] == [changed], outcome.output
    assert outcome.passed == TIMES
    assert "trapped" not in outcome.output
