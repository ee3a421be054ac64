"""Runs the real `adk eval` as the page does: hermetically, with the real tools, stopped, and where it cannot work."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from evalset.adk_runs import eval_process
from evalset.adk_runs.eval_process import AdkEvalRun, RunView
from evalset.adk_runs.process_groups import Start, start_process
from evalset.adk_runs.run_spec import AgentPlace, EvalRunSpec
from tests.evalset.adk_runs.test_supervised import is_there
from tests.evalset.replay.desk_agent import config, keep, played, write_desk
from tests.evalset.there import there
from tests.harness.forked import CAN_FORK, start_forked
from tests.harness.processes import quiet_environment, wait_until
from tests.harness.tiny_agent import _SOURCE as TINY
from tests.harness.tiny_agent import write_tiny_agent, write_tiny_eval_set

pytestmark = pytest.mark.process

PATIENCE = 180.0
_START: Start = start_forked if CAN_FORK else start_process
EXACT = {"criteria": {"tool_trajectory_avg_score": 1.0, "response_match_score": 0.8}}
Ran = Callable[[EvalRunSpec], RunView]


def finished(spec: EvalRunSpec, folder: Path) -> RunView:
    """Run to the end."""
    folder.mkdir()
    made = AdkEvalRun(spec, folder, environment=quiet_environment(), start=_START)
    made.start()
    return made.wait(PATIENCE)


@pytest.fixture
def ran(tmp_path: Path) -> Ran:
    """Runs to the end, in a folder of its own."""
    return lambda spec: finished(spec, tmp_path / "run")


@pytest.fixture
def broken(tmp_path: Path, ran: Ran) -> Callable[[str], RunView]:
    """Runs an agent whose package is this code, which ends badly."""

    def run(code: str) -> RunView:
        agent = tmp_path / "agents" / "broken"
        agent.mkdir(parents=True)
        (agent / "__init__.py").write_text(code)
        eval_set = write_tiny_eval_set(tmp_path / "sums.evalset.json")
        view = ran(EvalRunSpec(eval_set=eval_set, agent=place(agent)))
        assert view.state == "broken"
        return view

    return run


def place(folder: Path) -> AgentPlace:
    """Say where the agent of a folder is."""
    return AgentPlace(name=folder.name, app_name=folder.name, folder=folder)


@pytest.mark.long
def test_a_hermetic_run_needs_no_real_tool_and_changes_no_file(tmp_path: Path, ran: Ran) -> None:
    """Two of three cases are chosen: both pass with tools that must not run; turns are counted; ADK's results are kept."""
    folder = write_desk(tmp_path / "agents")
    eval_set = tmp_path / "sets" / "desk.evalset.json"
    eval_set.parent.mkdir()
    for number in range(3):
        simulation = played(
            config(tmp_path / "agents"),
            [f"check {number}; advisor visas", "note A"],
            {"check": {"status": "shipped"}, "note": {"noted": True}, "look_up": {"rule": "none"}},
        )
        sidecar = keep(simulation, eval_set, f"case-{number}")
    before = {path: path.read_bytes() for path in sorted(tmp_path.rglob("*.py*")) if path.is_file()}
    view = ran(
        EvalRunSpec(
            eval_set=eval_set,
            agent=place(folder),
            cases=("case-0", "case-2"),
            config=EXACT,
            environment=sidecar,
            history=tmp_path / "history",
        )
    )
    assert view.state == "passed", view.output
    assert view.results is not None
    assert [case.eval_id for case in view.results.cases] == ["case-0", "case-2"]
    assert (view.turns_done, view.turns) == (4, 4)
    first = view.results.cases[0]
    turn = first.turns[0]
    assert [(call.tool, call.arguments["order"]) for call in turn.actual_calls[:1]] == [("check", "0")]
    assert (turn.actual_calls, turn.actual_text) == (turn.expected_calls, turn.expected_text)
    trajectory = there(first.metric("tool_trajectory_avg_score"))
    assert (trajectory.score, trajectory.threshold, trajectory.status) == (1.0, 1.0, "passed")
    assert there(view.kept).parent == tmp_path / "history"
    assert not (folder / ".adk").exists()
    assert {path: path.read_bytes() for path in before} == before


