"""Runs `python -m evalset verify`: what it writes, and its exit codes."""

from __future__ import annotations

import hashlib
import json
import re
import shlex
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from google.adk.evaluation.eval_metrics import EvalStatus
from google.adk.evaluation.evaluator import EvaluationResult

from evalset.recorded.recording_files import sidecar_of
from tests.evalset.ending import Ends
from tests.evalset.verify.desks import VARIED, agents, copied_set, recorded_set
from tests.evalset.verify.small_agents import agent, played, verified


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An eval set with two cases."""
    return recorded_set(tmp_path_factory.mktemp("kept"), {"one": ["check A"], "two": ["check B", "note B"]})


def test_all_pass(kept: Path, tmp_path: Path, ends: Ends) -> None:
    """Each case has a line, and who answered for the models is named."""
    written = ends(0, "verify", kept, "--agents-dir", agents(tmp_path), "--runs", "2")
    assert written.out.splitlines()[:3] == [
        "PASS one (2 of 2 runs)",
        "PASS two (2 of 2 runs)",
        "desk: with the agent's own model (all are reachable)",
    ]
    assert "2 passed, in" in written.out
    assert written.out.endswith("pass^1: 1.00\npass^2: 1.00\n")
    assert "4 of 4: pass" in written.err


def test_one_fails(kept: Path, tmp_path: Path, ends: Ends) -> None:
    """The divergence is told, and stands in the JUnit file and in JSON alone; the other case is chosen away. A blank of one that passes is named."""
    edited = copied_set(kept, tmp_path, ('"order": "A"', '"order": "Z\\u001b"'))
    whole = json.loads(sidecar_of(edited).read_text())
    whole["cases"]["two"]["turns"][0]["calls"][0]["author"]["blanks"] = ["$.status"]
    sidecar_of(edited).write_text(json.dumps(whole))
    results = tmp_path / "junit.xml"
    words = ("verify", edited, "--agents-dir", agents(tmp_path), "--junit", results, "--quiet")
    written = ends(1, *words)
    assert written.err == ""
    for line in (
        "FAIL one",
        '  golden: check({"order":"Z\\u001b"})',
        '  actual: check({"order":"A"})',
        "The golden was edited: ",
        "PASS two\n    turn 1: the response of check is blank at $.status\n",
    ):
        assert line in written.out
    suite = ET.parse(results).getroot()[0]  # noqa: S314 - it was written here
    assert (suite.attrib["tests"], suite.attrib["failures"]) == ("2", "1")
    assert "The golden was edited" in suite.findtext("testcase[@name='one']/failure", "")
    assert suite.find("testcase[@name='two']/failure") is None
    ends(0, *words, "--case", "two")
    document = json.loads(ends(1, *words, "--json").out)
    sums = {name: document[name] for name in ("status", "passed", "failed", "exit_code")}
    assert sums == {"status": "failed", "passed": 1, "failed": 1, "exit_code": 1}
    (one,), (two,) = (case["runs"] for case in document["cases"])
    assert one["divergence"]["verdict"] == "golden_stale"
    assert one["turns"]
    assert "turns" not in two


def test_a_difference_far_behind_is_shown(tmp_path: Path, ends: Ends) -> None:
    """Of long answers that begin alike the pieces are shown in which they differ."""
    long = {"status": "shipped", "about": "x" * 500, "by": "truck"}
    kept = recorded_set(tmp_path / "kept", {"one": ["check A"]}, {"check": long})
    edited = copied_set(kept, tmp_path / "edited", (f'{"x" * 500}"', f'{"x" * 490}yes"'))
    lines = ends(1, "verify", edited, "--agents-dir", agents(tmp_path), "--quiet").out.splitlines()
    (golden,) = (line for line in lines if line.startswith("      golden: check responded …x"))
    (actual,) = (line for line in lines if line.startswith("      actual: check responded …x"))
    assert 'xyes"' in golden
    assert "yes" not in actual
    (became,) = (line for line in lines if line.startswith("      about: "))
    assert 'xyes" became …' in became
    assert max(map(len, (golden, actual))) < 220


@pytest.mark.long
def test_the_json_carries_the_digests_of_what_was_measured(kept: Path, tmp_path: Path, ends: Ends) -> None:
    """Those of the set and the recording are what `sha256sum` gives; that of the agent's files is the same for the same files elsewhere."""

    def measured(folder: Path) -> dict[str, Any]:
        copy = copied_set(kept, folder)
        told = ends(0, "verify", copy, "--agents-dir", agents(folder), "--json").out
        found: dict[str, Any] = json.loads(told)["measured"]
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


