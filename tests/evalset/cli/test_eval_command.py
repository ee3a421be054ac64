"""`golden-trace eval`: ADK's own `adk eval` with the recorded responses, for each kind of agent, with no line changed in it."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from evalset.adk_runs import installed
from evalset.adk_runs.eval_results import junit, read_results, report
from evalset.cli.shell_lines import AgentWords, program, shown_commands
from evalset.recorded.recorder import replay_lines
from evalset.verify.results import PLAY_RECORDED
from tests.evalset.ending import Ends
from tests.evalset.replay.desk_agent import config, keep, played, write_desk
from tests.harness.processes import REPOSITORY, completed, quiet_environment

DESK = REPOSITORY / "tests" / "conformance" / "files" / "order_desk.evalset.json"
CASE = "order_desk_case"
CRITERIA = ("order_desk", DESK, "--config", "criteria.json")
CONFIGS = """
import sys
from pathlib import Path

from google.adk.agents import LlmAgent

from simulator import SimulatedAgentConfig


def check(order: str) -> dict:
    \"\"\"Check an order.\"\"\"
    raise SystemExit("a real tool ran")


def named(name):
    agent = LlmAgent(name="desk", model="gemini-2.5-flash", instruction="Help.", tools=[check])
    return SimulatedAgentConfig(name=name, agent=agent, eval_set_path=Path("unused.evalset.json"))


AGENTS = [named("First desk"), named("Second desk")]
"""


@pytest.mark.parametrize(
    ("words", "criteria", "told"),
    [
        (["nobody", DESK], "", "'nobody'"),
        (["order_desk", "none.json"], "", "none.json"),
        (["order_desk", DESK, "--case", "two"], "", f"--case: .*'two'.*{CASE}"),
        (["order_desk", "alone.evalset.json"], "", "alone.environment.json"),
        ([*CRITERIA], "", "--config: .*criteria.json"),
        ([*CRITERIA], "{", "criteria.json: line 1"),
        ([*CRITERIA], '{"criteria": {"tool_trajectory_avg_score": "high"}}', "criteria.json: criteria"),
        (["order_desk", DESK, "--real-tools", "--models", "recorded"], "", "--models recorded"),
    ],
)
def test_what_cannot_be_evaluated_is_said_before_anything_runs(
    words: list[str | Path], criteria: str, told: str, here: Path, ends: Ends
) -> None:
    """Agent, set, case, recording, criteria: each by its name, with the exit code for bad input."""
    Path("alone.evalset.json").write_bytes(DESK.read_bytes())
    if criteria:
        Path("criteria.json").write_text(criteria)
    assert re.search(told, ends(2, "eval", *words).err)


def test_missing_packages_are_named_with_what_installs_them(
    monkeypatch: pytest.MonkeyPatch, ends: Ends
) -> None:
    """The command that installs them is for the Python that runs this, whatever the shell finds first."""
    monkeypatch.setattr(installed, "_is_there", lambda package: package != "rouge-score")
    said = ends(2, "eval", "order_desk", DESK).err
    assert "rouge-score" in said
    assert installed.install_command() in said
    assert shlex.split(installed.install_command())[-2:] == ["install", "google-adk[eval]"]
    shown = shown_commands(AgentWords(words="order_desk"), DESK, CASE)
    assert shown.evaluate.splitlines()[0] == installed.install_command()


@pytest.mark.parametrize("eval_id", ["-b", "--help", "=1+1"])
def test_an_id_that_looks_like_an_option_is_none(eval_id: str) -> None:
    """It stands in one piece with the option."""
    shown = shown_commands(AgentWords(words="order_desk"), DESK, eval_id)
    assert f"--case={eval_id}" in shown.evaluate.split()


def shell(commands: str, folder: Path, code: int = 0, **variables: str) -> subprocess.CompletedProcess[str]:
    """Paste commands into a fresh shell in a folder: each has to pass, or the last one to end with a code."""
    bare = {name: value for name, value in quiet_environment(**variables).items() if name != "VIRTUAL_ENV"}
    variables = bare | {"PATH": "/usr/bin:/bin"}
    done = completed("/bin/sh", "-e", "-c", commands, folder=folder, environment=variables)
    assert done.returncode == code, done.stdout + done.stderr
    return done


def exported(folder: Path, eval_set: Path) -> Path:
    """Play a session with an agent of a folder, and keep it in a set; return the recording."""
    eval_set.parent.mkdir(exist_ok=True)
    simulation = played(config(folder.parent), ["check 1"], {"check": {"status": "open"}})
    return keep(simulation, eval_set, "one")


@pytest.mark.long
@pytest.mark.process
def test_a_folder_with_a_space_and_a_quote_in_its_path(tmp_path: Path) -> None:
    """Both commands pass as they are pasted, with JSON, JUnit and CSV; ADK's results lie with the agent, the test file beside the set."""
    folder = write_desk(tmp_path / "it's my agents")
    eval_set = folder / "my set.evalset.json"
    exported(folder, eval_set)
    shown = shown_commands(AgentWords(words=str(folder), folder=folder), eval_set, "one")
    shell(f"{shown.evaluate} --junit results.xml --csv results.csv --json > results.json", tmp_path)
    assert ET.parse(tmp_path / "results.xml").getroot().get("failures") == "0"  # noqa: S314 - our own file
    assert "one,passed,tool_trajectory_avg_score,1.0,1.0,passed" in (tmp_path / "results.csv").read_text()
    found = json.loads((tmp_path / "results.json").read_text())
    assert (found["passed"], found["total"], found["real_tools"]) == (1, 1, False)
    assert len(list((folder / ".adk" / "eval_history").iterdir())) == 1
    assert "1 passed" in shell(shown.pytest, tmp_path).stdout
    assert sorted(path.name for path in folder.glob("*set*")) == [
        "my set.environment.json",
        "my set.evalset.json",
        "test_my_set.py",
    ]


