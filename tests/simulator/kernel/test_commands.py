"""The commands, and the page's scripts and `adk eval`, with agents that run with a Python of their project."""

from __future__ import annotations

import json
import sys
import venv
from pathlib import Path

import pytest

from app.live.agent_catalogue import catalogue
from app.scripts.script_play import RecordedForm, open_recorded, recorded_cases
from app.scripts.script_play import view_of as recorded_view
from app.server.owners import LOCAL
from evalset.adk_runs.eval_process import check_installed
from evalset.cli.eval_command import main as evaluate
from evalset.cli.main import simulator_main as main
from simulator.agents.agent_folder import AgentFolder
from simulator.kernel.kernel_agent import KernelAgentConfig
from simulator.kernel.remote_simulation import RemoteSimulation
from simulator.scripts import play_script, read_script
from tests.evalset.there import there
from tests.simulator.kernel.projects import PATIENCE, config_of, project, until

pytestmark = pytest.mark.process

SCRIPT = """
format: golden-trace-studio/script
version: 1
turns:
- say: Where is A1?
  moves:
  - calls: [{name: find_order, args: {order_id: A1}}]
  - {tool: find_order, returns: {status: success, order: {id: A1, state: lost}}}
  - text: It is lost.
"""


@pytest.fixture
def python(tmp_path: Path) -> Path:
    """An environment of the project's own, which sees the packages of this one."""
    home = tmp_path / "project-env"
    venv.create(home, with_pip=False)
    (installed,) = home.glob("lib/python*/site-packages")
    packages = next(Path(each) for each in sys.path if each.endswith("site-packages"))
    (installed / "these.pth").write_text(f"{packages}\n")
    return home / "bin" / "python"


def written(home: Path, *options: str) -> Path:
    """Write a case of the script with the command; return the set."""
    script, out = home / "script.yaml", home / "desk" / "cases.evalset.json"
    script.write_text(SCRIPT)
    given = ["--script", str(script), "--eval-id", "lost", "--out", str(out), "--quiet"]
    assert main(["run", str(home / "desk"), *given, *options]) == 0
    return out


def listed(home: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> KernelAgentConfig:
    """Return the agent as a page has it whose server was told of this folder."""
    monkeypatch.setattr("sys.argv", ["main.py", "--agents-dir", str(home), "--no-demos"])
    config = catalogue().config(name)
    assert isinstance(config, KernelAgentConfig)
    return config


@pytest.mark.long
def test_a_script_is_run_and_its_case_evaluated_with_the_projects_python(
    tmp_path: Path, python: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The written case passes its replay there, `adk eval` there passes it, and no tool runs."""
    home = project(tmp_path / "agents")
    out = written(home, "--python", str(python), "--json")
    assert json.loads(capsys.readouterr().out)["verified"]
    given = [str(home / "desk"), "--python", str(python), str(out)]
    assert evaluate([*given, "--models", "recorded", "--json", "--quiet"]) == 0
    assert json.loads(capsys.readouterr().out)["passed"] == 1
    assert not (home / "desk" / "ran.txt").exists()


def test_what_lacks_there_is_told_with_the_line_to_paste(tmp_path: Path) -> None:
    """For that Python, and not for the studio's."""
    venv.create(tmp_path, with_pip=False)
    python = tmp_path / "bin" / "python"
    with pytest.raises(ValueError, match=rf"{python} -m pip .*'google-adk\[eval\]'"):
        check_installed(python)


def test_a_recorded_session_that_is_played_again_has_its_times(tmp_path: Path) -> None:
    """In a kernel as in this process: the same facts, but for how long each answer took."""
    home = project(tmp_path, name="timed")
    script = read_script(SCRIPT).script.model_copy(
        update={"began": 1_700_000_000.0, "seed": "seed", "session_id": "the session"}
    )
    turns = tuple(turn.model_copy(update={"at": 1_700_000_100.0}) for turn in script.turns)
    script = script.model_copy(update={"turns": turns})
    config = config_of(home, "timed")
    there, here = play_script(config, script), play_script(AgentFolder(home).load("timed"), script)
    config.kernels.end()
    assert [fact.kind for fact in there.facts] == [fact.kind for fact in here.facts]
    assert [fact.at for fact in there.facts] == [fact.at for fact in here.facts]
    assert there.facts[0].at == 1_700_000_000.0
    assert {fact.at for fact in there.facts if fact.kind == "turn_started"} == {1_700_000_100.0}
    assert there.session.adk_session == here.session.adk_session


def test_a_recorded_case_plays_in_the_kernel_of_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a script, in a session that people see: nobody is asked, no tool runs, and the answers are the recorded ones."""
    home = project(tmp_path / "agents")
    out, config = written(home), listed(home, "desk", monkeypatch)
    assert recorded_cases(str(out), LOCAL, config) == {"lost": "Where is A1?"}
    live = open_recorded(RecordedForm(agent="desk", path=str(out), case="lost"), config)
    assert isinstance(live.simulation, RemoteSimulation)
    played = there(live.script)
    assert played.wait(lambda progress: progress.is_over or bool(progress.asks), PATIENCE)
    assert there(played.progress.played).came_through, played.progress
    until(live.simulation, lambda: not live.simulation.view().busy)
    (turn,) = live.simulation.session.turns
    assert "lost" in str(turn.events)
    view = there(recorded_view(live))
    assert not view.problem
    assert not (home / "desk" / "ran.txt").exists()
    live.simulation.close()
    config.kernels.end()
