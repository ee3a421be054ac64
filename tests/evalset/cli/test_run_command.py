"""`python -m simulator run` plays a script, and its exit code says how that went; few tests start a process for it."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from evalset import EvalSetWriter, GoldenTraceBuilder
from evalset.cli.exit_codes import WORDS
from evalset.cli.simulator_program import main
from evalset.recorded.recording_files import read_environment
from simulator.agents import DEMOS
from simulator.scripts import script_of, write_script
from tests.harness.processes import REPOSITORY, quiet_environment, wait_until
from tests.harness.tiny_agent import write_tiny_agent
from tests.simulator.scripts.recording import record_demo

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


def changed_line(text: str) -> str:
    """Change the first value that a tool returns."""
    lines = text.splitlines(keepends=True)
    place = next(number for number, line in enumerate(lines) if line.startswith("    returns:")) + 1
    while not re.match(r"\s+(- )?\w+: \S", lines[place]):
        place += 1
    lines[place] = f"{lines[place].partition(':')[0]}: changed\n"
    return "".join(lines)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name == "order_desk" else pytest.mark.long) for name in DEMOS]
)
def test_a_recorded_session_gives_the_same_case_again(name: str, tmp_path: Path) -> None:
    """Record by hand, write the script, run it: the case is equal to the byte. Change a line, and it is not."""
    recorded, again, other = (tmp_path / f"{which}.evalset.json" for which in ("one", "two", "three"))
    with record_demo(name) as simulation:
        case = GoldenTraceBuilder(simulation.session, eval_id="case", confirmations="beside").build()
        EvalSetWriter(recorded, name).write_eval_case(case)
        text = write_script(script_of(simulation))
    file = tmp_path / "script.yaml"
    file.write_text(text)
    words = (name, "--script", file, "--out", again, "--eval-id", "case", "--strict")
    assert here(*words) == 0
    assert json.dumps(cases(again)) == json.dumps(cases(recorded))
    file.write_text(changed_line(text))
    assert here(name, "--script", file, "--out", other, "--eval-id", "case", "--no-replay") == 0
    assert cases(other) != cases(recorded)
    assert "changed" in other.read_text()


def test_each_step_is_told_and_nothing_else(
    script: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where no terminal is, there is a plain line for each step; none with --quiet. --json gives the result as an object."""
    out = tmp_path / "set.evalset.json"
    assert here("order_desk", "--script", script, "--out", out) == 0
    sent, answered = capsys.readouterr().err.splitlines()
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
    script: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], named: tuple[str, ...]
) -> None:
    """The exit code and the text say what is missing; the same command adds no second case, and completes the one as soon as it can."""
    out, environment = tmp_path / "set.evalset.json", tmp_path / "set.environment.json"
    words: tuple[str | Path, ...] = ("order_desk", "--script", script, "--out", out, *named)
    environment.write_text("{}")
    for _ in range(2):
        assert here(*words) == 4
        assert str(environment) in capsys.readouterr().err
    before = out.read_bytes()
    (case,) = cases(out)
    environment.unlink()
    assert here(*words) == 0
    assert out.read_bytes() == before
    assert set(read_environment(environment).cases) == {case["eval_id"]}
    assert here(*words) == (2 if named else 0)
    assert len(cases(out)) == (1 if named else 2)


def test_another_case_is_not_taken_for_the_one_that_waits(script: Path, tmp_path: Path) -> None:
    """What another script plays gets a case of its own, or is refused where that id is taken; the first one stays as it is."""
    out, environment = tmp_path / "set.evalset.json", tmp_path / "set.environment.json"
    environment.write_text("{}")
    assert here("order_desk", "--script", script, "--out", out, "--eval-id", "a") == 4
    environment.unlink()
    before = cases(out)
    script.write_text(script.read_text().replace("A-1002", "A-1001"))
    assert here("order_desk", "--script", script, "--out", out, "--eval-id", "a") == 2
    assert cases(out) == before
    assert here("order_desk", "--script", script, "--out", out, "--eval-id", "b") == 0
    assert cases(out)[0] == before[0]
    assert set(read_environment(environment).cases) == {"b"}


