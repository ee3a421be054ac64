"""`python -m simulator run` plays a script, and its exit code says how that went; few tests start a process for it."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evalset.cli.exit_codes import WORDS
from evalset.cli.main import main as golden_trace
from evalset.cli.simulator_program import main
from evalset.recorded.recording_files import read_environment, sidecar_of
from tests.harness.processes import REPOSITORY, quiet_environment, wait_until
from tests.harness.tiny_agent import write_tiny_agent

HEAD = "format: golden-trace-studio/script\nversion: 1\n"
FINE = HEAD + 'otherwise: generate\nturns:\n- say: "Where is order A-1002?"\n'


def command(*words: str | Path) -> list[str]:
    """Return the command line."""
    return [sys.executable, "-m", "simulator", "run", *map(str, words)]


def here(*words: str | Path) -> int:
    """Run the command in this process."""
    return main(["run", "--verbose", *map(str, words)])


def cases(path: Path) -> list[Any]:
    """Return the cases of an eval set."""
    found: list[Any] = json.loads(path.read_text())["eval_cases"]
    return found


@pytest.fixture
def script(tmp_path: Path) -> Path:
    """A file with a script that the order desk plays well."""
    path = tmp_path / "script.yaml"
    path.write_text(FINE)
    return path


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """Where the case is written."""
    return tmp_path / "set.evalset.json"


@pytest.fixture
def said(script: Path, out: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Runs that script, which has to end with an exit code; returns what is said on the standard error."""

    def run(code: int, *words: str, agent: str = "order_desk") -> str:
        assert here(agent, "--script", script, "--out", out, *words) == code
        return capsys.readouterr().err

    return run