@pytest.mark.long
@pytest.mark.process
def test_plain_adk_eval_passes_with_the_three_lines(tmp_path: Path) -> None:
    """Put at the end of the agent's module as they are shown; the agent's tools and model must not run.

    ADK leaves the agent's folder and the one above it out of Python's path: what is imported from there by its name is found all the same.
    """
    folder = write_desk(tmp_path / "it's my agents")
    (folder / "names.py").write_text("NAME = 'desk'\n")
    (folder.parent / "beside.py").write_text("")
    eval_set = tmp_path / "my sets" / "desk.evalset.json"
    lines = replay_lines("desk", exported(folder, eval_set), folder, models="recorded")
    with (folder / "agent.py").open("a") as module:
        module.write(f"\nimport beside\nfrom {folder.name}.names import NAME\n{lines}\n")
    shown = shown_commands(AgentWords(words=str(folder), folder=folder), eval_set, "one")
    done = shell(shown.tolerant, tmp_path, NO_MODEL="1")
    assert "Tests passed: 1" in done.stdout
    assert shown.tolerant.splitlines()[-1].startswith(f"{shown.plain} --config_file_path ")


@pytest.mark.long
@pytest.mark.process
def test_a_file_of_configs_without_a_key(tmp_path: Path) -> None:
    """The agent's Gemini has no key, so its recorded turns are used, and the output says so; a path may hold a quote, a space and the sign that parts the name."""
    file = tmp_path / "it's #1" / "desks.py"
    file.parent.mkdir()
    file.write_text(CONFIGS)
    eval_set = tmp_path / "sets" / "desk.evalset.json"
    exported(write_desk(tmp_path / "played"), eval_set)
    words = AgentWords(words=f"{file}#Second desk")
    shown = shown_commands(words, eval_set, "one")
    shell(f"{shown.evaluate} --json > results.json", tmp_path)
    found = json.loads((tmp_path / "results.json").read_text())
    assert (found["models"], found["real_tools"], found["passed"]) == ("recorded", False, 1)
    assert re.match("Second desk: .*desk.environment.json", found["how"])
    assert "1 passed" in shell(shown.pytest, tmp_path).stdout
    assert shown.plain == ""