def test_on_a_terminal_one_line_changes_and_a_person_answers(tmp_path: Path) -> None:
    """Each step takes the place of the one before, and the call is asked for and answered there; nothing of the line is left."""
    script = tmp_path / "script.yaml"
    script.write_text(FINE.replace("generate", "ask"))
    ours, theirs = pty.openpty()
    words = command("order_desk", "--script", script, "--out", tmp_path / "set.evalset.json")
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
    (case,) = cases(tmp_path / "set.evalset.json")
    (response,) = case["conversation"][0]["intermediate_data"]["tool_responses"]
    assert response["response"] == {"status": "found"}


def test_without_an_answer_it_says_what_to_paste(
    tmp_path: Path, script: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 1, the file, the line, what waits, and a line that mends it; with that line it is done."""
    script.write_text(FINE.replace("generate", "ask"))
    out = tmp_path / "set.evalset.json"
    assert here("order_desk", "--script", script, "--out", out) == 1
    said = capsys.readouterr().err
    assert re.search(f"{script}: line 5: turns.0.moves: .*find_order", said)
    assert not out.exists()
    assert "not a terminal" in said
    snippet = said.partition("under turns.0.moves:\n")[2].partition("\nnothing was written")[0]
    assert snippet.startswith("- tool: find_order\n")
    indented = "".join(f"  {line}\n" for line in snippet.splitlines())
    # The snippet gives the answer; the agent's own model plays on.
    script.write_text(FINE.replace("generate", "fail\nagent: model") + "  moves:\n" + indented)
    assert here("order_desk", "--script", script, "--out", out, "--strict") == 0
    assert len(cases(out)) == 1


def test_lines_too_many_are_a_warning_or_with_strict_an_error(
    tmp_path: Path, script: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 0 with a warning, or 1; the line is named."""
    script.write_text(FINE + "environment:\n- tool: refund_order\n  returns: 1\n")
    out = tmp_path / "set.evalset.json"
    words = rf"{script}: line 7: environment.0: .*refund_order\(\)"
    assert here("order_desk", "--script", script, "--out", out, "--strict") == 1
    assert re.search(f"error: {words}", capsys.readouterr().err)
    assert not out.exists()
    assert here("order_desk", "--script", script, "--out", out) == 0
    assert re.search(f"warning: {words}", capsys.readouterr().err)
    assert len(cases(out)) == 1


def test_a_line_that_does_not_fit_is_named(
    tmp_path: Path, script: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 1, with the line and the reason."""
    script.write_text(FINE + "  moves:\n  - tool: find_order\n    later: true\n- confirm: true\n")
    assert here("order_desk", "--script", script, "--out", tmp_path / "set") == 1
    assert f"{script}: line 7: turns.0.moves.0: find_order " in capsys.readouterr().err
    script.write_text(FINE + "- confirm: true\n")
    assert here("order_desk", "--script", script, "--out", tmp_path / "set") == 1
    assert re.search(f"{script}: line 6: turns.1: .*confirm", capsys.readouterr().err)


@pytest.mark.parametrize(
    ("words", "text", "wanted"),
    [
        (["order_desk"], None, "script.yaml: "),
        (["order_desk"], "turns: [", "invalid YAML"),
        (["order_desk"], HEAD + "turns:\n- say: hi\n  moves:\n  - tool: x\n", "line 6: turns.0.moves.0: "),
        (["nobody"], FINE, "AGENT: .*'nobody'"),
        (["missing.py"], FINE, "AGENT: .*'missing.py'"),
        (["missing.module#x"], FINE, "AGENT: .*missing.module#x"),
        (["order_desk", "--eval-id", "a:b"], FINE, "--eval-id: .*'a:b'"),
        (["order_desk", "--eval-id", "taken"], FINE, "--eval-id: .*set.evalset.json.*'taken'"),
    ],
)  # fmt: skip
def test_bad_input_ends_with_2_before_anything_is_played(
    words: list[str], text: str | None, wanted: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The file, the line, the agent, the eval set or the eval id is named, and no step was made."""
    file, out = tmp_path / "script.yaml", tmp_path / "set.evalset.json"
    if "taken" in words:
        file.write_text(FINE)
        assert here("order_desk", "--script", file, "--out", out, "--eval-id", "taken") == 0
        capsys.readouterr()
    if text is not None:
        file.write_text(text)
    assert here(*words, "--script", file, "--out", out) == 2
    said = capsys.readouterr().err
    assert re.search(wanted, said)
    assert "turn 1 of" not in said


def test_an_eval_set_that_is_broken_is_bad_input(
    tmp_path: Path, script: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """And so is a script that is no text; both stay as they are."""
    out = tmp_path / "set.evalset.json"
    out.write_text("{")
    assert here("order_desk", "--script", script, "--out", out) == 2
    assert f"--out: {out}" in capsys.readouterr().err
    assert out.read_text() == "{"
    script.write_bytes(b"\xff")
    assert here("order_desk", "--script", script, "--out", out) == 2
    assert "not UTF-8 text" in capsys.readouterr().err


def test_an_agent_that_fails_ends_with_3(
    tmp_path: Path, script: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A turn that ended with an error; and one that gave nothing that a trace could hold."""
    script.write_text(FINE + "  moves:\n  - tool: find_order\n    raises: 'ValueError: broken'\n")
    assert here("order_desk", "--script", script, "--out", tmp_path / "set") == 3
    assert re.search("turn 1 .*ValueError: broken", capsys.readouterr().err)
    script.write_text(script.read_text() + "  ends: failed\n")
    assert here("order_desk", "--script", script, "--out", tmp_path / "set") == 3
    assert "ValueError: broken" in capsys.readouterr().err
    assert not (tmp_path / "set").exists()


def test_wrong_words_on_the_command_line_end_with_2(capsys: pytest.CaptureFixture[str]) -> None:
    """As argparse has it, with the usage; and the help tells the exit codes."""
    for words in ([], ["run"], ["run", "order_desk", "--script"], ["walk"]):
        with pytest.raises(SystemExit) as caught:
            main(words)
        assert caught.value.code == 2
    with pytest.raises(SystemExit) as asked:
        main(["run", "--help"])
    assert asked.value.code == 0
    assert "130 interrupted" in capsys.readouterr().out


def test_an_interrupt_ends_with_130_and_writes_nothing(tmp_path: Path, script: Path) -> None:
    """Also while a call hangs."""
    rule = "[{rule_id: hang, tool_name: find_order, effect: {kind: hang}}]"
    script.write_text(FINE + f"rules: {rule}\n")
    out, log = tmp_path / "set.evalset.json", tmp_path / "log"
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
from evalset.cli.exit_codes import end_when_interrupted

end_when_interrupted()
while True:
    try:
        print("ready", flush=True)
        input()
    except KeyboardInterrupt:
        print("swallowed", flush=True)
"""


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
            assert process.stderr.read() == f"\n{WORDS}\n"
            assert process.wait(timeout=60) == 130
        finally:
            process.kill()


def test_agents_come_from_folders_and_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A folder of one agent, a folder of several with `#name`, and a file of configs; nothing real runs."""
    for name in ("run_adder", "run_other"):
        write_tiny_agent(tmp_path / "agents", name)
    (tmp_path / "run_mine.py").write_text(
        "from simulator import demo_agent\nfrom dataclasses import replace\n"
        "AGENTS = [replace(demo_agent('order_desk'), name='Desk'), demo_agent('travel_planner')]\n"
    )
    script = tmp_path / "script.yaml"
    script.write_text(
        HEAD
        + "agent: [{calls: [{name: add}]}, {text: Three.}]\nturns:\n- say: 1 and 2\n  moves: [{tool: add, returns: 3}]\n"
    )
    out, agents = tmp_path / "set.evalset.json", tmp_path / "agents"
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
