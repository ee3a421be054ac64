"""The verdicts of the real `adk` program, as the harness reads them."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.harness.adk_process import run_adk_eval
from tests.harness.forked import CAN_FORK, start_forked
from tests.harness.processes import Start, start_program
from tests.harness.tiny_agent import write_tiny_agent, write_tiny_eval_set

pytestmark = [pytest.mark.process, pytest.mark.long]


@pytest.mark.parametrize("start", [start_program, start_forked] if CAN_FORK else [start_program])
def test_a_set_that_the_agent_fulfils_passes(tmp_path: Path, start: Start) -> None:
    """A fulfilled case passes with score 1, and the agent's folder stays as it was: by the program and by its fork."""
    agent = write_tiny_agent(tmp_path)
    outcome = run_adk_eval(agent, write_tiny_eval_set(tmp_path / "sums.evalset.json"), start=start)
    assert (outcome.exit_code, outcome.passed, outcome.failed) == (0, 1, 0), outcome.output
    assert outcome.scores["adds"]["tool_trajectory_avg_score"] == 1.0
    assert sorted(path.name for path in agent.iterdir()) == ["__init__.py", "agent.py"]


@pytest.mark.skipif(not CAN_FORK, reason="no command is a fork here")
def test_a_fork_runs_nothing_of_the_process_that_asked_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The main script of the asking process, which AppTest may have left there, is neither run nor lost."""
    script = ModuleType("__main__")
    script.__file__ = str(tmp_path / "raises.py")
    Path(script.__file__).write_text("raise SystemExit(7)")
    monkeypatch.setitem(sys.modules, "__main__", script)
    outcome = run_adk_eval(write_tiny_agent(tmp_path), write_tiny_eval_set(tmp_path / "sums.evalset.json"))
    assert (outcome.exit_code, outcome.passed) == (0, 1), outcome.output
    assert sys.modules["__main__"] is script


def test_a_set_that_expects_another_call_fails(tmp_path: Path) -> None:
    """One changed argument in the set turns the verdict."""
    eval_set = write_tiny_eval_set(tmp_path / "sums.evalset.json", second=4)
    outcome = run_adk_eval(write_tiny_agent(tmp_path), eval_set)
    assert (outcome.exit_code, outcome.passed, outcome.failed) == (1, 0, 1), outcome.output
    assert outcome.scores["adds"]["tool_trajectory_avg_score"] == 0.0


def test_a_set_that_adk_cannot_read_has_no_cases(tmp_path: Path) -> None:
    """A broken file is told apart from a failed case: no case, a bad exit code, ADK's own words."""
    broken = tmp_path / "broken.evalset.json"
    broken.write_text('{"eval_set_id": "broken", "eval_cases": [')
    outcome = run_adk_eval(write_tiny_agent(tmp_path), broken)
    assert outcome.exit_code != 0
    assert outcome.cases == ()
    assert "JSONDecodeError" in outcome.output
