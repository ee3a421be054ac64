"""Runs `python -m evalset doctor`: what it writes, and its exit codes."""

from __future__ import annotations

import codecs
import hashlib
import io
import json
import re
from contextlib import redirect_stdout
from pathlib import Path

import pytest

from evalset.cli.doctor_command import main
from evalset.cli.main import main as golden_trace
from evalset.doctor.model import CODES
from evalset.recorded.recording_files import read_environment
from simulator.facts import Returned
from tests.evalset.doctor.examples import (
    a_case,
    a_set,
    a_turn,
    an_environment,
    an_event,
    events,
    in_bytes,
    put,
)
from tests.evalset.doctor.pitfalls import ENVIRONMENT, SET
from tests.harness.tiny_agent import write_agent

AGENT = '''
from google.adk.agents import LlmAgent


def look_up(order: str) -> dict[str, str]:
    """Look an order up."""
    return {}


root_agent = LlmAgent(name="desk", model="none", tools=[look_up])
'''


def run(code: int, *words: str | Path) -> str:
    """Run the command, which has to end with an exit code; return what it writes."""
    out = io.StringIO()
    with redirect_stdout(out):
        ended = main([str(word) for word in words])
    assert ended == code, out.getvalue()
    return out.getvalue()


def an_agent(folder: Path, tool: str = "look_up") -> Path:
    """Write an agent with one tool."""
    return write_agent(folder, AGENT.replace("look_up", tool).replace('"desk"', f'"{folder.name}"'))


def a_call_of(folder: Path, tool: str, **session: str) -> Path:
    """Write a set with a case that calls a tool."""
    folder.mkdir(parents=True, exist_ok=True)
    uses = [{"name": tool, "args": {"order": "A-1"}}]
    case = a_case("one", a_turn(intermediate_data={"tool_uses": uses}))
    case["session_input"] = {"user_id": "user", **session} if session else None
    path = folder / SET
    path.write_bytes(in_bytes(a_set(case)))
    return path


def test_the_nearest_agent_above_a_set_is_its_agent(tmp_path: Path) -> None:
    """A set is checked against the agent in whose folder it lies, also where that lies in another agent's folder."""
    outer = an_agent(tmp_path / "outer", "find")
    inner = an_agent(outer / "parts" / "inner", "look_up")
    part = outer / "helper"  # a module of the outer agent, from which ADK loads no agent
    part.mkdir()
    (part / "agent.py").write_text("helper = None\n")
    a_call_of(inner / "evals", "look_up")
    a_call_of(part, "find")
    a_call_of(outer / "tests", "find", app_name="outer")
    for agents_dir in (outer, tmp_path):
        assert json.loads(run(0, tmp_path, "--agents-dir", agents_dir, "--json"))["skipped"] == []
    a_call_of(inner / "evals", "find", app_name="inner")
    a_call_of(part, "look_up")
    files = json.loads(run(1, tmp_path, "--agents-dir", outer, "--json"))["files"]
    errors = [each for file in files for each in file["findings"] if each["severity"] == "error"]
    assert {(Path(each["file"]).parent.name, each["code"]) for each in errors} == {
        ("evals", "unknown-tool"),
        ("helper", "unknown-tool"),
    }


def test_an_own_tool_with_the_name_of_one_of_adks_is_a_tool(tmp_path: Path) -> None:
    """It is recorded, checked and replayed like any other; an agent without such a tool cannot call it."""
    desk, other = an_agent(tmp_path / "agents" / "desk", "exit_loop"), an_agent(tmp_path / "agents" / "other")
    call = {"id": "c", "name": "exit_loop", "args": {"order": "A-1"}}
    answer = {"id": "c", "name": "exit_loop", "response": {"status": "stopped"}}
    parts = [{"function_call": call}, {"function_response": answer}]
    turn = a_turn(intermediate_data=events(*(an_event(part) for part in parts)))
    (tmp_path / "held.evalset.json").write_bytes(in_bytes(a_set(a_case("one", turn))))
    made = desk / SET
    assert golden_trace(["import", str(tmp_path / "held.evalset.json"), "--out", str(made)]) == 0
    (recorded,) = read_environment(desk / ENVIRONMENT).cases["one"].turns[0].calls
    assert recorded.outcome == Returned(value={"status": "stopped"})
    assert golden_trace(["verify", str(made), "--models", "recorded"]) == 0
    told = run(0, made, "--agents-dir", tmp_path / "agents")
    assert "environment-calls-differ" not in told
    assert "unknown-tool" not in told
    assert "unknown-tool" in run(1, made, "--agent", other)


