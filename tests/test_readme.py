"""Tests of the README: its script runs, and what it points to is there."""

from __future__ import annotations

import asyncio
import json
import re
import shlex
import zipfile
from pathlib import Path
from typing import Any

import pytest
from google.adk.evaluation.local_eval_sets_manager import load_eval_set_from_file
from google.adk.runners import InMemoryRunner

from evalset.__main__ import main as start
from evalset.command import main
from simulator import demo_agent

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text()


def blocks(language: str) -> list[str]:
    """Give the README's blocks of code in a language."""
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.DOTALL | re.MULTILINE)


def test_the_script_writes_a_case_that_adk_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Open, query, answer and export take at most 25 lines; the fault is in the trace, and the agent reacts."""
    script = blocks("python")[0]
    assert len(script.splitlines()) <= 25
    monkeypatch.chdir(tmp_path)
    exec(compile(script, "README.md", "exec"), {"__name__": "__main__"})  # noqa: S102 - the README's own words
    (case,) = load_eval_set_from_file("orders.evalset.json", "orders").eval_cases
    (turn,) = case.conversation or []
    data = turn.intermediate_data
    assert data is not None
    names = [call.name for call in getattr(data, "tool_uses", [])]
    assert names[:2] == ["find_order", "cancel_order"]
    assert set(names[2:]) == {"refund_order"}
    said = capsys.readouterr().out
    assert "The payment service is down" in said
    assert case.eval_id in said


def test_the_file_is_played_by_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file and the command stand in the README as they are run; the fault of the file is in the trace."""
    command, *others = re.findall(r"^python -m simulator (.*)$", "".join(blocks("sh")), re.MULTILINE)
    assert [other.split()[0] for other in others] == ["sessions", "script", "run"]
    monkeypatch.chdir(tmp_path)
    Path("refund.yaml").write_text(blocks("yaml")[0])
    assert main(["run", "--verbose", *shlex.split(command)[1:], "--strict"]) == 0
    (case,) = load_eval_set_from_file("orders.evalset.json", "orders").eval_cases
    assert case.eval_id == "refund_down"
    (turn,) = case.conversation or []
    data = turn.intermediate_data
    assert "The payment service is down." in str(getattr(data, "tool_responses", []))


def run(script: str) -> dict[str, Any]:
    """Run a block of code as a program; give its names."""
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(script, "README.md", "exec"), names)  # noqa: S102 - the README's own words
    return names


def test_what_the_command_recorded_is_replayed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the three lines in the agent's module, the refund fails as in the file, whoever asks."""
    command = re.findall(r"^python -m simulator (.*)$", "".join(blocks("sh")), re.MULTILINE)[0]
    monkeypatch.chdir(tmp_path)
    Path("refund.yaml").write_text(blocks("yaml")[0])
    assert main(["run", *shlex.split(command)[1:]]) == 0
    names: dict[str, Any] = {
        "root_agent": demo_agent("order_desk").root_agent,
        "__file__": str(tmp_path / "agent.py"),
    }
    exec(compile(blocks("python")[1], "README.md", "exec"), names)  # noqa: S102 - the README's own words
    said = InMemoryRunner(app=names["app"]).run_debug("Please cancel order A-1001 and refund me.", quiet=True)
    answers = [each for event in asyncio.run(said) for each in event.get_function_responses()]
    assert [answer.name for answer in answers][:2] == ["find_order", "cancel_order"]
    assert "The payment service is down." in str(answers[-1].response)


def test_the_plugin_answers_a_demo_agent(capsys: pytest.CaptureFixture[str]) -> None:
    """The order comes from the data, the refund fails by the rule, and the program prints what answered each call."""
    names = run(blocks("python")[2])
    said = capsys.readouterr().out
    calls = names["environment"].calls()
    assert [call.tool_name for call in calls][:2] == ["find_order", "cancel_order"]
    assert calls[0].response["total"] == 20.0
    assert {call.provenance.source for call in calls if call.tool_name == "refund_order"} == {"injected"}
    assert "refund_order" in said
    assert "The payment service is down." in said


def test_the_callback_answers_for_the_real_tool() -> None:
    """Called by hand twenty times, it fails sometimes, drafts else, and never calls the service."""
    agent = run(blocks("python")[3])["agent"]
    (tool,) = asyncio.run(agent.canonical_tools())
    callback = agent.before_tool_callback
    answers = [asyncio.run(callback(tool, {"user_id": "U-1"}, None)) for _ in range(20)]
    assert {answer.get("error_code") for answer in answers} == {503, None}


