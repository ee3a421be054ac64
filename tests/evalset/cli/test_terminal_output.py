"""What a terminal shows and what is written into files: no command fails for an encoding, and none overwrites a file of another kind."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Callable
from contextlib import closing, redirect_stdout
from pathlib import Path

import pytest

from evalset import __main__ as module_program
from evalset.cli.command_frame import Kind, UsageError, write_output
from evalset.cli.main import main, simulator_main
from evalset.cli.terminal_output import ProgressLine
from simulator.store import JournalStore
from tests.evalset.cli.test_run_command_asks import Typed
from tests.evalset.doctor.examples import a_case, a_set, in_bytes
from tests.evalset.ending import Ends
from tests.harness.tiny_agent import write_tiny_agent
from tests.simulator.runtime.playing import played
from tests.simulator.runtime.shapes import SHAPES

DICE = "\N{GAME DIE}größer"


def on_ascii(run: Callable[[], int]) -> tuple[int, str]:
    """Run a command with an ASCII terminal; return its exit code and what the terminal gets."""
    written = io.BytesIO()
    with redirect_stdout(io.TextIOWrapper(written, "ascii", write_through=True)):
        code = run()
        return code, written.getvalue().decode("ascii")


@pytest.fixture
def eval_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A set with such names."""
    monkeypatch.chdir(tmp_path)
    Path(f"{DICE}.evalset.json").write_bytes(in_bytes(a_set(a_case(DICE))))
    return f"{DICE}.evalset.json"


def test_a_question_stands_where_the_line_that_changes_stood() -> None:
    """Nothing of that line is left before the question, and none of the next one before what stays."""
    written = Typed()
    progress = ProgressLine(written)
    progress.line("turn 1 of 1: the agent speaks")
    progress.ask("find_order: ")
    assert written.getvalue().endswith("\r\x1b[Kfind_order: ")
    progress.line("turn 1 of 1: the agent speaks again")
    progress.say("done")
    assert written.getvalue().endswith("\r\x1b[Kdone\n")


@pytest.mark.parametrize(
    ("words", "is_json"),
    [
        (["doctor", "{}"], False),
        (["doctor", "{}", "--fix", "--dry-run"], False),
        (["doctor", "{}", "--json"], True),
        (["import", "{}", "--out", "new-{}"], False),
        (["import", "{}", "--out", "new-{}", "--json"], True),
        (["export", "{}", "--form", "dataset", "--out", "-"], True),
        (["export", "{}", "--form", "dataset", "--out", "to-{}"], False),
        (["init", "ci", "--goldens", "{}"], False),
    ],
)
def test_what_a_terminal_cannot_hold_is_escaped(eval_set: str, words: list[str], *, is_json: bool) -> None:
    """The command does what it does on any other terminal, and JSON stays JSON with the same values."""
    code, text = on_ascii(lambda: main([word.format(eval_set) for word in words]))
    assert code == 0
    assert json.dumps(DICE)[1:-1] in text or "init" in words
    if is_json:
        assert DICE in str(json.loads(text))


def test_the_other_programs_escape_too(eval_set: str) -> None:
    """`python -m evalset` and `python -m simulator` write to the same terminals."""
    code, text = on_ascii(lambda: module_program.main(["doctor", eval_set]))
    assert code == 0
    assert json.dumps(DICE)[1:-1] in text
    with closing(JournalStore.open(Path("sessions.db"))) as store:
        store.begin(played(SHAPES["plain"], "held").journal, owner="me", agent_key=DICE)
    code, text = on_ascii(lambda: simulator_main(["sessions", "--store", "sessions.db"]))
    assert code == 0
    assert json.dumps(DICE)[1:-1] in text


@pytest.mark.skipif(os.name == "nt", reason="file names are text there")
def test_a_name_that_is_no_text_is_written_into_files_escaped(tmp_path: Path) -> None:
    """A file's name may hold bytes that no encoding has."""
    path = tmp_path / os.fsdecode(b"a\xff.evalset.json")
    path.write_bytes(in_bytes(a_set(a_case())))
    table = tmp_path / "found.csv"
    code, text = on_ascii(lambda: main(["doctor", str(path), "--csv", str(table)]))
    assert code == 0
    assert "a\\udcff.evalset.json" in table.read_text(encoding="utf-8")
    assert "a\\udcff" in text