@pytest.mark.long
def test_real_tools_run_where_nobody_stands_for_them(tmp_path: Path, ran: Ran) -> None:
    """The tiny agent adds for real; one of its two sets' expectations does not hold, and the results say which turn fails."""
    folder = write_tiny_agent(tmp_path / "agents")
    view = ran(
        EvalRunSpec(
            eval_set=write_tiny_eval_set(tmp_path / "sums.evalset.json", second=4),
            agent=place(folder),
            config=EXACT,
        )
    )
    assert view.state == "failed", view.output
    (case,) = there(view.results).cases
    assert {metric.name: metric.status for metric in case.metrics if metric.threshold is not None} == {
        "tool_trajectory_avg_score": "failed",
        "response_match_score": "passed",
    }
    assert case.turns[0].actual_text == "The sum is 5."
    assert case.turns[0].expected_calls != case.turns[0].actual_calls


_SLEEPER = '''
"""Sleeps in a process of its own instead of answering."""

import subprocess
import sys
from pathlib import Path

from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm


class Sleeper(BaseLlm):
    model: str = "sleeper"

    async def generate_content_async(self, llm_request, stream=False):
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        Path(__file__).with_name("child.txt").write_text(str(child.pid))
        child.wait()
        yield None


root_agent = LlmAgent(name="sleeper", model=Sleeper())
'''


def sleeping(folder: Path) -> tuple[Path, EvalRunSpec]:
    """Write an agent that starts a process of its own and then sleeps; return where it notes that process, and what runs it."""
    agent = folder / "agents" / "sleeper"
    agent.mkdir(parents=True)
    (agent / "__init__.py").write_text("from . import agent\n")
    (agent / "agent.py").write_text(_SLEEPER)
    (folder / "run").mkdir()
    eval_set = write_tiny_eval_set(folder / "sums.evalset.json")
    return agent / "child.txt", EvalRunSpec(eval_set=eval_set, agent=place(agent))


@pytest.mark.long
def test_a_run_is_stopped_with_all_that_it_started(tmp_path: Path) -> None:
    """The agent has started a process of its own; neither is left, and the run says that it was stopped."""
    (child, spec), folder = sleeping(tmp_path), tmp_path / "run"
    run = AdkEvalRun(spec, folder, environment=quiet_environment())
    run.start()
    wait_until(lambda: child.exists() and bool(child.read_text()), what="the agent runs", seconds=PATIENCE)
    assert run.view().state == "running"
    assert run.view().turns_done == 0
    run.stop()
    assert run.wait(PATIENCE).state == "stopped"
    wait_until(lambda: not is_there(int(child.read_text())), what="the agent's process ended")
    run.forget()
    assert not folder.exists()


@pytest.mark.long
def test_a_run_whose_model_does_not_answer_ends_and_names_it(tmp_path: Path) -> None:
    """No turn is done within the limit: the process is ended with all that it started, and the run says what it waited for."""
    child, spec = sleeping(tmp_path)
    run = AdkEvalRun(
        spec.model_copy(update={"patience": 600.0}),
        tmp_path / "run",
        environment=quiet_environment(),
        clock=lambda: 601.0 if child.exists() and child.read_text() else 0.0,
    )
    run.start()
    view = run.wait(PATIENCE)
    assert view.state == "broken"
    assert "no turn was done in 600 s" in view.problem
    assert view.problem.endswith("asked last: the model sleeper of sleeper")
    wait_until(lambda: not is_there(int(child.read_text())), what="the agent's process ended")


@pytest.mark.long
def test_what_cannot_be_evaluated_says_why(broken: Callable[[str], RunView]) -> None:
    """An agent whose module fails leaves no results: the last word of its output is told."""
    view = broken('raise RuntimeError("no such city")\n')
    assert view.problem.endswith("RuntimeError: no such city")