@pytest.mark.long
@pytest.mark.process
def test_a_model_that_fails_is_told_with_the_recorded_ones(tmp_path: Path) -> None:
    """As `golden-trace verify` tells it."""
    folder = write_desk(tmp_path / "agents")
    eval_set = folder / "desk.evalset.json"
    exported(folder, eval_set)
    source = (folder / "agent.py").read_text()
    (folder / "agent.py").write_text(
        source.replace(
            "query, made, answered = since", "raise OSError('no route'); query, made, answered = since"
        )
    )
    done = shell(f"{' '.join(program())} eval {folder} {eval_set}", tmp_path, 1)
    assert "no route" in done.stdout
    assert PLAY_RECORDED in done.stdout
    assert (
        PLAY_RECORDED
        not in shell(f"{' '.join(program())} eval {folder} {eval_set} --models recorded", tmp_path).stdout
    )


@pytest.mark.long
@pytest.mark.process
def test_real_tools_run_after_a_warning(tmp_path: Path) -> None:
    """The agent's real tool ends the process, which leaves no results: the code is ADK's, and its last words are shown."""
    folder = write_desk(tmp_path / "agents")
    eval_set = folder / "desk.evalset.json"
    exported(folder, eval_set)
    done = shell(f"{' '.join(program())} eval {folder} {eval_set} --real-tools", tmp_path, 1)
    assert "warning: " in done.stderr
    assert "real tool ran" in done.stderr


METRIC = {"metric_name": "tool_trajectory_avg_score", "threshold": 1.0, "score": 0.0, "eval_status": 2}
CALL = {"name": "find", "args": {"id": "A\x00"}}
RESULTS = {
    "eval_set_id": "desk",
    "eval_case_results": [
        {
            "eval_id": "bad",
            "final_eval_status": 2,
            "overall_eval_metric_results": [
                METRIC,
                {"metric_name": "tokens", "score": 9.0, "eval_status": 4},
            ],
            "eval_metric_result_per_invocation": [
                {
                    "actual_invocation": {"user_content": {"parts": [{"text": "Where?"}]}},
                    "expected_invocation": {"intermediate_data": {"tool_uses": [CALL]}},
                    "eval_metric_results": [METRIC],
                }
            ],
        },
        {"eval_id": "good", "final_eval_status": 1, "overall_eval_metric_results": []},
        {"eval_id": "odd", "final_eval_status": 3, "overall_eval_metric_results": []},
    ],
}


def test_the_table_says_which_call_differs() -> None:
    """Metrics that only inform are left to the JSON; a case that was not evaluated has not passed. What XML has no form for is replaced."""
    results = read_results(json.dumps(RESULTS))
    said = report(results)
    assert said.splitlines()[0].split() == ["case", "result", "tool_trajectory_avg_score"]
    assert "tokens" not in said
    assert 'turn 1, expected calls: find({"id": "A\\u0000"})' in said
    assert "turn 1, actual calls:   none" in said
    assert said.endswith("1 of 3 passed\n")
    root = ET.fromstring(junit(results, 1.5))  # noqa: S314 - our own text
    assert [root.get(name) for name in ("tests", "failures", "errors")] == ["3", "1", "1"]
    assert [case.get("name") for case in root.iter("testcase")] == ["bad", "good", "odd"]


def test_a_pasted_command_starts_in_the_folder_where_a_module_is_found(tmp_path: Path) -> None:
    """A dotted module is found from the folder that the studio was started in, and the shell stays where it is."""
    words = AgentWords(words="my.agents#desk", start_in=tmp_path / "it's here")
    shown = shown_commands(words, Path("/sets/desk.evalset.json"), "a:b")
    assert shown.evaluate.startswith(f"(cd '{tmp_path}/it'\"'\"'s here' && ")
    assert shown.evaluate.endswith(" eval 'my.agents#desk' /sets/desk.evalset.json --case a:b)")
    assert shown.pytest.splitlines()[-1].endswith(" -m pytest /sets/test_desk.py)")