def test_the_criteria_are_those_of_an_eval_config(kept: Path, tmp_path: Path, ends: Ends) -> None:
    """ADK's two, one of our own, and one that a replay cannot ask, which is named also in JUnit; an option stands above it."""
    edited = copied_set(kept, tmp_path, ('"order": "A"', '"order": "Z"'))
    config = tmp_path / "config.json"
    trajectory = {"threshold": 0.0, "match_type": "ANY_ORDER"}
    criteria = {"tool_trajectory_avg_score": trajectory, "hallucinations_v1": 0.5, "mine": 0.5, "broken": 1.0}
    named = {
        "mine": {"code_config": {"name": f"{__name__}.half"}},
        "broken": {"code_config": {"name": "no.such.place"}},
    }
    config.write_text(json.dumps({"criteria": criteria, "custom_metrics": named}))
    words = ("verify", edited, "--agents-dir", agents(tmp_path), "--case", "one", "--config", config)
    (case,) = json.loads(ends(1, *words, "--json").out)["cases"]
    found = {check["name"]: (check["status"], check["score"]) for check in case["runs"][0]["checks"]}
    assert found == {
        "tool_trajectory_avg_score": ("passed", 0.0),
        "final_session_state": ("passed", 1.0),
        "stored_tool_responses": ("passed", 1.0),
        "hallucinations_v1": ("skipped", None),
        "mine": ("passed", 0.5),
        "broken": ("error", None),
    }
    del criteria["mine"], criteria["broken"]
    config.write_text(json.dumps({"criteria": criteria}))
    for options, match in (((), "any_order"), (("--match", "exact", "--ignore-args"), "exact")):
        assert json.loads(ends(0, *words, *options, "--json").out)["criteria"]["match"] == match
    unknown = "not evaluated: hallucinations_v1: needs a judge model"
    assert unknown in ends(0, *words, "--junit", tmp_path / "found.xml").out
    assert unknown in (tmp_path / "found.xml").read_text()
    config.write_text("{")
    assert "not an EvalConfig" in ends(2, *words).err


OPENS = {"code_config": {"name": "webbrowser.open"}}
OF_PYTHON = {"criteria": {"mine": 0.5}, "custom_metrics": {"mine": OPENS}}


@pytest.mark.parametrize(
    ("document", "place"),
    [
        ({"tool_trajectory_avg_score": 1.0}, "criteria: "),
        ({"criteria": {}}, "criteria: "),
        ({"criteria": {"tool_trajectory_avg": 1.0}}, "criteria.tool_trajectory_avg: "),
        ({"criteria": {"hallucinations_v1": 0.5}}, "a replay can evaluate none of them"),
        (OF_PYTHON, "custom_metrics.mine.code_config.name: 'webbrowser.open'"),
    ],
    ids=["flat", "empty", "no such metric", "a judge alone", "a part of Python"],
)
def test_criteria_that_would_evaluate_nothing_are_refused(
    kept: Path, tmp_path: Path, document: dict[str, Any], place: str, ends: Ends
) -> None:
    """As `golden-trace eval` refuses them: what is not looked at has not passed. A metric is a function of the project."""
    config = tmp_path / "config.json"
    config.write_text(json.dumps(document))
    words = (kept, "--agents-dir", agents(tmp_path), "--case", "one", "--config", config)
    said = ends(2, "verify", *words).err
    assert "config.json" in said
    assert place in said


def half(_metric: Any, actual: list[Any], expected: list[Any], _scenario: Any) -> EvaluationResult:
    """A metric of somebody's own, which compares as many turns as there are."""
    assert len(actual) == len(expected)
    return EvaluationResult(overall_score=0.5, overall_eval_status=EvalStatus.PASSED)


@pytest.mark.long
def test_tolerances_are_proposed_and_kept(kept: Path, tmp_path: Path, ends: Ends) -> None:
    """With them the agent passes that differs from run to run, and `adk eval` is told of them."""
    eval_set, config = copied_set(kept, tmp_path), tmp_path / "config.json"
    words = ("verify", eval_set, "--agents-dir", agents(tmp_path, *VARIED))
    assert "tolerances of one:\n    {" in ends(0, *words, "--runs", "3", "--propose-tolerances").out
    ends(1, *words)
    more = ("--keep-tolerances", "--write-eval-config", config, "--json")
    told = ends(0, *words, "--runs", "3", *more).out
    assert json.loads(told)["tolerances"]["two"][0]["kind"] == "regex"
    assert json.loads(config.read_text())["criteria"]["tolerant_trajectory"]["threshold"] == 1.0
    ends(0, *words)
    ends(1, *words, "--exactly")


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
    kept: Path, tmp_path: Path, arguments: list[str], words: str, ends: Ends
) -> None:
    """And says why, on the standard error."""
    given = [kept if each == "SET" else each for each in arguments]
    assert words in ends(2, "verify", *given, "--agents-dir", agents(tmp_path)).err