@pytest.mark.long
def test_each_step_is_told_and_nothing_else(
    script: Path, out: Path, said: Callable[..., str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Where no terminal is, there is a plain line for each step; none with --quiet. --json gives the result as an object."""
    sent, answered = said(0).splitlines()
    assert sent.startswith("turn 1 of 1: ")
    assert answered.startswith("turn 1 of 1: find_order ")
    assert here("order_desk", "--script", script, "--out", out, "--quiet", "--json", "--eval-id", "b") == 0
    shown = capsys.readouterr()
    assert shown.err == ""
    result = json.loads(shown.out)
    assert (result["path"], result["eval_id"], result["turns"]) == (str(out), "b", 1)
    assert (result["leftovers"], result["problems"]) == ([], [])
    assert "b" in read_environment(result["environment"]).cases


@pytest.mark.parametrize("named", [(), ("--eval-id", "a")])
def test_a_case_without_its_environment_is_completed_by_another_run(
    out: Path, said: Callable[..., str], named: tuple[str, ...]
) -> None:
    """The exit code and the text say what is missing; the same command adds no second case, and completes the one as soon as it can."""
    environment = sidecar_of(out)
    environment.write_text("{}")
    for _ in range(2):
        assert str(environment) in said(4, *named)
    before = out.read_bytes()
    (case,) = cases(out)
    environment.unlink()
    said(0, *named)
    assert out.read_bytes() == before
    assert set(read_environment(environment).cases) == {case["eval_id"]}
    said(2 if named else 0, *named)
    assert len(cases(out)) == (1 if named else 2)


def test_another_case_is_not_taken_for_the_one_that_waits(
    script: Path, out: Path, said: Callable[..., str]
) -> None:
    """What another script plays gets a case of its own, or is refused where that id is taken; the first one stays as it is."""
    environment = sidecar_of(out)
    environment.write_text("{}")
    said(4, "--eval-id", "a")
    environment.unlink()
    before = cases(out)
    script.write_text(script.read_text().replace("A-1002", "A-1001"))
    said(2, "--eval-id", "a")
    assert cases(out) == before
    said(0, "--eval-id", "b")
    assert cases(out)[0] == before[0]
    assert set(read_environment(environment).cases) == {"b"}


@pytest.mark.long
def test_on_a_terminal_one_line_changes_and_a_person_answers(script: Path, out: Path) -> None:
    """Each step takes the place of the one before, and the call is asked for and answered there; nothing of the line is left."""
    script.write_text(FINE.replace("generate", "ask"))
    ours, theirs = pty.openpty()
    words = command("order_desk", "--script", script, "--out", out)
    environment = quiet_environment(PYTHONPATH=str(REPOSITORY))
    with subprocess.Popen(
        words, cwd=REPOSITORY, env=environment, stdin=theirs, stdout=subprocess.DEVNULL, stderr=theirs
    ) as process:
        os.close(theirs)
        shown = b""
        try:
            while piece := os.read(ours, 4096):
                shown += piece
                if piece.endswith(b"(:help) > "):
                    os.write(ours, b"{status: found}\n")
        except OSError:  # so a terminal says that nobody writes to it any more
            pass
        assert process.wait(timeout=60) == 0
    os.close(ours)
    assert re.search(rb"\r\x1b\[Kturn 1 of 1: [^\r]+\r\x1b\[K", shown)
    assert b"find_order:" in shown
    assert b"Warning" not in shown
    (case,) = cases(out)
    (response,) = case["conversation"][0]["intermediate_data"]["tool_responses"]
    assert response["response"] == {"status": "found"}


def test_without_an_answer_it_says_what_to_paste(script: Path, out: Path, said: Callable[..., str]) -> None:
    """Exit code 1, the file, the line, what waits, and a line that mends it; with that line it is done."""
    script.write_text(FINE.replace("generate", "ask"))
    told = said(1)
    assert re.search(f"{script}: line 5: turns.0.moves: .*find_order", told)
    assert not out.exists()
    assert "not a terminal" in told
    snippet = told.partition("under turns.0.moves:\n")[2].partition("\nnothing was written")[0]
    assert snippet.startswith("- tool: find_order\n")
    indented = "".join(f"  {line}\n" for line in snippet.splitlines())
    # The snippet gives the answer; the agent's own model plays on.
    script.write_text(FINE.replace("generate", "fail\nagent: model") + "  moves:\n" + indented)
    said(0, "--strict")
    assert len(cases(out)) == 1


def test_lines_too_many_are_a_warning_or_with_strict_an_error(
    script: Path, out: Path, said: Callable[..., str]
) -> None:
    """Exit code 0 with a warning, or 1; the line is named."""
    script.write_text(FINE + "environment:\n- tool: refund_order\n  returns: 1\n")
    words = rf"{script}: line 7: environment.0: .*refund_order\(\)"
    assert re.search(f"error: {words}", said(1, "--strict"))
    assert not out.exists()
    assert re.search(f"warning: {words}", said(0))
    assert len(cases(out)) == 1


def test_a_call_that_its_tool_does_not_accept_is_named_everywhere(
    script: Path, out: Path, said: Callable[..., str], capsys: pytest.CaptureFixture[str]
) -> None:
    """A warning, or with `--strict` an error: a model may call so. Verify passes it, and the doctor says that the declaration was the same."""
    moves = "  moves:\n  - calls: [{name: find_order, args: {number: 7}}]\n  - text: Here.\n"
    script.write_text(FINE.replace("generate", "generate\nagent: person") + moves)
    words = rf"{script}: line \d: turns.0.moves.0: the tool 'find_order' does not accept these arguments: .*order_id"
    assert re.search(f"error: {words}", said(1, "--strict"))
    assert not out.exists()
    assert re.search(f"warning: {words}", said(0))
    assert golden_trace(["doctor", str(out), "--agent", "order_desk", "--json"]) == 0
    found = [
        each["severity"]
        for file in json.loads(capsys.readouterr().out)["files"]
        for each in file["findings"]
        if each["code"] == "refused-arguments"
    ]
    assert found == ["warning", "warning"]  # in the set, and in the recording


def test_a_line_that_does_not_fit_is_named(script: Path, said: Callable[..., str]) -> None:
    """Exit code 1, with the line and the reason."""
    script.write_text(FINE + "  moves:\n  - tool: find_order\n    later: true\n- confirm: true\n")
    assert f"{script}: line 7: turns.0.moves.0: find_order " in said(1)
    script.write_text(FINE + "- confirm: true\n")
    assert re.search(f"{script}: line 6: turns.1: .*confirm", said(1))


@pytest.mark.parametrize(
    ("words", "text", "wanted"),
    [
        (["order_desk"], None, "script.yaml: "),
        (["order_desk"], "turns: [", "invalid YAML"),
        (["order_desk"], HEAD + "turns:\n- say: hi\n  moves:\n  - tool: x\n", "line 6: turns.0.moves.0: "),
        (["missing.py"], FINE, "AGENT: .*'missing.py'"),
        (["missing.module#x"], FINE, "AGENT: .*missing.module#x"),
        (["order_desk", "--eval-id", "a:b"], FINE, "--eval-id: .*'a:b'"),
        (["order_desk", "--eval-id", "taken"], FINE, "--eval-id: .*set.evalset.json.*'taken'"),
    ],
)  # fmt: skip
def test_bad_input_ends_with_2_before_anything_is_played(
    words: list[str], text: str | None, wanted: str, script: Path, said: Callable[..., str]
) -> None:
    """The file, the line, the agent, the eval set or the eval id is named, and no step was made."""
    if "taken" in words:
        said(0, "--eval-id", "taken")
    if text is None:
        script.unlink()
    else:
        script.write_text(text)
    agent, *options = words
    told = said(2, *options, agent=agent)
    assert re.search(wanted, told)
    assert "turn 1 of" not in told


def test_an_eval_set_that_is_broken_is_bad_input(script: Path, out: Path, said: Callable[..., str]) -> None:
    """And so is a script that is no text; both stay as they are."""
    out.write_text("{")
    assert f"--out: {out}" in said(2)
    assert out.read_text() == "{"
    script.write_bytes(b"\xff")
    assert "not UTF-8 text" in said(2)


def test_an_agent_that_fails_ends_with_3(script: Path, out: Path, said: Callable[..., str]) -> None:
    """A turn that ended with an error; and one that gave nothing that a trace could hold."""
    script.write_text(FINE + "  moves:\n  - tool: find_order\n    raises: 'ValueError: broken'\n")
    assert re.search("turn 1 .*ValueError: broken", said(3))
    script.write_text(script.read_text() + "  ends: failed\n")
    assert "ValueError: broken" in said(3)
    assert not out.exists()


@pytest.mark.long
def test_an_interrupt_ends_with_130_and_writes_nothing(tmp_path: Path, script: Path, out: Path) -> None:
    """Also while a call hangs."""
    rule = "[{rule_id: hang, tool_name: find_order, effect: {kind: hang}}]"
    script.write_text(FINE + f"rules: {rule}\n")
    log = tmp_path / "log"
    with log.open("wb") as errors:
        process = subprocess.Popen(
            command("order_desk", "--script", script, "--out", out),
            cwd=REPOSITORY,
            env=quiet_environment(PYTHONPATH=str(REPOSITORY)),
            stdout=subprocess.DEVNULL,
            stderr=errors,
        )
    try:
        wait_until(lambda: "turn 1 of 1" in log.read_text(), what="the first step", seconds=60)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 130
    finally:
        process.kill()
        process.wait()
    assert log.read_text().endswith(f"{WORDS}\n")
    assert not out.exists()


_DEAF = """
from evalset.cli.exit_codes import as_program

def run():
    while True:
        try:
            print("ready", flush=True)
            input()
        except KeyboardInterrupt:
            print("swallowed", flush=True)

as_program(run)
"""


@pytest.mark.long
def test_an_interrupt_that_is_swallowed_ends_the_program_too() -> None:
    """An agent's code, or a library, may make nothing of it; then the process is ended."""
    process = subprocess.Popen(
        [sys.executable, "-c", _DEAF],
        cwd=REPOSITORY,
        env=quiet_environment(PYTHONPATH=str(REPOSITORY)),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            assert process.stdout.readline() == "ready\n"
            process.send_signal(signal.SIGINT)
            assert process.stdout.readline() == "swallowed\n"
            assert process.stderr.read() == "\ninterrupted\n"
            assert process.wait(timeout=60) == 130
        finally:
            process.kill()


def test_agents_come_from_folders_and_files(
    tmp_path: Path, script: Path, out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A folder of one agent, a folder of several with `#name`, and a file of configs; nothing real runs."""
    for name in ("run_adder", "run_other"):
        write_tiny_agent(tmp_path / "agents", name)
    (tmp_path / "run_mine.py").write_text(
        "from simulator import demo_agent\nfrom dataclasses import replace\n"
        "AGENTS = [replace(demo_agent('order_desk'), name='Desk'), demo_agent('travel_planner')]\n"
    )
    script.write_text(
        HEAD
        + "agent: [{calls: [{name: add}]}, {text: Three.}]\nturns:\n- say: 1 and 2\n  moves: [{tool: add, returns: 3}]\n"
    )
    agents = tmp_path / "agents"
    for place, case in ((f"{agents}/run_adder", "one"), (f"{agents}#run_other", "two")):
        assert here(place, "--script", script, "--out", out, "--eval-id", case) == 0
    assert [case["conversation"][0]["final_response"]["parts"][0]["text"] for case in cases(out)] == [
        "Three."
    ] * 2
    capsys.readouterr()
    assert here(agents, "--script", script, "--out", out) == 2
    assert re.search(f"AGENT: {agents} .*#run_adder, #run_other", capsys.readouterr().err)
    script.write_text(FINE)
    assert here(f"{tmp_path / 'run_mine.py'}#Desk", "--script", script, "--out", out) == 0
    assert len(cases(out)) == 3


def test_a_golden_trace_is_played_from_its_eval_set(
    tmp_path: Path, script: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Alone without a word, among several by its id; what is written says the same calls and answers."""
    recorded, again = tmp_path / "one.evalset.json", tmp_path / "two.evalset.json"
    assert here("order_desk", "--script", script, "--out", recorded, "--eval-id", "first") == 0
    assert here("order_desk", "--script", recorded, "--out", again, "--eval-id", "again", "--strict") == 0
    told = [
        [case["conversation"][0][part] for part in ("user_content", "final_response")]
        + [case["conversation"][0]["intermediate_data"]["tool_responses"][0]["response"]]
        for case in (*cases(recorded), *cases(again))
    ]
    assert told[0] == told[1]
    assert here("order_desk", "--script", script, "--out", recorded, "--eval-id", "second") == 0
    capsys.readouterr()
    words = ("order_desk", "--script", recorded, "--out", again)
    assert here(*words) == 2
    assert re.search("--case.*first, second", capsys.readouterr().err)
    assert here(*words, "--case", "third") == 2
    assert "'third'" in capsys.readouterr().err
    assert here(*words, "--case", "second") == 0