def test_exit_codes_are_for_ci(tmp_path: Path) -> None:
    """0 for a clean file, 1 for errors, 0 for warnings unless they count, 2 for what is not there."""
    clean, warned, wrong = (tmp_path / name for name in ("a", "b", "c"))
    for folder, content in ((clean, a_set()), (warned, a_set(version=1)), (wrong, a_set(a_case(), a_case()))):
        folder.mkdir()
        put(folder, {SET: in_bytes(content)})
    for code, words in (
        (0, [clean, "--strict"]),
        (0, [clean, warned]),
        (1, [warned, "--strict"]),
        (1, [clean, warned, wrong]),
    ):
        run(code, *words)
    (tmp_path / "empty").mkdir()
    for name in ("none", "empty"):
        told = run(2, tmp_path / name)
        assert told.startswith(f"not read: {tmp_path / name}")
        assert told.endswith("0 files checked\n")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "doctor PATH"),
        (["x", "--only", "damaged-jsn"], "--only: .*'damaged-jsn'.*did you mean damaged-json"),
        (["x", "--rename-tool", "a"], "--rename-tool a: .*OLD=NEW"),
        (["x", "--rename-tool", "a=b", "--rename-tool", "a=c"], "--rename-tool a=c: .*OLD=NEW"),
        (["x", "--rename-argument", "a=b"], "--rename-argument a=b: .*TOOL.OLD=NEW"),
        (["x", "--drop-argument", "a"], "--drop-argument a: .*TOOL.NAME"),
        (["x", "--drop-argument", "a.b=c"], "--drop-argument a.b=c: .*TOOL.NAME"),
        (["x", "--set-argument", "a.b"], "--set-argument a.b: .*TOOL.NAME=JSON"),
        (["x", "--set-argument", "a.b=c"], "--set-argument a.b: 'c'"),
        (["x", "--set-argument", "a.b=1", "--drop-argument", "a.b"], r"a\.b"),
        (["x", "--agents-dir", "/nowhere/at/all"], "/nowhere/at/all"),
    ],
)
def test_words_that_make_no_sense_end_with_2(
    words: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The error names the flag and how it is written; nothing is read."""
    run(2, *words)
    assert re.search(told, capsys.readouterr().err)


def test_each_finding_is_told_with_its_place_and_remedy(tmp_path: Path) -> None:
    """As compilers tell theirs, so that editors find the place; control characters of a file never reach the terminal."""
    roleless = a_turn(user_content={"parts": [{"text": "x"}]}, **{"no\x1b[31mtes": 1})
    put(tmp_path, {SET: in_bytes(a_set(a_case("one", roleless)))})
    told = run(1, tmp_path)
    assert f"{tmp_path / SET}:10:11: warning missing-role: " in told
    assert "    at eval_cases[0].conversation[0].user_content" in told
    assert re.search("    --fix .*'user'", told)
    assert "(discards " in told
    assert re.fullmatch("2 .*--fix", told.splitlines()[-1])
    assert "skipped: " in told
    assert "\x1b" not in told


def test_fix_mends_and_says_so(tmp_path: Path) -> None:
    """First shown, then done, then nothing is left to do."""
    text = codecs.BOM_UTF8 + in_bytes(a_set())
    put(tmp_path, {SET: text})
    told = run(1, tmp_path, "--fix", "--dry-run")
    assert "would be changed" in told
    assert "+++ orders.evalset.json (fixed)" in told
    assert (tmp_path / SET).read_bytes() == text
    assert re.search(f": changed.* {SET}.1.bak", run(0, tmp_path, "--fix"))
    assert run(0, tmp_path, "--fix").startswith("skipped: ")
    assert sorted(path.name for path in tmp_path.iterdir()) == [SET, f"{SET}.1.bak"]


def test_json_is_one_object(tmp_path: Path) -> None:
    """With the findings, what was skipped, and what was changed with its diff."""
    put(tmp_path, {SET: in_bytes(a_set(a_case("a:b")))})
    found = json.loads(run(0, tmp_path, "--fix", "--json"))
    assert found["files"][0]["kind"] == "eval set"
    assert found["files"][0]["findings"] == []
    assert found["skipped"]
    assert found["changes"][0]["written"]
    assert '+      "eval_id": "a_b",' in found["changes"][0]["diff"]
    assert [each["code"] for each in found["changes"][0]["mended"]] == ["unfit-eval-id"]
    (measured,) = found["measured"]["files"]
    assert measured["sha256"] == hashlib.sha256((tmp_path / SET).read_bytes()).hexdigest()


@pytest.mark.parametrize("tool", ["find_order", "look_up"])
def test_an_agents_folder_finds_calls_that_a_migration_makes_fit(tmp_path: Path, tool: str) -> None:
    """ADK's loader loads the agent; the tools and arguments that it has lost are named, and renamed over both files: of the tool by either name."""
    agents, data = an_agent(tmp_path / "agents" / "desk").parent, tmp_path / "data"
    data.mkdir()
    put(data, {SET: in_bytes(a_set()), ENVIRONMENT: in_bytes(an_environment())})
    told = run(1, data, "--agents-dir", agents)
    assert re.search("error unknown-tool: .*'desk'.*'find_order'", told)
    assert "skipped" not in told
    words = ["--rename-tool", "find_order=look_up", "--rename-argument", f"{tool}.order_id=order"]
    told = run(0, data, "--agents-dir", agents, *words)
    assert told.count(": changed") == 2
    assert re.search("migrated: .*'order_id'.*'find_order'.*'order'", told)
    assert re.search(r"^2 files checked: \D*$", told, re.MULTILINE)


def test_a_check_that_cannot_be_made_is_skipped(tmp_path: Path) -> None:
    """The rest is examined: the agent cannot be loaded; or a case is of none of several, and nobody guesses which one is meant."""
    words = (tmp_path / SET, "--agents-dir", an_agent(tmp_path / "agents" / "desk").parent)
    (tmp_path / "agents" / "desk" / "agent.py").write_text("raise RuntimeError('no network')\n")
    put(tmp_path, {SET: in_bytes(a_set())})
    assert re.search("skipped: .*'desk'.*no network", run(0, *words))
    an_agent(tmp_path / "agents" / "clerk")
    put(tmp_path, {SET: in_bytes(a_set(a_case(session_input={"app_name": "till", "user_id": "u"})))})
    assert re.search(f"skipped: .*{tmp_path / SET}.*'till'", run(0, *words))


def test_all_kinds_of_findings_are_listed() -> None:
    """With their severities."""
    assert [line.split()[0] for line in run(0, "--codes").splitlines()] == list(CODES)
