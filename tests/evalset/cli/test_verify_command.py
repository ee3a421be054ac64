"""Runs `python -m evalset verify`: what it writes, and its exit codes."""

from __future__ import annotations

import hashlib
import json
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from google.adk.evaluation.eval_metrics import EvalStatus
from google.adk.evaluation.evaluator import EvaluationResult

from evalset.__main__ import main
from evalset.recorded.recording_files import sidecar_of
from tests.evalset.verify.desks import agents, copied_set, recorded_set
from tests.evalset.verify.small_agents import agent, played, verified
from tests.harness.processes import REPOSITORY, quiet_environment


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An eval set with two cases."""
    return recorded_set(tmp_path_factory.mktemp("kept"), {"one": ["check A"], "two": ["check B", "note B"]})


def test_all_pass(kept: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each case has a line, and who answered for the models is named."""
    code = main(["verify", str(kept), "--agents-dir", str(agents(tmp_path)), "--runs", "2"])
    written = capsys.readouterr()
    assert code == 0
    assert written.out.splitlines()[:3] == [
        "PASS one (2 of 2 runs)",
        "PASS two (2 of 2 runs)",
        "desk: real models (all are reachable)",
    ]
    assert "2 passed, in" in written.out
    assert written.out.endswith("pass^1: 1.00\npass^2: 1.00\n")
    assert "4 of 4: pass" in written.err


