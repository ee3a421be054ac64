"""`python -m simulator run` plays a script, and its exit code says how that went; few tests start a process for it."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evalset.cli.main import simulator_main as main
from evalset.recorded.recording_files import read_environment, sidecar_of
from tests.evalset.ending import Ends
from tests.harness.processes import REPOSITORY, quiet_environment
from tests.harness.tiny_agent import write_tiny_agent

HEAD = "format: golden-trace-studio/script\nversion: 1\n"
FINE = HEAD + 'otherwise: generate\nturns:\n- say: "Where is order A-1002?"\n'


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
def said(script: Path, out: Path, ends: Ends) -> Callable[..., str]:
    """Runs that script, which has to end with an exit code; returns what is said on the standard error."""

    def run(
        code: int, *words: object, agent: object = "order_desk", script: Path = script, to: Path = out
    ) -> str:
        command = ("run", "--verbose", agent, "--script", script, "--out", to, *words)
        return ends(code, *command, program=main).err

    return run


def test_an_agent_without_its_variable_is_authored_verified_and_evaluated(
    tmp_path: Path, ends: Ends, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It fails to load without, and is loaded with a placeholder each time, which is said; also by the process of `adk eval`, which takes a folder that no app can be named like."""
    folder = write_tiny_agent(tmp_path, "1_adder")
    source = (
        (folder / "agent.py").read_text().replace('"""\n\n', '"""\nimport os\nos.environ["DESK_KEY"]\n', 1)
    )
    (folder / "agent.py").write_text(
        source.replace("import os\n", "from __future__ import annotations\nimport os\n", 1)
    )
    script, out = tmp_path / "script.yaml", folder / "set.evalset.json"
    script.write_text(HEAD + 'otherwise: generate\nturns:\n- say: "add 2 and 3"\n')
    assert (
        "Or give DESK_KEY any value"
        in ends(2, "run", folder, "--script", script, "--out", out, program=main).err
    )
    monkeypatch.setenv("GOLDEN_TRACE_PLACEHOLDER_CREDENTIALS", "1")
    assert "DESK_KEY" in ends(0, "run", folder, "--script", script, "--out", out, program=main).err
    assert "DESK_KEY" in ends(0, "verify", out).out
    assert "1 of 1 passed" in ends(0, "eval", folder, out).out
    assert "DESK_KEY" not in os.environ
    script.write_text(script.read_text() + "  moves: [{agent: adder, calls: [{tool: add}]}]\n")
    said = ends(2, "run", folder, "--script", script, "--out", out, program=main).err
    assert "calls.0.tool: unknown field\n" in said


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
    words = [
        sys.executable,
        "-m",
        "simulator",
        "run",
        "order_desk",
        "--script",
        str(script),
        "--out",
        str(out),
    ]
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


@pytest.mark.long
def test_without_an_answer_it_says_what_to_paste(script: Path, out: Path, said: Callable[..., str]) -> None:
    """Exit code 1, the file, the line, what waits, and a line that mends it; with that line it is done."""
    script.write_text(FINE.replace("generate", "ask"))
    told = said(1)
    assert re.search(f"{script}: line 5: turns.0.moves: .*find_order", told)
    assert not out.exists()
    assert "not a terminal" in told
    pasted = "".join(f"  {line}\n" for line in lines_of(told).splitlines())
    assert pasted.startswith("  moves:\n  - tool: find_order\n")
    # The lines give the answer; the agent's own model plays on.
    script.write_text(FINE.replace("generate", "fail\nagent: model") + pasted)
    said(0, "--strict")
    assert len(cases(out)) == 1
    # A rule stands for the tool, also where the tool's own code ends the turn: then the rule has to say so.
    called = "  moves:\n  - calls: [{name: find_order, args: {order_id: A-1002}}]\n"
    ruled = (
        FINE.replace("generate", "fail\nagent: person")
        + called
        + "environment: [{tool: find_order, returns: {}}]\n"
    )
    script.write_text(ruled)
    told = said(1)
    assert "the response of find_order" in told
    (ends,) = re.findall("`(actions: .*?)`", told)
    script.write_text(ruled.replace("returns: {}", f"returns: {{}}, {ends}"))
    said(0, "--strict", to=out.with_name("ended.evalset.json"))


def lines_of(told: str) -> str:
    """Return the lines that are to be pasted."""
    return re.split("(?:other keys|under turns.*):\n", told)[1].partition("\nnothing was written")[0]


def test_moves_that_a_person_writes_are_told_apart_from_the_agents_own(
    script: Path, out: Path, said: Callable[..., str], ends: Ends
) -> None:
    """What is pasted makes a golden; where the agent's own model does something else, nobody says that the agent changed."""
    script.write_text(HEAD + "agent: person\nturns:\n- say: Where is order A-1002?\n")
    lines = lines_of(said(1))
    assert "calls: [{name: find_order, args: {order_id: ...}}]" in lines
    script.write_text(script.read_text() + "".join(f"  {line}\n" for line in lines.splitlines()))
    said(0, "--strict", "--eval-id", "a")
    written = ends(1, "verify", out, "--quiet").out
    assert "The agent and the written moves differ: The agent calls find_order" in written
    assert "--models recorded" in written
    ends(0, "verify", out, "--quiet", "--models", "recorded")
    assert "wrote moves of a, and --models recorded" in ends(1, "eval", "order_desk", out, "--quiet").out