@pytest.mark.long
def test_a_run_that_prints_without_end_is_ended(
    tmp_path: Path, broken: Callable[[str], RunView], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It says why, and what stays on the disk has a limit."""
    monkeypatch.setattr(eval_process, "MOST_OUTPUT", 1 << 20)
    view = broken("while True:\n    print('x' * 1000)\n")
    assert view.problem == "`adk eval` was stopped because it printed more than 1 MB"
    assert (tmp_path / "run" / "output.txt").stat().st_size <= 1 << 20


@pytest.mark.parametrize(
    ("text", "cases", "reason"),
    [
        ("{", (), "JSON"),
        (json.dumps({"eval_set_id": "none", "eval_cases": []}), (), "no case"),
        (None, ("other",), "'other'"),
    ],
)
def test_a_set_that_cannot_be_evaluated_is_refused_before_anything_runs(
    text: str | None, cases: tuple[str, ...], reason: str, tmp_path: Path, ran: Ran
) -> None:
    """The file and the reason are named."""
    eval_set = write_tiny_eval_set(tmp_path / "sums.evalset.json")
    if text is not None:
        eval_set.write_text(text)
    agent: Any = write_tiny_agent(tmp_path / "agents")
    view = ran(EvalRunSpec(eval_set=eval_set, agent=place(agent), cases=cases))
    assert view.state == "broken"
    assert reason in view.problem
    assert str(eval_set) in view.problem
    assert view.output == ""


MODEL, TOOLS, _ = re.split(r"\n(?=def add|root_agent)", TINY)
HEAD = "from google.adk.agents import LlmAgent\n"
SHAPED = 'root_agent = LlmAgent(name="adder", model=Adder(), instruction="Add.", tools=[add])\n'
INIT = "from . import agent\n"
Files = Mapping[str, str]


def plain(imports: str, more: str = SHAPED) -> Files:
    """A package of three modules, which its agent imports in one way or another."""
    return {"__init__.py": INIT, "model.py": MODEL, "tools.py": TOOLS, "agent.py": HEAD + imports + more}


SHAPES: dict[str, tuple[str, Files]] = {
    "absolute modules": (
        "my_agent",
        plain(
            "from my_agent import model, tools\nimport my_agent.tools\nadd, Adder = my_agent.tools.add, model.Adder\n"
        ),
    ),
    "sub-packages": (
        "my_agent",
        {
            "__init__.py": INIT,
            "parts/__init__.py": "",
            "parts/model.py": MODEL,
            "parts/deep/__init__.py": "from my_agent.parts.deep.tools import add\n",
            "parts/deep/tools.py": TOOLS,
            "agent.py": HEAD
            + "from .parts.deep import add\nfrom my_agent.parts.model import Adder\n"
            + SHAPED,
        },
    ),
    "two names": (
        "my_agent",
        {
            "__init__.py": INIT,
            "model.py": MODEL,
            "tools.py": TOOLS,
            "sub.py": HEAD
            + "from my_agent.model import Adder\nhelper = LlmAgent(name='helper', model=Adder(), description='Helps.')\n",
            "agent.py": HEAD
            + "import my_agent.agent\nfrom my_agent.sub import helper\nfrom .sub import helper as same\nassert helper is same\n"
            + "from .model import Adder\nfrom .tools import add\n"
            + SHAPED.replace("tools=[add]", "tools=[add], sub_agents=[helper]"),
        },
    ),
    "an app with plugins": (
        "my_agent",
        plain(
            "from my_agent.model import Adder\nfrom my_agent.tools import add\n",
            SHAPED
            + "from google.adk.apps import App\nfrom google.adk.plugins.logging_plugin import LoggingPlugin\n"
            + "app = App(name='my_agent', root_agent=root_agent, plugins=[LoggingPlugin()])\n",
        ),
    ),
    "called agent": ("agent", plain("from agent.model import Adder\nfrom .tools import add\n")),
    "root_agent.yaml": (
        "yaml_agent",
        {
            "__init__.py": "",
            "model.py": MODEL + "\n\nadder = Adder()\n",
            "tools.py": TOOLS,
            "root_agent.yaml": "agent_class: LlmAgent\nname: adder\ninstruction: Add.\n"
            "model_code:\n  name: yaml_agent.model.adder\ntools:\n  - name: yaml_agent.tools.add\n",
        },
    ),
}


def write(folder: Path, files: Files) -> Path:
    """Write an agent's folder."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


@pytest.mark.process
@pytest.mark.long
@pytest.mark.parametrize(("name", "files"), SHAPES.values(), ids=SHAPES)
def test_adk_eval_runs_it(name: str, files: Files, tmp_path: Path) -> None:
    """Its parent folder has a dash in its name and is on nobody's path."""
    folder = write(tmp_path / "my-agents-dir" / name, files)
    spec = EvalRunSpec(
        eval_set=write_tiny_eval_set(tmp_path / "sums.evalset.json"),
        agent=AgentPlace(name=name, app_name=name, folder=folder),
        config=EXACT,
    )
    view = finished(spec, tmp_path / "run")
    assert view.state == "passed", f"{view.problem}\n{view.output}"