def test_one_fails(kept: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The divergence is told, and stands in the JUnit file; the other case is chosen away."""
    edited = copied_set(kept, tmp_path, ('"order": "A"', '"order": "Z\\u001b"'))
    results = tmp_path / "junit.xml"
    where = ["--agents-dir", str(agents(tmp_path)), "--junit", str(results), "--quiet"]
    assert main(["verify", str(edited), *where]) == 1
    written = capsys.readouterr()
    assert written.err == ""
    for line in (
        "FAIL one",
        '  golden: check({"order":"Z\\u001b"})',
        '  actual: check({"order":"A"})',
        "The golden was edited: ",
        "PASS two",
    ):
        assert line in written.out
    suite = ET.parse(results).getroot()[0]  # noqa: S314 - it was written here
    assert (suite.attrib["tests"], suite.attrib["failures"]) == ("2", "1")
    failure = suite.find("testcase[@name='one']/failure")
    assert failure is not None
    assert "The golden was edited" in (failure.text or "")
    assert suite.find("testcase[@name='two']/failure") is None
    assert main(["verify", str(edited), *where, "--case", "two"]) == 0


def test_a_difference_far_behind_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of long answers that begin alike the pieces are shown in which they differ."""
    long = {"status": "shipped", "about": "x" * 500, "by": "truck"}
    kept = recorded_set(tmp_path / "kept", {"one": ["check A"]}, {"check": long})
    edited = copied_set(kept, tmp_path / "edited", (f'{"x" * 500}"', f'{"x" * 490}yes"'))
    assert main(["verify", str(edited), "--agents-dir", str(agents(tmp_path)), "--quiet"]) == 1
    lines = capsys.readouterr().out.splitlines()
    (golden,) = (line for line in lines if line.startswith("      golden: check responded …x"))
    (actual,) = (line for line in lines if line.startswith("      actual: check responded …x"))
    assert 'xyes"' in golden
    assert "yes" not in actual
    (became,) = (line for line in lines if line.startswith("      about: "))
    assert 'xyes" became …' in became
    assert max(map(len, (golden, actual))) < 220


@pytest.mark.long
def test_json_alone_stands_on_the_standard_output(
    kept: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the sums, and the exit code."""
    edited = copied_set(kept, tmp_path, ('"order": "A"', '"order": "Z"'))
    assert main(["verify", str(edited), "--agents-dir", str(agents(tmp_path)), "--json"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert (document["status"], document["passed"], document["failed"], document["exit_code"]) == (
        "failed",
        1,
        1,
        1,
    )
    one, two = document["cases"]
    assert one["runs"][0]["divergence"]["verdict"] == "golden_stale"
    assert one["runs"][0]["turns"]
    assert "turns" not in two["runs"][0]


@pytest.mark.long
def test_the_json_carries_the_digests_of_what_was_measured(
    kept: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Those of the set and the recording are what `sha256sum` gives; that of the agent's files is the same for the same files elsewhere."""

    def measured(folder: Path) -> dict[str, Any]:
        copy = copied_set(kept, folder)
        main(["verify", str(copy), "--agents-dir", str(agents(folder)), "--json"])
        found: dict[str, Any] = json.loads(capsys.readouterr().out)["measured"]
        assert {each["kind"]: each["sha256"] for each in found["files"]} == {
            "set": hashlib.sha256(copy.read_bytes()).hexdigest(),
            "recording": hashlib.sha256(sidecar_of(copy).read_bytes()).hexdigest(),
        }
        return found

    one, other = measured(tmp_path / "one"), measured(tmp_path / "other")
    (agent,), (same,) = one["agents"], other["agents"]
    assert agent["app_name"] == "desk"
    assert agent["source_sha256"]
    assert (agent["source_sha256"], agent["fingerprint"]) == (same["source_sha256"], same["fingerprint"])


def test_a_metric_that_is_a_part_of_python_is_not_called(
    kept: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A criteria file chooses among the functions of the project; another one is named with its place."""
    config = tmp_path / "config.json"
    named = {"mine": {"code_config": {"name": "webbrowser.open"}}}
    config.write_text(json.dumps({"criteria": {"mine": 0.5}, "custom_metrics": named}))
    where = [str(kept), "--agents-dir", str(agents(tmp_path)), "--case", "one"]
    assert main(["verify", *where, "--config", str(config)]) == 2
    assert "custom_metrics.mine.code_config.name: 'webbrowser.open'" in capsys.readouterr().err


def test_the_criteria_are_those_of_an_eval_config(
    kept: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """ADK's two, one of our own, and one that a replay cannot ask; an option stands above it."""
    edited = copied_set(kept, tmp_path, ('"order": "A"', '"order": "Z"'))
    config = tmp_path / "config.json"
    trajectory = {"threshold": 0.0, "match_type": "ANY_ORDER"}
    criteria = {"tool_trajectory_avg_score": trajectory, "hallucinations_v1": 0.5, "mine": 0.5, "broken": 1.0}
    named = {
        "mine": {"code_config": {"name": f"{__name__}.half"}},
        "broken": {"code_config": {"name": "no.such.place"}},
    }
    config.write_text(json.dumps({"criteria": criteria, "custom_metrics": named}))
    where = [str(edited), "--agents-dir", str(agents(tmp_path)), "--json", "--case", "one"]
    assert main(["verify", *where, "--config", str(config)]) == 1
    (case,) = json.loads(capsys.readouterr().out)["cases"]
    found = {check["name"]: (check["status"], check["score"]) for check in case["runs"][0]["checks"]}
    assert found == {
        "tool_trajectory_avg_score": ("passed", 0.0),
        "final_session_state": ("passed", 1.0),
        "stored_tool_responses": ("passed", 1.0),
        "hallucinations_v1": ("skipped", None),
        "mine": ("passed", 0.5),
        "broken": ("error", None),
    }
    config.write_text(json.dumps({"criteria": {"tool_trajectory_avg_score": trajectory}}))
    assert main(["verify", *where, "--config", str(config)]) == 0
    assert json.loads(capsys.readouterr().out)["criteria"]["match"] == "any_order"
    assert main(["verify", *where, "--config", str(config), "--match", "exact", "--ignore-args"]) == 0
    assert json.loads(capsys.readouterr().out)["criteria"]["match"] == "exact"
    config.write_text("{")
    assert main(["verify", *where, "--config", str(config)]) == 2
    assert "not an EvalConfig" in capsys.readouterr().err


def test_what_a_replay_cannot_evaluate_is_named_and_alone_refused(
    kept: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In the output and in JUnit: what was not looked at has not passed."""
    config = tmp_path / "config.json"
    where = [str(kept), "--agents-dir", str(agents(tmp_path)), "--case", "one", "--config", str(config)]
    config.write_text(json.dumps({"criteria": {"tool_trajectory_avg_score": 1.0, "hallucinations_v1": 0.5}}))
    assert main(["verify", *where, "--junit", str(tmp_path / "found.xml")]) == 0
    words = "not evaluated: hallucinations_v1: needs a judge model"
    assert words in capsys.readouterr().out
    assert words in (tmp_path / "found.xml").read_text()
    config.write_text(json.dumps({"criteria": {"hallucinations_v1": 0.5}}))
    assert main(["verify", *where]) == 2
    assert "a replay can evaluate none of them" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("document", "place"),
    [
        ({"tool_trajectory_avg_score": 1.0}, "criteria"),
        ({"criteria": {}}, "criteria"),
        ({"criteria": {"tool_trajectory_avg": 1.0}}, "criteria.tool_trajectory_avg"),
    ],
    ids=["flat", "empty", "no such metric"],
)
def test_criteria_that_would_evaluate_nothing_are_refused(
    kept: Path, tmp_path: Path, document: dict[str, Any], place: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """As `golden-trace eval` refuses them: what is not looked at has not passed."""
    config = tmp_path / "config.json"
    config.write_text(json.dumps(document))
    where = [str(kept), "--agents-dir", str(agents(tmp_path)), "--case", "one"]
    assert main(["verify", *where, "--config", str(config)]) == 2
    assert f"config.json: {place}: " in capsys.readouterr().err


def half(_metric: Any, actual: list[Any], expected: list[Any], _scenario: Any) -> EvaluationResult:
    """A metric of somebody's own, which compares as many turns as there are."""
    assert len(actual) == len(expected)
    return EvaluationResult(overall_score=0.5, overall_eval_status=EvalStatus.PASSED)


@pytest.mark.long
def test_tolerances_are_proposed_and_kept(
    kept: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With them the agent passes that differs from run to run, and `adk eval` is told of them."""
    eval_set, config = copied_set(kept, tmp_path), tmp_path / "config.json"
    varied = ("return calls(tool, order=order)", "return calls(tool, order=f'{order}-{next(runs)}')")
    counted = (
        "class Clerk(BaseLlm):",
        "import itertools\nruns = itertools.count(1)\n\n\nclass Clerk(BaseLlm):",
    )
    where = [str(eval_set), "--agents-dir", str(agents(tmp_path, counted, varied))]
    assert main(["verify", *where, "--runs", "3", "--propose-tolerances"]) == 0
    assert "tolerances of one:\n    {" in capsys.readouterr().out
    assert main(["verify", *where]) == 1
    more = ["--keep-tolerances", "--write-eval-config", str(config), "--json"]
    assert main(["verify", *where, "--runs", "3", *more]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["tolerances"]["two"][0]["kind"] == "regex"
    assert json.loads(config.read_text())["criteria"]["tolerant_trajectory"]["threshold"] == 1.0
    assert main(["verify", *where]) == 0
    assert main(["verify", *where, "--exactly"]) == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["SET", "--case", "three"], "'three'"),
        (["SET", "--match", "some"], "argument --match: "),
        (["none.evalset.json"], "none.evalset.json: "),
        (["SET", "--junit", "/nowhere/at/all.xml"], "/nowhere/at/all.xml: "),
        (["SET", "--agent", "nobody"], "'nobody'"),
    ],
)
def test_what_cannot_be_done_ends_with_2(
    kept: Path, tmp_path: Path, arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """And says why, on the standard error."""
    given = [str(kept) if each == "SET" else each for each in arguments]
    try:
        code = main(["verify", *given, "--agents-dir", str(agents(tmp_path))])
    except SystemExit as end:  # as argparse ends
        code = int(end.code or 0)
    assert code == 2
    assert words in capsys.readouterr().err


def test_a_set_in_the_old_form_is_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As the other commands read it: its turns alone, which ADK's own loader stumbles over, are a case too."""
    turn = {"query": "check A", "expected_tool_use": [], "reference": "It is here."}
    path = tmp_path / "old.test.json"
    path.write_text(json.dumps([turn]))
    assert main(["verify", str(path)]) == 2
    written = capsys.readouterr()
    assert "ERROR old\n" in written.out
    assert "KeyError" not in written.out + written.err


@pytest.mark.parametrize(
    ("content", "reason", "hint"),
    [
        ('{"evalSetId": "a", "evalCases": []}', "'evalSetId'", "doctor --fix PATH`"),
        ('[{"name": "a"}]', "list", "doctor PATH`"),
        ('{"eval_set_id": ', "valid JSON", "doctor PATH`"),
    ],
)  # fmt: skip
def test_a_set_that_cannot_be_read_is_sent_to_the_doctor(
    tmp_path: Path, content: str, reason: str, hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The reason is told exactly, and whether the doctor mends it; what it mends can be verified then."""
    path = tmp_path / "a set.evalset.json"
    path.write_text(content)
    assert main(["verify", str(path)]) == 2
    told = capsys.readouterr().err
    assert reason in told
    assert f"`golden-trace {hint.replace('PATH', shlex.quote(str(path)))}" in told
    if "--fix" in hint:
        main(["doctor", "--fix", str(path)])
        main(["verify", str(path)])
        assert "error" not in capsys.readouterr().err


def test_only_commands_that_there_are_can_be_run(capsys: pytest.CaptureFixture[str]) -> None:
    """The usage names them."""
    assert [main([]), main(["verity"]), main(["--help"])] == [2, 2, 0]
    written = capsys.readouterr()
    assert "unknown command 'verity'" in written.err
    assert "verify" in written.out


def started(*arguments: str | Path) -> subprocess.Popen[str]:
    """Start the command as a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "evalset", "verify", *map(str, arguments)],
        cwd=REPOSITORY,
        env=quiet_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.long
@pytest.mark.process
def test_an_interrupt_shows_what_was_done(kept: Path, tmp_path: Path) -> None:
    """Of many runs; the command ends with 130, and what it wrote is whole."""
    where = ("--agents-dir", str(agents(tmp_path)), "--processes", "1")
    with started(kept, "--runs", "100000", "--json", *where) as process:
        assert process.stderr is not None
        assert process.stderr.readline().startswith("1 of 200000: pass")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "interrupted" in err
    document = json.loads(out)
    assert (document["status"], [case["eval_id"] for case in document["cases"]]) == (
        "stopped",
        ["one", "two"],
    )


def test_a_repository_can_be_named_for_an_agent_deep_in_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its golden names the app, which is the last folder of its path; the doctor finds it there as well."""
    folder = agent(
        tmp_path / "python" / "agents", 'root_agent = LlmAgent(name="desk", model="gemini-2.5-flash")\n'
    )
    written = played(folder, {"say": "Hello.", "moves": [{"text": "Hello there."}]})
    assert verified(written, tmp_path) == 0
    capsys.readouterr()
    assert main(["doctor", str(written), "--agents-dir", str(tmp_path)]) == 0
    assert "skipped" not in capsys.readouterr().out