PRINTS = """
import os, subprocess
print("printed at import")
os.write(1, b"written at import\\n")
subprocess.run(["echo", "from a process"], check=True)
"""
PLAYED = "format: golden-trace-studio/script\nversion: 1\nagent: model\nplayers: {add: real}\nturns:\n- say: add 2 and 3\n"


@pytest.mark.parametrize("program", [main, simulator_main])
def test_what_an_agent_prints_is_not_in_what_a_program_reads(
    program: Callable[[list[str]], int], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """At import and in a tool, in Python, below it and in a process of its own: all of it is on the standard error."""
    agent = write_tiny_agent(tmp_path / "agents") / "agent.py"
    source = agent.read_text().replace(
        "    return first + second", '    print("a tool")\n    return first + second'
    )
    agent.write_text(PRINTS + source)
    (tmp_path / "script.yaml").write_text(PLAYED)
    words = ["--script", str(tmp_path / "script.yaml"), "--out", str(tmp_path / "a.evalset.json"), "--json"]
    assert program(["run", str(agent.parent), *words]) == 0
    shown, told = capfd.readouterr()
    assert json.loads(shown)["eval_id"]
    assert all(
        each in told for each in ("printed at import", "written at import", "from a process", "a tool")
    )
    sys.stdout.write("printed afterwards\n")
    assert capfd.readouterr().out == "printed afterwards\n"


CODE = 'root_agent = "of a project"\n'
DOCUMENTED = '''def find(order_id: str) -> dict:
    """Find an order.

    Returns:
        eval_id, "criteria", <testsuite
    """
'''
WRITTEN: dict[Kind, bytes] = {
    "JUnit": b"<?xml version='1.0' encoding='utf-8'?>\n<testsuites/>",
    "CSV": b"eval_id,status\r\n",
    "script": b"format: golden-trace-studio/script\nversion: 1\n",
    "EvalConfig": b'{"criteria": {}}',
}


@pytest.mark.parametrize("kind", list(WRITTEN))
@pytest.mark.parametrize("before", [CODE, DOCUMENTED, '{"orders": []}', "\x00\xff"])
@pytest.mark.parametrize("name", ["agent.py", "notes"])
def test_a_file_of_another_kind_is_left_as_it_is(kind: Kind, before: str, name: str, tmp_path: Path) -> None:
    """The error names it; over an empty file and one of its kind it is written."""
    path = tmp_path / name
    path.write_text(before)
    with pytest.raises(UsageError, match=kind) as refused:
        write_output("--out", path, WRITTEN[kind], kind)
    assert str(path) in str(refused.value)
    assert path.read_text() == before
    report = tmp_path / "report"
    for same in (b"", b"\xef\xbb\xbf\n" + WRITTEN[kind] + b"<!-- older -->"):
        report.write_bytes(same)
        write_output("--out", report, WRITTEN[kind], kind)
        assert report.read_bytes() == WRITTEN[kind]


def test_what_is_no_file_is_refused_without_waiting(tmp_path: Path) -> None:
    """A pipe would wait for who reads it."""
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UsageError, match="a named pipe"):
        write_output("--out", tmp_path / "pipe", WRITTEN["JUnit"], "JUnit")


def test_a_command_that_reports_into_the_agents_code_is_stopped(tmp_path: Path, ends: Ends) -> None:
    """The option and the file stand in the error, and the code is as it was."""
    eval_set, code = tmp_path / "a.evalset.json", tmp_path / "agent.py"
    eval_set.write_bytes(in_bytes(a_set(a_case("one"))))
    code.write_text(CODE)
    assert str(code) in ends(2, "doctor", eval_set, "--csv", code).err
    assert code.read_text() == CODE
