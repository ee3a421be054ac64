"""Tests of the README: its script runs, and what it points to is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from google.adk.evaluation.local_eval_sets_manager import load_eval_set_from_file

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text()


def blocks(language: str) -> list[str]:
    """Give the README's blocks of code in a language."""
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.DOTALL | re.MULTILINE)


def test_the_script_writes_a_case_that_adk_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Open, query, answer and export take at most 25 lines; the fault is in the trace, and the agent reacts."""
    (script,) = blocks("python")
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
