"""An option that names a file to write overwrites none of another kind."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from evalset.cli.main import main
from evalset.cli.output_files import Kind, write_output
from evalset.files.set_writer import EvalSetWriter
from tests.evalset.files.examples import a_case

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
    with pytest.raises(FileExistsError, match=kind) as refused:
        write_output(path, WRITTEN[kind], kind)
    assert refused.value.filename == str(path)
    assert path.read_text() == before
    report = tmp_path / "report"
    for same in (b"", b"\xef\xbb\xbf\n" + WRITTEN[kind] + b"<!-- older -->"):
        report.write_bytes(same)
        write_output(report, WRITTEN[kind], kind)
        assert report.read_bytes() == WRITTEN[kind]


def test_what_is_no_file_is_refused_without_waiting(tmp_path: Path) -> None:
    """A pipe would wait for who reads it."""
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="a named pipe"):
        write_output(tmp_path / "pipe", WRITTEN["JUnit"], "JUnit")


def test_a_command_that_reports_into_the_agents_code_is_stopped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The option and the file stand in the error, and the code is as it was."""
    eval_set, code = tmp_path / "a.evalset.json", tmp_path / "agent.py"
    EvalSetWriter(eval_set, "desk").write_eval_case(a_case("one"))
    code.write_text(CODE)
    assert main(["doctor", str(eval_set), "--csv", str(code)]) == 2
    assert str(code) in capsys.readouterr().err
    assert code.read_text() == CODE