def test_the_simulated_tools_know_of_each_other() -> None:
    """What the heating was set to, the sensor reads, and the humidity is that of the beginning."""
    names = run(blocks("python")[4])

    async def play() -> tuple[Any, Any]:
        heating, sensor = names["tools"]
        context: Any = None
        done = await heating.run_async(args={"temperature": 72.0, "mode": "heat"}, tool_context=context)
        return done, await sensor.run_async(args={}, tool_context=context)

    _, sensed = asyncio.run(play())
    assert sensed == {"temperature": 72.0, "humidity": 45}
    assert len(names["simulator"].get_state("room")["previous_calls"]) == 2


def test_a_folder_of_sessions_becomes_a_pytest_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the eval set and its environment in one archive; what cannot be taken is printed."""
    (script,) = [block for block in blocks("python") if "import_cases" in block]
    monkeypatch.chdir(tmp_path)
    parts = {"user": "Hello.", "desk": "Good morning."}
    events = [{"author": who, "content": {"parts": [{"text": words}]}} for who, words in parts.items()]
    Path("sessions").mkdir()
    Path("sessions/chat.json").write_text(json.dumps({"id": "chat", "appName": "desk", "events": events}))
    Path("sessions/damaged.session.json").write_text("{")
    run(script)
    with zipfile.ZipFile("test_desk.zip") as archive:
        assert archive.namelist() == ["test_desk.py", "desk.evalset.json", "desk.environment.json"]
    assert "damaged.session.json: it is no JSON" in capsys.readouterr().out


def test_the_doctor_examines_mends_and_migrates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The commands stand in the README as they are run: a flaw is found, it is mended, and a renamed tool fits its agent."""
    commands = re.findall(r"^python -m evalset (doctor .*)$", "".join(blocks("sh")), re.MULTILINE)
    monkeypatch.chdir(tmp_path)
    agent = "from google.adk.agents import LlmAgent\ndef look_up(order: str): ...\n"
    Path("agents/readme_desk").mkdir(parents=True)
    Path("agents/readme_desk/agent.py").write_text(
        f"{agent}root_agent = LlmAgent(name='desk', tools=[look_up])\n"
    )
    call = {"name": "find_order", "args": {"order_id": "A-1"}}
    turn = {"user_content": {"parts": [{"text": "Where?"}]}, "intermediate_data": {"tool_uses": [call]}}
    case = {
        "eval_id": "one",
        "conversation": [turn],
        "session_input": {"app_name": "readme_desk", "user_id": "me"},
    }
    Path("evals").mkdir()
    Path("evals/orders.evalset.json").write_text(json.dumps({"eval_set_id": "orders", "eval_cases": [case]}))
    assert [start(shlex.split(command)) for command in commands] == [1, 0, 0]
    assert start(shlex.split(commands[0])) == 0
    said = capsys.readouterr().out
    assert said.count("unknown-tool") == 1
    assert said.count("orders.evalset.json.") == 2
    (mended,) = load_eval_set_from_file("evals/orders.evalset.json", "orders").eval_cases
    assert "look_up" in mended.model_dump_json()
    assert '"role":"user"' in mended.model_dump_json()


def test_everything_that_it_links_to_is_there() -> None:
    """Pictures and documents exist; each picture says what it shows."""
    links = re.findall(r"(!?)\[([^\]]*)\]\((?!https?:)([^)#]+)", README)
    assert {path for _, _, path in links} >= {"CONTRIBUTING.md", "CHANGELOG.md", "LICENSE"}
    for picture, text, path in links:
        assert (ROOT / path).is_file(), path
        assert not picture or len(text) > 10, path


def test_every_command_of_make_is_one_of_its_targets() -> None:
    """`make run` and the others are in the Makefile."""
    targets = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    told = {command for block in blocks("sh") for command in re.findall(r"^make (\w+)", block, re.MULTILINE)}
    assert {"run", "test"} <= told <= targets


def test_the_commands_verify_what_was_played(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The case that the README's script makes passes, as often and with whichever models the commands say."""
    command = next(re.finditer(r"^python -m simulator (.*)$", "".join(blocks("sh")), re.MULTILINE))[1]
    commands = re.findall(r"^python -m evalset (verify .*)$", "".join(blocks("sh")), re.MULTILINE)
    monkeypatch.chdir(tmp_path)
    Path("refund.yaml").write_text(blocks("yaml")[0])
    assert main(shlex.split(command)) == 0
    assert [start(shlex.split(each)) for each in commands] == [0, 0, 0]
    said = capsys.readouterr().out
    assert "PASS refund_down (3 of 3 runs)" in said
    assert 'failures="0"' in Path("results.xml").read_text()