@pytest.mark.parametrize("option", [(), ("--agent",)])
@pytest.mark.parametrize("named", ["desk", "agents/desk", "nobody"])
def test_an_agent_without_a_set_is_answered_with_the_commands_for_its_sets(
    named: str, option: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ends: Ends
) -> None:
    """Those in its folder, then those of its project; where there are none, that is said. A command with nothing has the same answer."""
    monkeypatch.chdir(tmp_path)
    assert "*.evalset.json" in ends(2, "verify", *option, named).err
    for path in ("agents/desk/one.evalset.json", "tests/eval/evalsets/two.evalset.json"):
        (tmp_path / path).parent.mkdir(parents=True)
        (tmp_path / path).write_text("{}")
    with_agent = f" --agent {named}" if option else ""
    told = re.findall(rf"`golden-trace verify (\S+){with_agent}`", ends(2, "verify", *option, named).err)
    assert [Path(each).name for each in told] == ["one.evalset.json", "two.evalset.json"]
    assert all(Path(each).is_file() for each in told)
    assert "`golden-trace verify agents/desk/one.evalset.json`" in ends(2, "verify").err


def test_a_set_in_the_old_form_is_read(tmp_path: Path, ends: Ends) -> None:
    """As the other commands read it: its turns alone, which ADK's own loader stumbles over, are a case too."""
    turn = {"query": "check A", "expected_tool_use": [], "reference": "It is here."}
    path = tmp_path / "old.test.json"
    path.write_text(json.dumps([turn]))
    written = ends(2, "verify", path)
    assert "ERROR old\n" in written.out
    assert "KeyError" not in written.out + written.err


A_SCENARIO = {
    "eval_id": "s",
    "conversation_scenario": {"starting_prompt": "hi", "conversation_plan": "ask"},
}


@pytest.mark.parametrize(
    ("content", "reason", "hint"),
    [
        ('{"evalSetId": "a", "evalCases": []}', "'evalSetId'", "doctor --fix PATH`"),
        ('[{"name": "a"}]', "list", "doctor PATH`"),
        ('{"eval_set_id": ', "valid JSON", "doctor PATH`"),
        (json.dumps({"eval_set_id": "a", "eval_cases": [A_SCENARIO | {"creation_timestamp": "2026-11-26T10:00:00Z"}]}), "cases.0.creation", "doctor --fix PATH`"),
    ],
)  # fmt: skip
def test_a_set_that_cannot_be_read_is_sent_to_the_doctor(
    tmp_path: Path, content: str, reason: str, hint: str, ends: Ends
) -> None:
    """The reason is told exactly, and whether the doctor mends it, by each command; what it mends can be verified then."""
    path = tmp_path / "a set.evalset.json"
    path.write_text(content)
    played = ("run", "order_desk", "--script", path, "--out", tmp_path / "new.evalset.json")
    exported = ("export", path, "--form", "pytest", "--out", tmp_path / "new")
    for command in (
        ("verify", path),
        ("eval", "order_desk", path),
        exported,
        *[played] * ("_cases" in content),
    ):
        told = ends(2, *command).err
        assert reason in told
        assert f"`golden-trace {hint.replace('PATH', shlex.quote(str(path)))}" in told
    if "--fix" in hint:
        ends(0, "doctor", "--fix", path)
        assert "error" not in ends(0, "verify", path).err


@pytest.mark.long
def test_a_repository_can_be_named_for_an_agent_deep_in_it(tmp_path: Path, ends: Ends) -> None:
    """Its golden names the app, which is the last folder of its path; the doctor finds it there as well."""
    folder = agent(
        tmp_path / "python" / "agents", 'root_agent = LlmAgent(name="desk", model="gemini-2.5-flash")\n'
    )
    written = played(folder, {"say": "Hello.", "moves": [{"text": "Hello there."}]})
    assert verified(written, tmp_path) == 0
    assert "skipped" not in ends(0, "doctor", written, "--agents-dir", tmp_path).out


COUNTS = """
from google.adk.models import BaseLlm, LlmResponse
from google.genai import types


class Counts(BaseLlm):
    told: int = 0

    async def generate_content_async(self, llm_request, stream=False):
        self.told += 1
        yield LlmResponse(content=types.ModelContent("word " * self.told))


root_agent = LlmAgent(name="small", model=Counts(model="counts"))
"""


def test_a_model_that_counts_in_itself_goes_on_from_turn_to_turn(tmp_path: Path, ends: Ends) -> None:
    """As it does in ADK; each run begins anew."""
    written = played(agent(tmp_path / "agents", COUNTS), {"say": "A"}, {"say": "B"}, agent="model")
    told = ends(0, "verify", written, "--agents-dir", tmp_path / "agents", "--runs", "2").out
    assert "PASS one (2 of 2 runs)" in told