@pytest.mark.long
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
    script: Path, out: Path, said: Callable[..., str], ends: Ends
) -> None:
    """A warning, or with `--strict` an error: a model may call so. Verify passes it, and the doctor says that the declaration was the same."""
    moves = "  moves:\n  - calls: [{name: find_order, args: {number: 7}}]\n  - text: Here.\n"
    script.write_text(FINE.replace("generate", "generate\nagent: person") + moves)
    words = rf"{script}: line \d: turns.0.moves.0: the tool 'find_order' does not accept these arguments: .*order_id"
    assert re.search(f"error: {words}", said(1, "--strict"))
    assert not out.exists()
    assert re.search(f"warning: {words}", said(0))
    files = json.loads(ends(0, "doctor", out, "--agent", "order_desk", "--json").out)["files"]
    found = [each for file in files for each in file["findings"] if each["code"] == "refused-arguments"]
    assert [each["severity"] for each in found] == ["warning"] * 2  # in the set, and in the recording


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ('{name: find_order, args: {order_id: ""}}', "'find_order' .*order_id: is empty"),
        (
            "{name: find_order, args: {order_id: A-1, colour: red}}",
            "'colour' is unknown: its value .* dropped",
        ),
        ("{name: nosuch, args: {}}", "no tool 'nosuch'"),
    ],
)
def test_a_call_that_nobody_means_is_named(
    script: Path, out: Path, said: Callable[..., str], call: str, words: str
) -> None:
    """A required text that is empty, an argument that ADK drops, and a tool that the agent does not have: a warning, or with `--strict` an error."""
    moves = f"  moves:\n  - calls: [{call}]\n  - text: Here.\n"
    script.write_text(FINE.replace("generate", "generate\nagent: person") + moves)
    assert re.search(f"error: .*turns.0.moves.0: .*{words}", said(1, "--strict"))
    assert not out.exists()
    assert re.search(f"warning: .*turns.0.moves.0: .*{words}", said(0))


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
        (["order_desk"], "\udcff", "not UTF-8 text"),
        (["order_desk"], "turns: [", "invalid YAML"),
        (["order_desk"], HEAD + "turns:\n- say: hi\n  moves:\n  - tool: x\n", "line 6: turns.0.moves.0: "),
        (["missing.py"], FINE, "AGENT: .*'missing.py'"),
        (["missing.module#x"], FINE, "AGENT: .*missing.module#x"),
        (["order_desk", "--eval-id", "a:b"], FINE, "--eval-id: .*'a:b'"),
        (["order_desk", "--eval-id", "taken"], FINE, "--eval-id: .*set.evalset.json.*'taken'"),
        (["order_desk", "--out", "broken.json"], FINE, "--out: .*broken.json"),
    ],
)  # fmt: skip
def test_bad_input_ends_with_2_before_anything_is_played(
    words: list[str], text: str | None, wanted: str, *, here: Path, script: Path, said: Callable[..., str]
) -> None:
    """The file, the line, the agent, the eval set or the eval id is named, and no step was made."""
    if "taken" in words:
        said(0, "--eval-id", "taken")
    (here / "broken.json").write_text("{")
    if text is None:
        script.unlink()
    else:
        script.write_bytes(os.fsencode(text))
    agent, *options = words
    told = said(2, *options, agent=agent)
    assert re.search(wanted, told)
    assert "turn 1 of" not in told
    assert (here / "broken.json").read_text() == "{"


def test_an_agent_that_fails_ends_with_3(script: Path, out: Path, said: Callable[..., str]) -> None:
    """A turn that ended with an error; and one that gave nothing that a trace could hold."""
    fails = "  moves:\n  - tool: find_order\n    raises: 'ValueError: broken'\n"
    for more, words in (("", "turn 1 .*ValueError: broken"), ("  ends: failed\n", "ValueError: broken")):
        script.write_text(FINE + fails + more)
        assert re.search(words, said(3))
    assert not out.exists()


def test_agents_come_from_folders_and_files(
    tmp_path: Path, script: Path, out: Path, said: Callable[..., str]
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
        said(0, "--eval-id", case, agent=place)
    final = [case["conversation"][0]["final_response"]["parts"][0]["text"] for case in cases(out)]
    assert final == ["Three."] * 2
    assert re.search(f"AGENT: {agents} .*#run_adder, #run_other", said(2, agent=agents))
    script.write_text(FINE)
    said(0, agent=f"{tmp_path / 'run_mine.py'}#Desk")
    assert len(cases(out)) == 3


def test_a_golden_trace_is_played_from_its_eval_set(
    out: Path, tmp_path: Path, said: Callable[..., str]
) -> None:
    """Alone without a word, among several by its id."""
    again: Any = {"script": out, "to": tmp_path / "two.evalset.json"}
    said(0, "--eval-id", "first")
    said(0, "--eval-id", "again", "--strict", **again)
    said(0, "--eval-id", "second")
    assert re.search("--case.*first, second", said(2, **again))
    assert "'third'" in said(2, "--case", "third", **again)
    said(0, "--case", "second", **again)
